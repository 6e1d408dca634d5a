/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program computes a group. Another one computes a single sample: it takes the rest of a group,
 * or all samples if there are too few to give each lane a group.
 */
#include "train/forward.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/host.h"

struct sh_forward {
    const sh_session *session;
    sh_lanes *lanes;
    uint32_t group;        /* samples of the larger program */
    uint32_t count, units; /* of the run: samples, and samples that a lane takes together */
    atomic_uint next;      /* sample to take */
    pthread_mutex_t lock;  /* guards what follows */
    sh_status failure;
    char message[SH_MESSAGE_BYTES];
};

static sh_status compute(sh_forward *f, uint32_t lane, sh_range range)
{
    const sh_session *session = f->session;
    const sh_dataset_info *info = sh_pipeline_about(session->pipeline);
    sh_execution *execution = sh_lanes_execution(f->lanes, lane, SH_MODEL_EVALUATE, range.count);
    float *values = sh_execution_input(execution, SH_MODEL_SAMPLES);
    unsigned char *targets = sh_execution_input(execution, SH_MODEL_TARGETS);
    for (uint32_t i = 0; i < range.count; i++)
        SH_TRY(sh_pipeline_read(session->pipeline, SH_SPLIT_VALIDATION, 0, range.first + i,
                                values + i * sh_dataset_elements(info),
                                targets + i * sh_target_bytes(info->target, info->outputs)));
    SH_TRY(sh_execution_run(execution, NULL, NULL));
    session->on_answers(session->context, &(sh_answers){range, sh_execution_output(execution, 0),
                                                        sh_execution_output(execution, 3),
                                                        sh_execution_output(execution, 2)});
    return SH_OK;
}

static void work(void *context, uint32_t lane)
{
    sh_forward *f = context;
    uint32_t first;
    while ((first = atomic_fetch_add(&f->next, f->units)) < f->count) {
        const uint32_t left = f->count - first, count = left < f->units ? left : f->units;
        const uint32_t step = count == f->group ? count : 1;
        sh_status status = SH_OK;
        for (uint32_t i = 0; i < count && status == SH_OK; i += step)
            status = compute(f, lane, (sh_range){first + i, step});
        if (status == SH_OK)
            continue;
        pthread_mutex_lock(&f->lock);
        f->failure = status;
        snprintf(f->message, sizeof f->message, "%s", sh_message());
        pthread_mutex_unlock(&f->lock);
        return;
    }
}

sh_status sh_forward_run(sh_forward *forward, uint32_t count)
{
    const uint32_t lanes = sh_lanes_count(forward->lanes);
    forward->count = count;
    forward->units = count / lanes >= forward->group ? forward->group : 1;
    forward->failure = SH_OK;
    atomic_store(&forward->next, 0);
    sh_team_run(sh_lanes_team(forward->lanes), work, forward);
    return forward->failure == SH_OK ? SH_OK : sh_fail(forward->failure, "%s", forward->message);
}

sh_status sh_forward_new(sh_forward **forward, const sh_session *session, uint32_t lanes,
                         uint64_t memory)
{
    const sh_replica *replica = session->replica;
    const sh_problem problem = sh_lanes_problem(sh_pipeline_about(session->pipeline));
    const uint32_t grain = session->job.grain;
    sh_forward *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a model");
    fresh->session = session;
    fresh->group = grain < SH_FORWARD_GROUP ? grain : SH_FORWARD_GROUP;
    pthread_mutex_init(&fresh->lock, NULL);
    const sh_lane_size sizes[] = {{SH_MODEL_EVALUATE, 1}, {SH_MODEL_EVALUATE, fresh->group}};
    const sh_lanes_options options = {
        .model = sh_replica_model(&session->job, &problem, session->network),
        .kernels = session->kernels,
        .parameters = replica->parameters,
        .count = lanes == 0 ? sh_host_cores() : lanes,
        .sizes = sizes,
        .size_count = sizeof sizes / sizeof *sizes,
        .memory = memory,
        .held = {.weights = replica->weight_count * sizeof *replica->weights},
    };
    sh_status status;
    SH_TRY_DONE(sh_lanes_new(&fresh->lanes, &options));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        SH_TRY_DONE(sh_execution_prepare(
            sh_lanes_execution(fresh->lanes, 0, SH_MODEL_EVALUATE, sizes[i].samples)));
    *forward = fresh;
    return SH_OK;
done:
    sh_forward_free(fresh);
    return status;
}

void sh_forward_free(sh_forward *forward)
{
    if (forward == NULL)
        return;
    sh_lanes_free(forward->lanes);
    pthread_mutex_destroy(&forward->lock);
    free(forward);
}
