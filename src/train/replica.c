/* SPDX-License-Identifier: Apache-2.0 */
#include "train/replica.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "data/augment.h"
#include "train/schedule.h"
#include "train/statistic.h"
#include "train/weight_check.h"

/* The minimum size of a bucket: large enough to use the bandwidth, small enough that the reduction
 * starts early. */
#define BUCKET_ELEMENTS ((size_t)64 * 1024)

static size_t elements_of(const sh_replica *replica, uint32_t tensor)
{
    return sh_shape_count(&sh_replica_tensor_type(replica, tensor)->shape);
}

static void place_next(sh_replica *replica, uint32_t tensor)
{
    replica->place_of[tensor] = replica->summed;
    replica->tensor_of[replica->summed++] = tensor;
    replica->summed_count += elements_of(replica, tensor);
}

static sh_role role_of(const sh_replica *replica, uint32_t tensor)
{
    return replica->graph->parameters[tensor].role;
}

/*
 * Each tensor that a step changes gets a place. On a narrow wire running statistics keep 32 bits,
 * because a variance far below the largest of its layer counts too. They come first; *wide is their
 * number.
 */
static sh_status place(sh_replica *replica, uint32_t wire, uint32_t *wide)
{
    replica->parameters = calloc(replica->tensors, sizeof *replica->parameters);
    replica->tensor_of = calloc(replica->tensors, sizeof *replica->tensor_of);
    replica->place_of = calloc(replica->tensors, sizeof *replica->place_of);
    if (replica->parameters == NULL || replica->tensor_of == NULL || replica->place_of == NULL)
        return sh_fail_memory(replica->tensors * sizeof *replica->parameters, "the parameters");
    const bool apart = wire < 32;
    for (uint32_t t = 0; t < replica->tensors; t++) {
        replica->place_of[t] = SH_FROZEN;
        if (apart && role_of(replica, t) == SH_ROLE_STATISTIC)
            place_next(replica, t);
    }
    *wide = replica->summed;
    for (uint32_t t = 0; t < replica->tensors; t++)
        if (role_of(replica, t) != SH_ROLE_FROZEN && replica->place_of[t] == SH_FROZEN)
            place_next(replica, t);
    return SH_OK;
}

void sh_replica_place(const sh_replica *replica, float *weights, float **parameters)
{
    float *frozen = replica->weights + replica->summed_count;
    for (uint32_t t = 0; t < replica->tensors; t++)
        if (replica->place_of[t] != SH_FROZEN) {
            parameters[t] = weights + sh_sum_first_element(replica->sum, replica->place_of[t]);
        } else {
            parameters[t] = frozen;
            frozen += elements_of(replica, t);
        }
}

void sh_replica_initialise(sh_replica *replica, uint64_t seed)
{
    for (uint32_t t = 0; t < replica->tensors; t++)
        sh_model_initialise_tensor(replica->graph, t, seed, replica->parameters[t]);
}

static bool is_mixed(const sh_job *job)
{
    sh_augment augment;
    return sh_augment_parse(&augment, job->augment) == SH_OK && sh_augment_mixes(&augment);
}

sh_model_options sh_replica_model(const sh_job *job, const sh_problem *problem,
                                  const sh_network *network)
{
    return (sh_model_options){
        .spec = job->model,
        .network = network,
        .problem = *problem,
        .label_smoothing = job->label_smoothing,
        .mixed = is_mixed(job),
        .frozen = job->freeze,
    };
}

sh_status sh_replica_new(sh_replica **replica, const sh_job *job, const sh_problem *problem)
{
    return sh_replica_new_with(replica, job, problem, NULL);
}

sh_status sh_replica_new_with(sh_replica **replica, const sh_job *job, const sh_problem *problem,
                              const sh_network *network)
{
    sh_status status;
    uint32_t wide;
    size_t *elements = NULL;
    const sh_job outer = sh_job_outer(job);
    const sh_model_options model = sh_replica_model(job, problem, network);
    const uint32_t wire = job->wire == 0 ? 32 : job->wire;
    sh_replica *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a replica");
    pthread_mutex_init(&fresh->lock, NULL);
    fresh->network = network;
    fresh->phase = SH_PHASE_FIRST;
    fresh->settings = sh_optimizer_settings_of(&outer);
    fresh->takes_statistics = sh_job_local_steps(job) > 0;
    SH_TRY_DONE(sh_optimizer_find(&fresh->optimizer, outer.optimizer));
    SH_TRY_DONE(sh_model_build(&fresh->graph, &model, 1, SH_MODEL_EVALUATE));
    fresh->tensors = (uint32_t)fresh->graph->parameter_count;
    fresh->weight_count = sh_model_weights(fresh->graph);
    fresh->slot_count = sh_optimizer_slots(fresh->optimizer, &fresh->settings);
    SH_TRY_DONE(place(fresh, job->wire, &wide));
    SH_TRY_DONE(
        sh_block_new((void **)&fresh->weights, fresh->weight_count * sizeof(float), "the weights"));
    for (uint32_t i = 0; i < fresh->slot_count; i++)
        SH_TRY_DONE(sh_block_new((void **)&fresh->slots[i], fresh->summed_count * sizeof(float),
                                 "the optimizer's state"));
    elements = malloc(fresh->summed * sizeof *elements);
    if (elements == NULL)
        SH_TRY_DONE(sh_fail_memory(fresh->summed * sizeof *elements, "the parameters"));
    for (uint32_t i = 0; i < fresh->summed; i++)
        elements[i] = elements_of(fresh, fresh->tensor_of[i]);
    SH_TRY_DONE(sh_sum_new(&fresh->sum, &(sh_sum_options){
                                            .tensor_elements = elements,
                                            .tensors = fresh->summed,
                                            .bucket_bytes = BUCKET_ELEMENTS * wire / 8,
                                            .wire = job->wire,
                                            .wide = wide,
                                            .seed = job->seed,
                                        }));
    sh_replica_place(fresh, fresh->weights, fresh->parameters);
    sh_replica_initialise(fresh, job->seed);
    *replica = fresh;
    fresh = NULL;
done:
    free(elements);
    sh_replica_free(fresh);
    return status;
}

