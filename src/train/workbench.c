/* SPDX-License-Identifier: Apache-2.0 */
#include "train/workbench.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "data/trained.h"

/* Chooses model and recipe if the job's model is SH_MODEL_AUTO. */
static sh_status choose(sh_workbench *bench, const sh_dataset_info *found,
                        const sh_job_given *given)
{
    sh_job *job = &bench->job;
    sh_dataset_info info = *found;
    if (strcmp(job->model, SH_MODEL_AUTO) != 0)
        return SH_OK;
    const sh_pipeline_options options = sh_job_pipeline(job);
    SH_TRY(sh_pipeline_foresee(&info, &options)); /* applies the job's task and --resize */
    const sh_problem problem = sh_lanes_problem(&info);
    sh_model_choose(&bench->choice, &problem, info.name, info.count[SH_SPLIT_TRAIN]);
    snprintf(job->model, sizeof job->model, "%s", bench->choice.spec);
    return sh_recipe_choose(&bench->recipe, job, given, &info);
}

static sh_status open_data(sh_workbench *bench, const sh_workbench_data *data)
{
    const sh_workbench_data none = {0}, *from = data == NULL ? &none : data;
    sh_pipeline_options options = sh_job_pipeline(&bench->job);
    sh_dataset *dataset = from->dataset;
    if (dataset == NULL) {
        options.read.on_progress = from->on_packing;
        options.read.context = from->context;
        options.read.trained = from->trained;
        SH_TRY(sh_pipeline_check(&options));
        SH_TRY(sh_dataset_open(&dataset, from->spec != NULL ? from->spec : bench->job.data,
                               &options.read));
    }
    const sh_status status = choose(bench, sh_dataset_about(dataset), from->given);
    if (status != SH_OK) {
        sh_dataset_close(dataset);
        return status;
    }
    options = sh_job_pipeline(&bench->job);
    options.read.trained = from->trained;
    return sh_pipeline_adopt(&bench->pipeline, dataset, &options);
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
    fresh->network = sh_network_ref(data == NULL ? NULL : data->network);
    SH_TRY_DONE(open_data(fresh, data));
    if (data == NULL || data->dataset == NULL)
        SH_TRY_DONE(sh_trained_text(&fresh->trained, sh_pipeline_dataset(fresh->pipeline)));
    SH_TRY_DONE(sh_kernels_choose(&fresh->kernels, NULL));
    const sh_dataset_info *info = sh_pipeline_about(fresh->pipeline);
    const sh_problem problem = sh_lanes_problem(info);
    fresh->scale = sh_scale_of(fresh->pipeline);
    SH_TRY_DONE(sh_replica_new_with(&fresh->replica, &fresh->job, &problem, fresh->network));
    *bench = fresh;
    return SH_OK;
done:
    sh_workbench_close(fresh);
    return status;
}

/* Always queries the number of cores, even if it is not needed: this touches pages of libraries,
 * and a plan and the training must start with equal memory in use to get the same footprint. */
sh_status sh_workbench_start(sh_workbench *bench, uint32_t lanes, uint64_t memory)
{
    const uint32_t cores = sh_host_cores();
    return sh_trainer_new(
        &bench->trainer,
        &(sh_trainer_options){.job = &bench->job,
                              .pipeline = bench->pipeline,
                              .kernels = bench->kernels,
                              .replica = bench->replica,
                              .lanes = lanes == 0 && bench->gpu_count == 0 ? cores : lanes,
                              .gpus = bench->gpus,
                              .gpu_count = bench->gpu_count,
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

void sh_workbench_reopen(const sh_workbench *bench)
{
    if (sh_trainer_is_over(bench->trainer))
        sh_trainer_set_phase(bench->trainer, SH_PHASE_VALIDATION);
}

void sh_workbench_hear(const sh_workbench *bench)
{
    sh_trainer_hear(bench->trainer, &(sh_trainer_options){.on_passed = bench->on_passed,
                                                          .on_times = bench->on_times,
                                                          .on_answers = bench->on_answers,
                                                          .context = bench->context});
}

double sh_workbench_sample_flops(const sh_workbench *bench)
{
    const sh_problem problem = sh_lanes_problem(sh_pipeline_about(bench->pipeline));
    const sh_model_options model = sh_replica_model(&bench->job, &problem, bench->network);
    const uint32_t samples = bench->job.grain;
    double flops = 0;
    sh_graph *graph;
    if (sh_lanes_graph(&graph, &model, (sh_lane_size){SH_MODEL_TRAIN, samples}, 0) != SH_OK)
        return 0;
    for (size_t i = 0; i < graph->node_count; i++)
        flops += sh_graph_cost(graph, &graph->nodes[i]).flops;
    sh_graph_free(graph);
    return flops / samples;
}

void sh_workbench_close(sh_workbench *bench)
{
    if (bench == NULL)
        return;
    sh_trainer_free(bench->trainer);
    sh_replica_free(bench->replica);
    sh_network_unref(bench->network);
    sh_pipeline_close(bench->pipeline);
    free(bench->trained);
    free(bench);
}
