/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "node/workbench.h"
#include "shoal/train.h"
#include "store/checkpoint.h"
#include "train/snapshot.h"

/* Any safetensors file, or the newest checkpoint of a run. */
static sh_status open_weights(sh_safetensors **file, const char *path)
{
    char used[SH_PATH_BYTES];
    sh_safetensors *fresh;
    if (sh_folder_exists(path))
        return sh_checkpoint_open(file, used, path);
    SH_TRY(sh_safetensors_open(&fresh, path));
    if (sh_safetensors_metadata(fresh, SH_CHECKPOINT_FORMAT_KEY) != NULL) {
        sh_safetensors_close(fresh);
        return sh_checkpoint_open(file, used, path); /* which knows what a checkpoint must be */
    }
    if (sh_safetensors_metadata(fresh, SH_SAFETENSORS_CHECKSUM) != NULL) {
        const sh_status status = sh_safetensors_verify(fresh);
        if (status != SH_OK) {
            sh_safetensors_close(fresh);
            return status;
        }
    }
    *file = fresh;
    return SH_OK;
}

static sh_status load(sh_workbench *bench, const char *weights)
{
    sh_safetensors *file;
    SH_TRY(open_weights(&file, weights));
    const sh_status status = sh_snapshot_load_weights(bench->replica, file);
    sh_safetensors_close(file);
    return status;
}

static sh_status evaluate(sh_workbench *bench, const sh_eval_options *options,
                          sh_eval_result *result)
{
    sh_sum_totals totals;
    sh_eval_result fresh = {0};
    SH_TRY(load(bench, options->weights));
    SH_TRY(sh_workbench_start(bench, options->lanes));
    const uint64_t start_ns = sh_clock_now_ns(sh_clock_system());
    const sh_part part = {.share = {0, 1}, .of = 1, .engine = sh_engine_solo()};
    SH_TRY(sh_trainer_evaluate(bench->trainer, &part, &totals));
    fresh.seconds = (double)(sh_clock_now_ns(sh_clock_system()) - start_ns) * 1e-9;
    fresh.parameters = sh_model_parameters(bench->replica->graph);
    fresh.samples = totals.samples;
    fresh.loss = totals.loss / (double)totals.samples;
    fresh.accuracy = (double)totals.correct / (double)totals.samples;
    SH_TRY(sh_replica_hash(bench->replica, fresh.weights_hash));
    *result = fresh;
    return SH_OK;
}

sh_status sh_eval(const sh_eval_options *options, sh_eval_result *result)
{
    sh_workbench *bench;
    sh_job job;
    sh_job_init(&job);
    if (strlen(options->model) >= sizeof job.model || strlen(options->data) >= sizeof job.data)
        return sh_fail(SH_INVALID, "the model's or the data's name is too long");
    snprintf(job.model, sizeof job.model, "%s", options->model);
    snprintf(job.data, sizeof job.data, "%s", options->data);
    SH_TRY(sh_job_complete(&job));
    SH_TRY(sh_workbench_open(&bench, &job, NULL, options->backend));
    const sh_status status = evaluate(bench, options, result);
    sh_workbench_close(bench);
    return status;
}