void sh_replica_free(sh_replica *replica)
{
    if (replica == NULL)
        return;
    sh_sum_free(replica->sum);
    for (uint32_t i = 0; i < SH_OPTIMIZER_MAX_SLOTS; i++)
        free(replica->slots[i]);
    free(replica->weights);
    free(replica->parameters);
    free(replica->tensor_of);
    free(replica->place_of);
    sh_graph_free(replica->graph);
    pthread_mutex_destroy(&replica->lock);
    free(replica);
}

const char *sh_replica_tensor_name(const sh_replica *replica, uint32_t tensor)
{
    return replica->graph->parameters[tensor].name;
}

const sh_type *sh_replica_tensor_type(const sh_replica *replica, uint32_t tensor)
{
    return sh_graph_type(replica->graph, replica->graph->parameters[tensor].value);
}

uint64_t sh_replica_check(const sh_replica *replica)
{
    uint64_t check = sh_weight_check(replica->weights, 0, replica->weight_count);
    for (uint32_t t = 0; t < replica->summed; t++) {
        const int exponent = sh_sum_state_exponent(replica->sum, t);
        check += sh_weight_check(&exponent, replica->weight_count + t, 1);
    }
    return check;
}

void sh_replica_lock(sh_replica *replica)
{
    pthread_mutex_lock(&replica->lock);
}

void sh_replica_unlock(sh_replica *replica)
{
    pthread_mutex_unlock(&replica->lock);
}

/* Polls, because pthread_mutex_timedlock() uses the system time, which can change. */
bool sh_replica_lock_within(sh_replica *replica, uint32_t limit_ms)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (uint32_t ms = 0; ms < limit_ms; ms++) {
        if (pthread_mutex_trylock(&replica->lock) == 0)
            return true;
        nanosleep(&pause, NULL);
    }
    return pthread_mutex_trylock(&replica->lock) == 0;
}

void sh_replica_raise_max(atomic_uint *shared, uint32_t value)
{
    unsigned held = atomic_load(shared);
    while (held < value && !atomic_compare_exchange_weak(shared, &held, value))
        ;
}

void sh_replica_update(sh_replica *replica, const sh_replica_step *step, size_t from, size_t to,
                       const void *sums, atomic_uint *max_abs)
{
    float *arrays[1 + SH_OPTIMIZER_MAX_SLOTS] = {replica->weights};
    memcpy(arrays + 1, replica->slots, sizeof replica->slots);
    sh_replica_update_arrays(replica, arrays, step, from, to, sums, max_abs);
}

float sh_replica_momentum(const sh_replica *replica, uint32_t tensor)
{
    return replica->takes_statistics ? 1.0f : replica->graph->parameters[tensor].momentum;
}

void sh_replica_update_arrays(const sh_replica *replica, float *const *arrays,
                              const sh_replica_step *step, size_t from, size_t to, const void *sums,
                              atomic_uint *max_abs)
{
    const sh_sum_layout *layout = sh_sum_layout_of(replica->sum);
    for (uint32_t t = 0; t < replica->summed; t++) {
        const size_t start = layout->places[t].first_element;
        const size_t stop = start + layout->places[t].elements;
        const size_t end = stop < to ? stop : to;
        const bool statistic = role_of(replica, replica->tensor_of[t]) == SH_ROLE_STATISTIC;
        uint32_t top = 0;
        size_t first = start > from ? start : from;
        if (first >= end)
            continue;
        for (size_t count; first < end; first += count) {
            int32_t room[SH_SUM_ROOM];
            count = end - first < SH_SUM_ROOM ? end - first : SH_SUM_ROOM;
            const int32_t *integers = sh_layout_integers(layout, sums, first, count, room);
            float *weights = arrays[0] + first, *slots[SH_OPTIMIZER_MAX_SLOTS] = {NULL};
            for (uint32_t i = 0; i < replica->slot_count; i++)
                slots[i] = arrays[1 + i] + first;
            if (statistic)
                sh_statistic_follow(weights, integers, step->scales[t], count,
                                    sh_replica_momentum(replica, replica->tensor_of[t]), &top);
            else
                sh_optimizer_sums[sh_variant_chosen()](replica->optimizer, &replica->settings,
                                                       &step->numbers, weights, slots, integers,
                                                       step->scales[t], count, &top);
        }
        if (max_abs != NULL)
            sh_replica_raise_max(&max_abs[t], top);
    }
}

sh_status sh_replica_hash(const sh_replica *replica, char hex[SH_DIGEST_TEXT])
{
    sh_digest *digest;
    SH_TRY(sh_digest_new(&digest));
    for (uint32_t i = 0; i < replica->tensors; i++) {
        char head[256], shape[SH_SHAPE_TEXT];
        const sh_type *type = sh_replica_tensor_type(replica, i);
        const int length =
            snprintf(head, sizeof head, "%s %s\n", sh_replica_tensor_name(replica, i),
                     sh_shape_print(&type->shape, shape));
        sh_digest_add(digest, head, (size_t)length);
        sh_digest_add(digest, replica->parameters[i], sh_type_bytes(type));
    }
    return sh_digest_finish(digest, hex);
}
