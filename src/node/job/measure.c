/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/measure.h"

#include <pthread.h>
#include <stdlib.h>

#include "node/record/worst_pictures.h"

struct sh_measure {
    pthread_mutex_t lock; /* guards the metrics */
    sh_metrics *metrics;
    size_t outputs, target_bytes;
    uint32_t worst;
};

sh_status sh_measure_new(sh_measure **measure, const sh_session *session, uint32_t worst)
{
    const sh_dataset_info *info = sh_pipeline_about(session->pipeline);
    const sh_metrics_options wanted = {.target = info->target,
                                       .outputs = info->outputs,
                                       .samples = info->count[SH_SPLIT_VALIDATION],
                                       .worst = worst};
    sh_measure *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the figures of a model");
    const sh_status status = sh_metrics_new(&fresh->metrics, &wanted);
    if (status != SH_OK) {
        free(fresh);
        return status;
    }
    pthread_mutex_init(&fresh->lock, NULL);
    fresh->outputs = info->outputs;
    fresh->target_bytes = sh_target_bytes(info->target, info->outputs);
    fresh->worst = worst;
    *measure = fresh;
    return SH_OK;
}

void sh_measure_free(sh_measure *measure)
{
    if (measure == NULL)
        return;
    sh_metrics_free(measure->metrics);
    pthread_mutex_destroy(&measure->lock);
    free(measure);
}

void sh_measure_add(sh_measure *measure, const sh_answers *answers)
{
    if (measure == NULL)
        return;
    const unsigned char *targets = answers->targets;
    pthread_mutex_lock(&measure->lock);
    for (uint32_t i = 0; i < answers->samples.count; i++)
        sh_metrics_add(measure->metrics, answers->samples.first + i, answers->losses[i],
                       answers->given + i * measure->outputs, targets + i * measure->target_bytes);
    pthread_mutex_unlock(&measure->lock);
}

static sh_status write_figures(sh_measured *found, const sh_measure *measure,
                               const sh_session *session)
{
    json_t *json;
    const sh_assessment assessment = {
        .metrics = measure->metrics,
        .info = sh_pipeline_about(session->pipeline),
        .description = sh_dataset_description(sh_pipeline_dataset(session->pipeline)),
        .split = SH_SPLIT_VALIDATION,
        .loss = found->figures.loss,
    };
    SH_TRY(sh_assessment_json(&json, &assessment));
    found->metrics = json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(12));
    json_decref(json);
    if (found->metrics == NULL)
        return sh_fail_memory(sizeof(json_t), "the figures of a model");
    if (measure->worst == 0)
        return SH_OK;
    SH_TRY(sh_assessment_worst(&found->worst, &assessment));
    return sh_worst_pictures_text(&found->pictures, &assessment,
                                  sh_pipeline_dataset(session->pipeline));
}

sh_status sh_measure_run(sh_measure *measure, sh_session *session, sh_measured *found)
{
    sh_sum_totals totals;
    sh_measured fresh = {0};
    const sh_part part = {.share = {0, 1}, .of = 1, .engine = sh_engine_solo()};
    SH_TRY(sh_trainer_evaluate(session->trainer, &part, &totals));
    fresh.samples = totals.samples;
    fresh.figures = sh_figures_of(&session->scale, totals.loss, totals.score, totals.samples);
    const sh_status status = write_figures(&fresh, measure, session);
    if (status == SH_OK)
        *found = fresh;
    else
        sh_measured_release(&fresh);
    return status;
}

void sh_measured_release(sh_measured *found)
{
    free(found->metrics);
    free(found->worst);
    free(found->pictures);
    found->metrics = found->worst = found->pictures = NULL;
}
