/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sync and ps-sync: all devices make each step together. A unit is a grain. The lanes share the
 * work of preparing programs.
 *
 * With sync and an engine that gathers, devices exchange factors instead of the gradients of
 * tensors for which factors are smaller (train/factors.h). A span of records then precedes the
 * trailer, and the buckets lack these tensors. Whenever records arrive, there is a turn:
 *
 *     multiply each lane takes the next grain of another device and adds the product of its factors
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "train/factors.h"
#include "train/strategy_ops.h"

/* ---- grains ---------------------------------------------------------------------------------- */

void sh_size_list_add_batch(sh_size_list *list, uint32_t samples, uint32_t grain)
{
    assert(list->count + 2 <= SH_SIZES_MAX);
    list->items[list->count++] = (sh_lane_size){SH_MODEL_TRAIN, samples < grain ? samples : grain};
    list->items[list->count++] = (sh_lane_size){SH_MODEL_TRAIN, samples % grain};
}

void sh_grains_add_sizes(sh_size_list *list, const sh_stage *stage, const sh_batch *step)
{
    sh_size_list_add_batch(list, step->samples.count, stage->job->grain);
}

sh_status sh_grains_prepare(sh_stage *stage, uint32_t lane)
{
    return sh_stage_prepare(stage, lane, sh_lanes_count(stage->lanes), &stage->task.batch);
}

typedef struct grain_work {
    sh_stage *stage;
    uint32_t grain, lane; /* `grain` is an index in the batch */
    sh_sum_parts parts;
    uint32_t samples; /* this and the next two: only if factors are stored */
    const sh_execution *execution;
    size_t record;
} grain_work;

static void add_gradient(void *context, uint32_t tensor, const sh_gradient *gradient)
{
    grain_work *work = context;
    sh_stage_add(work->stage, work->lane, work->grain, tensor, gradient, &work->parts);
}

sh_status sh_grains_compute(sh_stage *stage, uint32_t lane, uint32_t unit)
{
    const sh_batch *batch = &stage->task.batch;
    grain_work work = {.stage = stage, .grain = unit, .lane = lane};
    return sh_stage_compute_samples(stage, lane, sh_batch_grain(batch, unit), batch->samples.count,
                                    add_gradient, &work);
}

sh_range sh_grains_first(sh_stage *stage)
{
    return sh_batch_grain(&stage->task.batch, 0);
}

static bool always(const sh_stage *stage)
{
    (void)stage;
    return true;
}

const sh_strategy_ops sh_strategy_plain = {
    .sums = "the gradient of ",
    .add_sizes = sh_grains_add_sizes,
    .prepare = sh_grains_prepare,
    .compute = sh_grains_compute,
    .wants_gradients_alone = always,
    .first = sh_grains_first,
};

/* ---- factors --------------------------------------------------------------------------------- */

typedef struct factor_state {
    sh_strategy_state base;
    sh_factors *factors;
    bool gathering;
    uint32_t span;     /* of the records */
    uint32_t gathered; /* grains of other devices whose records arrived */
} factor_state;

static factor_state *factors_of(const sh_stage *stage)
{
    return (factor_state *)stage->strategy;
}

static void free_state(sh_strategy_state *state)
{
    factor_state *own = (factor_state *)state;
    sh_factors_free(own->factors);
    free(own);
}

static const sh_strategy_ops ops;

static sh_status make(sh_strategy_state **state, sh_stage *stage, const sh_trainer_options *options,
                      uint32_t number)
{
    (void)number;
    sh_factors *factors;
    const uint32_t samples = sh_schedule_batch(&stage->schedule, 0).samples.count;
    SH_TRY(sh_factors_new(&factors, stage->replica, samples, stage->job->grain));
    if (factors == NULL)
        return SH_OK;
    factor_state *fresh = calloc(1, sizeof *fresh);
    sh_status status = fresh == NULL     ? sh_fail_memory(sizeof *fresh, "the factors of gradients")
                       : options->shared ? sh_factors_share(factors)
                                         : SH_OK;
    if (status != SH_OK) {
        sh_factors_free(factors);
        free(fresh);
        return status;
    }
    *fresh = (factor_state){.base = {&ops}, .factors = factors};
    *state = &fresh->base;
    return SH_OK;
}

static void equip(const sh_stage *stage, sh_lanes_options *lanes, bool shared)
{
    if (shared)
        lanes->held.sum += sh_factors_bytes(factors_of(stage)->factors);
}

