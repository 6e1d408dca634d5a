/* SPDX-License-Identifier: Apache-2.0 */
#include "train/workbench.h"

#include <stdlib.h>

#include "base/host.h"

sh_status sh_workbench_open(sh_workbench **bench, const sh_job *job, sh_dataset *dataset,
                            const char *data)
{
    sh_status status;
    sh_workbench *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        sh_dataset_close(dataset);
        return sh_fail_memory(sizeof *fresh, "the workbench");
    }
    fresh->job = *job;
    const sh_pipeline_options options = sh_job_pipeline(job);
    if (dataset != NULL)
        SH_TRY_DONE(sh_pipeline_adopt(&fresh->pipeline, dataset, &options));
    else
        SH_TRY_DONE(sh_pipeline_open(&fresh->pipeline, data != NULL ? data : job->data, &options));
    SH_TRY_DONE(sh_kernels_choose(&fresh->kernels, NULL));
    const sh_dataset_info *info = sh_pipeline_about(fresh->pipeline);
    const sh_problem problem = sh_lanes_problem(info);
    fresh->scale = sh_scale_of(fresh->pipeline);
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
