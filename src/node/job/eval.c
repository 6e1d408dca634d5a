/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "data/trained.h"
#include "node/job/measure.h"
#include "node/job/resume.h"
#include "node/job/run_network.h"
#include "shoal/eval.h"
#include "train/job_options.h"
#include "train/metrics.h"
#include "train/pretrained.h"
#include "train/snapshot.h"
#include "train/workbench.h"

_Static_assert(SH_EVAL_WORST_MOST == SH_METRICS_WORST_MOST, "one number");

/* Copies a text that the caller gave; false where it does not fit. */
static bool take_text(char *to, size_t bytes, const char *text)
{
    const int length = snprintf(to, bytes, "%s", text);
    return length >= 0 && (size_t)length < bytes;
}

/* ---- the weights and their job --------------------------------------------------------------- */

/* A run alone stands for its best weights; where a model is named too, the last ones are meant, as
 * they always were. */
static sh_status open_weights(sh_safetensors **file, char used[SH_PATH_BYTES],
                              const sh_eval_options *options)
{
    if (options->model != NULL) {
        SH_TRY(sh_path_copy(used, options->weights));
        return sh_weights_open(file, options->weights);
    }
    return sh_weights_open_best(file, used, options->weights);
}

/* What is to be measured: samples as the weights saw them in training, unless somebody says. */
static sh_status job_for(sh_job *job, const sh_eval_options *options, const sh_safetensors *file)
{
    sh_job_init(job);
    job->momentum = 0; /* which needs no memory then */
    if (options->model == NULL || sh_snapshot_is_checkpoint(file)) {
        sh_job saved;
        SH_TRY(sh_snapshot_read_job(&saved, file));
        memcpy(job->model, saved.model, sizeof job->model);
        memcpy(job->data, saved.data, sizeof job->data);
        for (const sh_option *each = sh_options(); each->kind != SH_OPTION_END; each++)
            if (sh_option_reads(each))
                sh_option_copy(each, job, &saved);
    }
    if (options->resize > 0)
        job->resize = options->resize;
    if (options->normalize != NULL &&
        !take_text(job->normalize, sizeof job->normalize, options->normalize))
        return sh_fail(SH_INVALID, "--normalize %.64s: unknown; use dataset, imagenet or none",
                       options->normalize);
    if ((options->model != NULL && !take_text(job->model, sizeof job->model, options->model)) ||
        (options->data != NULL && !take_text(job->data, sizeof job->data, options->data)))
        return sh_fail(SH_INVALID, "the model's or the data's name is too long");
    return sh_job_complete(job);
}

/* Other data than the run's are read as these were, where the checkpoint says how. */
static sh_status take_trained(sh_trained **trained, const sh_eval_options *options,
                              const sh_safetensors *file)
{
    sh_job saved;
    const char *text = sh_snapshot_trained(file);
    if (options->data == NULL || text == NULL)
        return SH_OK;
    SH_TRY(sh_snapshot_read_job(&saved, file));
    if (strcmp(saved.data, options->data) == 0)
        return SH_OK;
    return sh_fail_in(sh_trained_parse(trained, text), "%s", sh_safetensors_path(file));
}

/* Whether the run's own data are still those that it was trained with; how other data are read. */
static void compare_data(char note[SH_EVAL_NOTE_BYTES], const sh_workbench *bench,
                         const sh_trained *trained, const sh_eval_options *options,
                         const sh_safetensors *file)
{
    const char *fingerprint;
    const sh_dataset_info *info = sh_pipeline_about(bench->pipeline);
    note[0] = '\0';
    if (sh_snapshot_read_fingerprint(&fingerprint, file) != SH_OK ||
        strcmp(fingerprint, info->fingerprint) == 0)
        return;
    if (options->data == NULL)
        snprintf(note, SH_EVAL_NOTE_BYTES,
                 "the data %.300s have changed since the training: its training samples may be "
                 "among those measured",
                 bench->job.data);
    else if (trained != NULL && info->count[SH_SPLIT_TRAIN] == 1)
        snprintf(note, SH_EVAL_NOTE_BYTES,
                 "%.300s has no split of its own: all of its samples are measured",
                 bench->job.data);
}

/* ---- the measurement ---------------------------------------------------------------------------
 */

/* Any lane. */
static void collect(void *context, const sh_answers *answers)
{
    sh_measure_add(*(sh_measure **)context, answers);
}

sh_status sh_eval(const sh_eval_options *options, sh_eval_result *result)
{
    sh_workbench *bench = NULL;
    sh_safetensors *file;
    sh_job job;
    sh_network *network = NULL;
    sh_trained *trained = NULL;
    sh_measure *measure = NULL;
    sh_measured found;
    sh_eval_result fresh = {0};
    char unused[SH_MESSAGE_BYTES]; /* what else the file has is of no interest here */
    char used[SH_PATH_BYTES];
    SH_TRY(open_weights(&file, used, options));
    sh_status status = SH_OK;
    SH_TRY_DONE(job_for(&job, options, file));
    SH_TRY_DONE(take_trained(&trained, options, file));
    SH_TRY_DONE(sh_run_network_find(&network, job.model, sh_safetensors_path(file)));
    status = sh_workbench_open(&bench, &job,
                               &(sh_workbench_data){.network = network, .trained = trained});
    if (status != SH_OK && options->data == NULL)
        status = sh_fail_in(status, "the run's data (if they have moved: shoal eval RUN DATA)");
    SH_TRY_DONE(status);
    SH_TRY_DONE(sh_pretrained_load(unused, bench->replica, file, SH_PRETRAINED_WHOLE));
    compare_data(fresh.note, bench, trained, options, file);
    sh_safetensors_close(file);
    file = NULL;

    bench->evaluate_only = true;
    bench->on_answers = collect;
    bench->context = &measure;
    SH_TRY_DONE(sh_workbench_start(bench, options->lanes, options->memory));
    const uint64_t start_ns = sh_clock_now_ns(sh_clock_system());
    SH_TRY_DONE(sh_measure_new(&measure, bench, options->worst));
    SH_TRY_DONE(sh_measure_run(measure, bench, &found));
    fresh.metrics = found.metrics;
    fresh.worst = found.worst;
    fresh.pictures = found.pictures;
    fresh.seconds = (double)(sh_clock_now_ns(sh_clock_system()) - start_ns) * 1e-9;
    snprintf(fresh.model, sizeof fresh.model, "%s", job.model);
    snprintf(fresh.data, sizeof fresh.data, "%s", job.data);
    snprintf(fresh.weights, sizeof fresh.weights, "%.*s", (int)sizeof fresh.weights - 1, used);
    fresh.parameters = sh_model_parameters(bench->replica->graph);
    fresh.samples = found.samples;
    fresh.loss = found.figures.loss;
    fresh.accuracy = found.figures.accuracy;
    fresh.mae = found.figures.mae;
    SH_TRY_DONE(sh_replica_hash(bench->replica, fresh.weights_hash));
    *result = fresh;
done:
    if (status != SH_OK)
        sh_eval_result_release(&fresh);
    sh_safetensors_close(file);
    sh_workbench_close(bench);
    sh_network_unref(network);
    sh_measure_free(measure);
    sh_trained_free(trained);
    return status;
}

void sh_eval_result_release(sh_eval_result *result)
{
    free(result->metrics);
    free(result->worst);
    free(result->pictures);
    result->metrics = result->worst = result->pictures = NULL;
}