/* Not every matrix belongs to a dense layer. If a program lacks a product, this trainer uses only
 * gradients. */
static void start(sh_stage *stage)
{
    const factor_state *own = factors_of(stage);
    const uint64_t last = stage->schedule.epoch_steps - 1;
    const uint64_t steps[] = {0, last};
    for (int i = 0; i < 2; i++) {
        const sh_batch batch = sh_schedule_batch(&stage->schedule, steps[i]);
        for (uint32_t g = 0; g < batch.grains; g++) {
            const uint32_t samples = sh_batch_grain(&batch, g).count;
            if (sh_factors_fit(own->factors,
                               sh_lanes_execution(stage->lanes, 0, SH_MODEL_TRAIN, samples),
                               samples))
                continue;
            free_state(stage->strategy);
            stage->strategy = &stage->plain;
            return;
        }
    }
}

static sh_status share(sh_stage *stage)
{
    return sh_factors_share(factors_of(stage)->factors);
}

/* The elements at the start of a bucket that factors replace: its first tensor's, or none. */
static size_t spared_elements(const factor_state *own, const sh_sum_layout *layout, uint32_t bucket,
                              size_t *bytes)
{
    const uint32_t tensor = layout->buckets[bucket].first_tensor;
    const sh_sum_place *place = &layout->places[tensor];
    const size_t elements = sh_factors_has(own->factors, tensor) ? place->elements : 0;
    *bytes = elements * place->form->wire / 8;
    return elements;
}

static void traffic(const sh_stage *stage, sh_traffic *all)
{
    const factor_state *own = factors_of(stage);
    const sh_sum_layout *layout = sh_sum_layout_of(stage->replica->sum);
    all->gathered = sh_factors_record_bytes(own->factors);
    for (uint32_t i = 0; i < layout->bucket_count; i++) {
        size_t bytes;
        (void)spared_elements(own, layout, i, &bytes);
        all->spared += bytes;
    }
}

/* Sets `gathering`, equally on all devices of the view, and the spans. */
static void open_stage(sh_stage *stage)
{
    factor_state *own = factors_of(stage);
    sh_stage_spans *spans = &stage->spans;
    const sh_sum_layout *layout = sh_sum_layout_of(stage->replica->sum);
    if (stage->held.count == 0)
        sh_factors_clear(own->factors);
    own->gathering = stage->shared && stage->task.mode == SH_MODEL_TRAIN &&
                     stage->part->engine->ops->gathered != NULL;
    sh_stage_bind_spans(stage);
    if (!own->gathering)
        return;
    for (uint32_t i = 0; i < layout->bucket_count; i++) {
        size_t bytes;
        const size_t elements = spared_elements(own, layout, i, &bytes);
        sh_span *span = &spans->items[i];
        span->own = (const unsigned char *)span->own + bytes;
        span->total = (unsigned char *)span->total + bytes;
        span->count -= elements;
    }
    own->span = layout->bucket_count; /* the trailer moves to the end */
    spans->items[spans->count++] = spans->items[own->span];
    spans->items[own->span] = sh_factors_begin(own->factors, &stage->task.batch, &stage->task.todo);
    spans->additions_per_unit[own->span] = sh_factors_count(own->factors);
}

static void add_and_keep(void *context, uint32_t tensor, const sh_gradient *gradient)
{
    grain_work *work = context;
    sh_stage *stage = work->stage;
    const factor_state *own = factors_of(stage);
    const uint32_t place = stage->replica->place_of[tensor];
    const uint64_t begun = sh_stopwatch_now(stage->times.watching);
    sh_sum_add_part(stage->replica->sum, place, work->grain, gradient, &work->parts);
    if (gradient->last && sh_factors_has(own->factors, place)) {
        sh_factors_take(own->factors, work->record, work->samples, place, work->execution);
        if (own->gathering)
            sh_stage_count_additions(stage, own->span, 1);
    }
    if (gradient->last)
        sh_stage_count_additions(stage, stage->spans.bucket_of[place], 1);
    sh_stopwatch_add(stage->times.watching, work->lane, SH_SPAN_ADD, begun);
}

/* With other devices, stores factors even if this engine does not gather them, because another
 * engine may continue the stage. */
