/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "data/pipeline.h"
#include "data/trained.h"
#include "node/job/model_file.h"
#include "node/job/resume.h"
#include "node/job/run_network.h"
#include "train/job_options.h"
#include "train/lanes.h"
#include "train/pretrained.h"
#include "train/schedule.h"
#include "train/snapshot.h"

static sh_status open_replica(sh_replica **replica, const sh_job *job, const char *trained_text,
                              const sh_network *network, const sh_safetensors *file)
{
    char unused[SH_MESSAGE_BYTES];
    sh_trained *trained;
    sh_status status = SH_OK;
    SH_TRY(
        sh_fail_in(sh_trained_parse(&trained, trained_text), "%.200s", sh_safetensors_path(file)));
    sh_dataset_info info = trained->info;
    const sh_pipeline_options pipeline = sh_job_pipeline(job);
    SH_TRY_DONE(sh_pipeline_foresee(&info, &pipeline));
    const sh_problem problem = sh_lanes_problem(&info);
    SH_TRY_DONE(sh_replica_new_with(replica, job, &problem, network));
    SH_TRY_DONE(sh_pretrained_load(unused, *replica, file, SH_PRETRAINED_WHOLE));
done:
    sh_trained_free(trained);
    return status;
}

static sh_status export_file(sh_model_exported *result, const sh_model_export *options,
                             const sh_safetensors *file)
{
    sh_job job;
    sh_network *network = NULL;
    sh_replica *replica = NULL;
    const char *trained_text = sh_snapshot_trained(file);
    sh_status status = SH_OK;
    SH_TRY(sh_snapshot_read_job(&job, file));
    if (trained_text == NULL)
        return sh_fail(
            SH_FORMAT,
            "%.200s: does not describe its data; train it for one more step: shoal train --resume",
            sh_safetensors_path(file));
    SH_TRY_DONE(sh_run_network_find(&network, job.model, sh_safetensors_path(file)));
    SH_TRY_DONE(open_replica(&replica, &job, trained_text, network, file));
    const sh_model_source source = {
        .job = &job,
        .replica = replica,
        .trained_text = trained_text,
        .bake = options->bake != 0,
        .fold = options->fold != 0,
        .int8 = options->int8,
    };
    SH_TRY_DONE(sh_model_file_write(&result->quantised, options->output, options->format, &source));
    snprintf(result->model, sizeof result->model, "%s", job.model);
    result->parameters = sh_model_parameters(replica->graph);
    SH_TRY_DONE(sh_file_size(&result->bytes, options->output));
done:
    sh_replica_free(replica);
    sh_network_unref(network);
    return status;
}

int sh_model_format_of_file(sh_model_format *format, const char *path)
{
    static const char *const ends[] = {
        [SH_MODEL_AS_ONNX] = ".onnx",
        [SH_MODEL_AS_SAFETENSORS] = ".safetensors",
        [SH_MODEL_AS_NPZ] = ".npz",
    };
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t tail = strlen(ends[i]);
        if (length <= tail || strcmp(path + length - tail, ends[i]) != 0)
            continue;
        *format = (sh_model_format)i;
        return 1;
    }
    return 0;
}

sh_status sh_export_model(const sh_model_export *options, sh_model_exported *result)
{
    sh_model_exported fresh = {0};
    sh_safetensors *file;
    char used[SH_PATH_BYTES];
    if (options->int8 > 0 && options->format != SH_MODEL_AS_ONNX)
        return sh_fail(SH_INVALID, "--int8: is for ONNX; other formats hold the trained weights");
    if (options->last) {
        SH_TRY(sh_path_copy(used, options->weights));
        SH_TRY(sh_weights_open(&file, options->weights));
    } else {
        SH_TRY(sh_weights_open_best(&file, used, options->weights));
    }
    const sh_status status = export_file(&fresh, options, file);
    sh_safetensors_close(file);
    SH_TRY(status);
    snprintf(fresh.weights, sizeof fresh.weights, "%.*s", (int)sizeof fresh.weights - 1, used);
    *result = fresh;
    return SH_OK;
}
