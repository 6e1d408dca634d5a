/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "node/job/resume.h"
#include "shoal/eval.h"
#include "store/checkpoint.h"
#include "train/pretrained.h"
#include "train/snapshot.h"
#include "train/workbench.h"

/* Copies a text that the caller gave; false where it does not fit. */
static bool take_text(char *to, size_t bytes, const char *text)
{
    const int length = snprintf(to, bytes, "%s", text);
    return length >= 0 && (size_t)length < bytes;
}

/* What is to be measured: images as the weights saw them in training, unless somebody says. */
static sh_status job_for(sh_job *job, const sh_eval_options *options, const sh_safetensors *file)
{
    sh_job_init(job);
    if (sh_safetensors_metadata(file, SH_CHECKPOINT_FORMAT_KEY) != NULL) {
        sh_job saved;
        SH_TRY(sh_snapshot_read_job(&saved, file));
        job->resize = saved.resize;
        memcpy(job->normalize, saved.normalize, sizeof job->normalize);
    }
    if (options->resize > 0)
        job->resize = options->resize;
    if (options->normalize != NULL &&
        !take_text(job->normalize, sizeof job->normalize, options->normalize))
        return sh_fail(SH_INVALID, "--normalize %.64s: unknown; use dataset, imagenet or none",
                       options->normalize);
    if (!take_text(job->model, sizeof job->model, options->model) ||
        !take_text(job->data, sizeof job->data, options->data))
        return sh_fail(SH_INVALID, "the model's or the data's name is too long");
    return sh_job_complete(job);
}

sh_status sh_eval(const sh_eval_options *options, sh_eval_result *result)
{
    sh_workbench *bench = NULL;
    sh_safetensors *file;
    sh_job job;
    sh_sum_totals totals;
    sh_eval_result fresh = {0};
    char note[SH_MESSAGE_BYTES]; /* what else the file has is of no interest here */
    SH_TRY(sh_weights_open(&file, options->weights));
    sh_status status = SH_OK;
    SH_TRY_DONE(job_for(&job, options, file));
    SH_TRY_DONE(sh_workbench_open(&bench, &job, NULL));
    SH_TRY_DONE(sh_pretrained_load(note, bench->replica, file, SH_PRETRAINED_WHOLE));
    sh_safetensors_close(file);
    file = NULL;

    bench->evaluate_only = true;
    SH_TRY_DONE(sh_workbench_start(bench, options->lanes, options->memory));
    const uint64_t start_ns = sh_clock_now_ns(sh_clock_system());
    const sh_part part = {.share = {0, 1}, .of = 1, .engine = sh_engine_solo()};
    SH_TRY_DONE(sh_trainer_evaluate(bench->trainer, &part, &totals));
    fresh.seconds = (double)(sh_clock_now_ns(sh_clock_system()) - start_ns) * 1e-9;
    fresh.parameters = sh_model_parameters(bench->replica->graph);
    fresh.samples = totals.samples;
    const sh_figures figures =
        sh_figures_of(&bench->scale, totals.loss, totals.score, totals.samples);
    fresh.loss = figures.loss;
    fresh.accuracy = figures.accuracy;
    fresh.mae = figures.mae;
    SH_TRY_DONE(sh_replica_hash(bench->replica, fresh.weights_hash));
    *result = fresh;
done:
    sh_safetensors_close(file);
    sh_workbench_close(bench);
    return status;
}