static sh_status compute(sh_stage *stage, uint32_t lane, uint32_t unit)
{
    if (!stage->shared || stage->task.mode != SH_MODEL_TRAIN)
        return sh_grains_compute(stage, lane, unit);
    const sh_batch *batch = &stage->task.batch;
    const sh_range range = sh_batch_grain(batch, unit);
    grain_work work = {
        .stage = stage,
        .grain = unit,
        .lane = lane,
        .samples = range.count,
        .execution = sh_lanes_execution(stage->lanes, lane, SH_MODEL_TRAIN, range.count),
        .record = sh_factors_open(factors_of(stage)->factors, unit, range.count),
    };
    return sh_stage_compute_samples(stage, lane, range, batch->samples.count, add_and_keep, &work);
}

static bool keeps_no_factors(const sh_stage *stage)
{
    return !stage->shared;
}

/* Copies the own part to totals that the engine does not add up; `multiply` adds the rest. */
static void take_own(sh_stage *stage, uint32_t lane)
{
    const factor_state *own = factors_of(stage);
    const sh_sum *sum = stage->replica->sum;
    const sh_sum_layout *layout = sh_sum_layout_of(sum);
    const unsigned char *from_block = sh_sum_own(sum).accumulator;
    unsigned char *to_block = sh_sum_total(sum).accumulator;
    size_t first, end, from, to;
    sh_stage_lane_range(stage, lane, stage->replica->summed_count, &first, &end);
    for (uint32_t t = 0; own->gathering && t < stage->replica->summed; t++) {
        if (!sh_factors_has(own->factors, t) ||
            !sh_stage_tensor_range(sum, t, first, end, &from, &to))
            continue;
        const size_t start = sh_layout_offset(layout, from);
        memcpy(to_block + start, from_block + start, sh_layout_offset(layout, to) - start);
    }
}

static void multiply(void *context, uint32_t lane)
{
    sh_stage *stage = context;
    const factor_state *own = factors_of(stage);
    const uint64_t begun = sh_stopwatch_now(stage->times.watching);
    for (;;) {
        const uint32_t index = atomic_fetch_add(&stage->turn.next, 1);
        if (index >= own->gathered)
            break;
        const uint32_t samples = sh_factors_samples(own->factors, &stage->task.batch, index);
        const sh_status status =
            sh_factors_complete(own->factors, index, stage->replica->sum,
                                sh_lanes_execution(stage->lanes, lane, SH_MODEL_TRAIN, samples));
        if (status != SH_OK)
            sh_stage_note_failure(stage, status);
    }
    sh_stopwatch_add(stage->times.watching, lane, SH_SPAN_SUM, begun);
    sh_stopwatch_add(stage->times.watching, lane, SH_SPAN_BUSY, begun);
}

static sh_status complete(sh_stage *stage)
{
    factor_state *own = factors_of(stage);
    sh_engine *engine = stage->part->engine;
    sh_stopwatch *watch = stage->times.watching;
    const size_t room = own->gathering ? stage->spans.items[own->span].room : 0;
    uint32_t done = 0;
    for (size_t words = 0; words < room; done = own->gathered) {
        const uint64_t begun = sh_stopwatch_now(watch);
        sh_lanes_set_waiting(stage->lanes, true);
        const sh_status status = engine->ops->gathered(engine, words, &words);
        sh_lanes_set_waiting(stage->lanes, false);
        sh_stopwatch_since(watch, &watch->network_ns, begun);
        SH_TRY(status);
        SH_TRY(
            sh_factors_read(own->factors, &stage->task.batch, &stage->held, words, &own->gathered));
        atomic_store(&stage->turn.next, done);
        sh_stage_run_lanes(stage, multiply, stage);
        SH_TRY(sh_stage_status(stage));
    }
    return SH_OK;
}

static const sh_strategy_ops ops = {
    .sums = "the gradient of ",
    .make = make,
    .free = free_state,
    .add_sizes = sh_grains_add_sizes,
    .equip = equip,
    .start = start,
    .share = share,
    .open = open_stage,
    .traffic = traffic,
    .prepare = sh_grains_prepare,
    .compute = compute,
    .wants_gradients_alone = keeps_no_factors,
    .finish = take_own,
    .complete = complete,
    .first = sh_grains_first,
};

/* ---- rows ------------------------------------------------------------------------------------ */

const sh_strategy_row sh_strategy_sync = {.name = "sync", .course = "sync", .ops = &ops};

const sh_strategy_row sh_strategy_ps_sync = {
    .name = "ps-sync",
    .course = "sync",
    .servers = true,
    .mpi_option = "--strategy ps-sync",
    .mpi_reason = "its collectives need no server",
    .ops = &sh_strategy_plain,
};
