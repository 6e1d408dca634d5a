/* SPDX-License-Identifier: Apache-2.0 */
#include "train/session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/host.h"
#include "data/trained.h"

/* Chooses model and recipe for SH_MODEL_AUTO. */
static sh_status choose(sh_session *session, const sh_dataset_info *found,
                        const sh_job_given *given)
{
    sh_job *job = &session->job;
    sh_dataset_info info = *found;
    if (strcmp(job->model, SH_MODEL_AUTO) != 0)
        return SH_OK;
    const sh_pipeline_options options = sh_job_pipeline(job);
    SH_TRY(sh_pipeline_foresee(&info, &options)); /* applies the job's task and --resize */
    const sh_problem problem = sh_lanes_problem(&info);
    sh_model_choose(&session->choice, &problem, info.name, info.count[SH_SPLIT_TRAIN]);
    snprintf(job->model, sizeof job->model, "%s", session->choice.spec);
    return sh_recipe_choose(&session->recipe, job, given, &info);
}

static sh_status open_data(sh_session *session, const sh_session_data *data)
{
    const sh_session_data none = {0}, *from = data == NULL ? &none : data;
    sh_pipeline_options options = sh_job_pipeline(&session->job);
    sh_dataset *dataset = from->dataset;
    if (dataset == NULL) {
        options.read.on_progress = from->on_packing;
        options.read.context = from->context;
        options.read.trained = from->trained;
        SH_TRY(sh_pipeline_check(&options));
        SH_TRY(sh_dataset_open(&dataset, from->spec != NULL ? from->spec : session->job.data,
                               &options.read));
    }
    const sh_status status = choose(session, sh_dataset_about(dataset), from->given);
    if (status != SH_OK) {
        sh_dataset_close(dataset);
        return status;
    }
    options = sh_job_pipeline(&session->job);
    options.read.trained = from->trained;
    return sh_pipeline_adopt(&session->pipeline, dataset, &options);
}

sh_status sh_session_open(sh_session **session, const sh_job *job, const sh_session_data *data)
{
    sh_status status;
    sh_session *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL) {
        sh_dataset_close(data == NULL ? NULL : data->dataset);
        return sh_fail_memory(sizeof *fresh, "the session");
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
    *session = fresh;
    return SH_OK;
done:
    sh_session_close(fresh);
    return status;
}

/* Always queries the number of cores: this touches pages of libraries, and a plan and the training
 * must start with equal memory in use to get the same footprint. */
sh_status sh_session_start(sh_session *session, uint32_t lanes, uint64_t memory)
{
    const uint32_t cores = sh_host_cores();
    return sh_trainer_new(
        &session->trainer,
        &(sh_trainer_options){.job = &session->job,
                              .pipeline = session->pipeline,
                              .kernels = session->kernels,
                              .replica = session->replica,
                              .lanes = lanes == 0 && session->gpu_count == 0 ? cores : lanes,
                              .gpus = session->gpus,
                              .gpu_count = session->gpu_count,
                              .clock = session->clock,
                              .memory = memory,
                              .evaluate_only = session->evaluate_only,
                              .shared = session->shared,
                              .pace = sh_clock_system(),
                              .times = sh_clock_system(),
                              .on_passed = session->on_passed,
                              .on_times = session->on_times,
                              .on_answers = session->on_answers,
                              .context = session->context});
}

void sh_session_reopen(const sh_session *session)
{
    if (sh_trainer_is_over(session->trainer))
        sh_trainer_set_phase(session->trainer, SH_PHASE_VALIDATION);
}

void sh_session_set_callbacks(const sh_session *session)
{
    sh_trainer_set_callbacks(session->trainer,
                             &(sh_trainer_options){.on_passed = session->on_passed,
                                                   .on_times = session->on_times,
                                                   .on_answers = session->on_answers,
                                                   .context = session->context});
}

double sh_session_sample_flops(const sh_session *session)
{
    const sh_problem problem = sh_lanes_problem(sh_pipeline_about(session->pipeline));
    const sh_model_options model = sh_replica_model(&session->job, &problem, session->network);
    const uint32_t samples = session->job.grain;
    double flops = 0;
    sh_graph *graph;
    if (sh_lanes_graph(&graph, &model, (sh_lane_size){SH_MODEL_TRAIN, samples}, 0) != SH_OK)
        return 0;
    for (size_t i = 0; i < graph->node_count; i++)
        flops += sh_graph_cost(graph, &graph->nodes[i]).flops;
    sh_graph_free(graph);
    return flops / samples;
}

void sh_session_close(sh_session *session)
{
    if (session == NULL)
        return;
    sh_trainer_free(session->trainer);
    sh_replica_free(session->replica);
    sh_network_unref(session->network);
    sh_pipeline_close(session->pipeline);
    free(session->trained);
    free(session);
}
