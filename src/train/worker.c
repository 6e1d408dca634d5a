/* SPDX-License-Identifier: Apache-2.0 */
#include "train/worker.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "train/norm.h"
#include "train/statistic.h"

struct sh_worker {
    const sh_replica *replica;
    const sh_optimizer *optimizer;
    sh_optimizer_settings settings;
    uint32_t slot_count;
    double clip_norm;   /* 0: no clipping */
    float **parameters; /* by tensor */
    size_t count;       /* own weights: those in the sum, in its layout */
    float *block;       /* memory of the following arrays */
    float *weights, *gradient, *slots[SH_OPTIMIZER_MAX_SLOTS];
    uint32_t added; /* tensors added since the last step */
    uint64_t steps; /* local steps since sh_worker_begin */
};

static size_t arrays_of(uint32_t slot_count)
{
    return 2 + (size_t)slot_count;
}

uint64_t sh_worker_bytes(const sh_replica *replica, const sh_job *job)
{
    const sh_optimizer *optimizer;
    const sh_optimizer_settings settings = sh_optimizer_settings_of(job);
    if (sh_optimizer_find(&optimizer, job->optimizer) != SH_OK)
        return 0;
    return (uint64_t)arrays_of(sh_optimizer_slots(optimizer, &settings)) * replica->summed_count *
           sizeof(float);
}

sh_status sh_worker_new(sh_worker **worker, const sh_replica *replica, const sh_job *job)
{
    sh_status status;
    sh_worker *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a worker");
    fresh->replica = replica;
    fresh->settings = sh_optimizer_settings_of(job);
    SH_TRY_DONE(sh_optimizer_find(&fresh->optimizer, job->optimizer));
    fresh->slot_count = sh_optimizer_slots(fresh->optimizer, &fresh->settings);
    fresh->clip_norm = (double)job->clip_norm;
    fresh->count = replica->summed_count;
    fresh->parameters = calloc(replica->tensors, sizeof *fresh->parameters);
    if (fresh->parameters == NULL)
        SH_TRY_DONE(sh_fail_memory(replica->tensors * sizeof *fresh->parameters, "a worker"));
    const uint64_t bytes = sh_worker_bytes(replica, job);
    if ((size_t)bytes != bytes) /* more than 32 bits can address */
        SH_TRY_DONE(sh_fail_memory(SIZE_MAX, "a worker"));
    SH_TRY_DONE(sh_pages_new((void **)&fresh->block, (size_t)bytes, "a worker"));
    float *next = fresh->block;
    fresh->weights = next;
    fresh->gradient = next += fresh->count;
    for (uint32_t i = 0; i < fresh->slot_count; i++)
        fresh->slots[i] = next += fresh->count;
    sh_replica_place(replica, fresh->weights, fresh->parameters);
    *worker = fresh;
    return SH_OK;
done:
    sh_worker_free(fresh);
    return status;
}

void sh_worker_free(sh_worker *worker)
{
    if (worker == NULL)
        return;
    sh_pages_free(worker->block, arrays_of(worker->slot_count) * worker->count * sizeof(float));
    free(worker->parameters);
    free(worker);
}

float *const *sh_worker_parameters(const sh_worker *worker)
{
    return worker->parameters;
}

void sh_worker_begin(sh_worker *worker)
{
    const size_t bytes = worker->count * sizeof(float);
    memcpy(worker->weights, worker->replica->weights, bytes); /* the frozen ones follow */
    for (uint32_t i = 0; i < worker->slot_count; i++)
        memset(worker->slots[i], 0, bytes);
    worker->added = 0;
    worker->steps = 0;
}

void sh_worker_add(void *context, uint32_t tensor, const sh_gradient *gradient)
{
    sh_worker *worker = context;
    const sh_replica *replica = worker->replica;
    const uint32_t place = replica->place_of[tensor];
    const bool is_first = worker->added < replica->summed;
    float *sum = worker->gradient + sh_sum_first_element(replica->sum, place) + gradient->first;
    worker->added += gradient->last;
    if (is_first) {
        memcpy(sum, gradient->values, gradient->count * sizeof *sum);
        return;
    }
    for (size_t i = 0; i < gradient->count; i++)
        sum[i] += gradient->values[i];
}

static bool is_statistic(const sh_replica *replica, uint32_t place)
{
    return replica->graph->parameters[replica->tensor_of[place]].role == SH_ROLE_STATISTIC;
}

void sh_worker_step(sh_worker *worker, double rate)
{
    const sh_replica *replica = worker->replica;
    double squares = 0;
    for (uint32_t t = 0; worker->clip_norm > 0 && t < replica->summed; t++)
        if (!is_statistic(replica, t))
            squares += sh_norm_squares(worker->gradient + sh_sum_first_element(replica->sum, t),
                                       sh_sum_elements(replica->sum, t));
    const double clip = worker->clip_norm > 0 ? sh_norm_clip(sqrt(squares), worker->clip_norm) : 1;
    const sh_optimizer_step step =
        sh_optimizer_step_of(&worker->settings, rate, clip, ++worker->steps);
    for (uint32_t t = 0; t < replica->summed; t++) {
        const size_t first = sh_sum_first_element(replica->sum, t);
        const size_t count = sh_sum_elements(replica->sum, t);
        float *weights = worker->weights + first, *slots[SH_OPTIMIZER_MAX_SLOTS] = {NULL};
        const float *gradient = worker->gradient + first;
        for (uint32_t i = 0; i < worker->slot_count; i++)
            slots[i] = worker->slots[i] + first;
        if (is_statistic(replica, t))
            sh_statistic_follow_values(weights, gradient, count,
                                       replica->graph->parameters[replica->tensor_of[t]].momentum);
        else
            sh_optimizer_values[sh_variant_chosen()](worker->optimizer, &worker->settings, &step,
                                                     weights, slots, gradient, count);
    }
    worker->added = 0;
}

const float *sh_worker_contribution(sh_worker *worker, double part)
{
    const sh_replica *replica = worker->replica;
    const float factor = (float)part;
    for (uint32_t t = 0; t < replica->summed; t++) {
        const size_t first = sh_sum_first_element(replica->sum, t);
        const size_t end = first + sh_sum_elements(replica->sum, t);
        const bool moves = !is_statistic(replica, t);
        for (size_t i = first; i < end; i++) {
            const float before = moves ? replica->weights[i] : 0.0f;
            const float way = moves ? before - worker->weights[i] : worker->weights[i];
            worker->gradient[i] = way * factor;
        }
    }
    return worker->gradient;
}
