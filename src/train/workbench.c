/* SPDX-License-Identifier: Apache-2.0 */
#include "train/workbench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"

static sh_status open_data(sh_workbench *bench, const sh_workbench_data *data)
{
    const sh_job *job = &bench->job;
    sh_pipeline_options options = sh_job_pipeline(job);
    if (data == NULL)
        return sh_pipeline_open(&bench->pipeline, job->data, &options);
    if (data->dataset != NULL)
        return sh_pipeline_adopt(&bench->pipeline, data->dataset, &options);
    options.read.on_progress = data->on_packing;
    options.read.context = data->context;
    return sh_pipeline_open(&bench->pipeline, data->spec != NULL ? data->spec : job->data,
                            &options);
}

static void choose_model(sh_workbench *bench, const sh_problem *problem)
{
    const sh_dataset_info *info = sh_pipeline_about(bench->pipeline);
    if (strcmp(bench->job.model, SH_MODEL_AUTO) != 0)
        return;
    sh_model_choose(&bench->choice, problem, info->name, info->count[SH_SPLIT_TRAIN]);
    snprintf(bench->job.model, sizeof bench->job.model, "%s", bench->choice.spec);
}

sh_status sh_workbench_open(sh_workbench **bench, const sh_job *job, const sh_workbench_data *data)
{
    sh_status status;
    sh_workbench *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        sh_dataset_close(data == NULL ? NULL : data->dataset);
        return sh_fail_memory(sizeof *fresh, "the workbench");
    }
    fresh->job = *job;
    SH_TRY_DONE(open_data(fresh, data));
    SH_TRY_DONE(sh_kernels_choose(&fresh->kernels, NULL));
    const sh_dataset_info *info = sh_pipeline_about(fresh->pipeline);
    const sh_problem problem = sh_lanes_problem(info);
    fresh->scale = sh_scale_of(fresh->pipeline);
    choose_model(fresh, &problem);
    SH_TRY_DONE(sh_replica_new(&fresh->replica, &fresh->job, &problem));
    *bench = fresh;
    return SH_OK;
done:
    sh_workbench_close(fresh);
    return status;
}

/* The cores are asked for whether they count or not: the pages of libraries that this touches are
 * in the base of whoever starts, so that a plan's footprint is that of the training. */
sh_status sh_workbench_start(sh_workbench *bench, uint32_t lanes, uint64_t memory)
{
    const uint32_t cores = sh_host_cores();
    return sh_trainer_new(&bench->trainer,
                          &(sh_trainer_options){.job = &bench->job,
                                                .pipeline = bench->pipeline,
                                                .kernels = bench->kernels,
                                                .replica = bench->replica,
                                                .lanes = lanes == 0 ? cores : lanes,
                                                .clock = bench->clock,
                                                .memory = memory,
                                                .evaluate_only = bench->evaluate_only,
                                                .shared = bench->shared,
                                                .pace = sh_clock_system(),
                                                .times = sh_clock_system(),
                                                .on_passed = bench->on_passed,
                                                .on_times = bench->on_times,
                                                .on_answers = bench->on_answers,
                                                .context = bench->context});
}

void sh_workbench_close(sh_workbench *bench)
{
    if (bench == NULL)
        return;
    sh_trainer_free(bench->trainer);
    sh_replica_free(bench->replica);
    sh_pipeline_close(bench->pipeline);
    free(bench);
}
