/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ps-async and ps-bounded:K: devices train apart. A stage is a *lap* of at most LAP_UPDATES steps.
 * Each step is an *update*, a batch that a single device computes.
 *
 * A lap starts with equal replicas. Updates are assigned to devices on request, so every sample is
 * used once per epoch. A lap also ends at the end of its epoch and of the job.
 *
 *     weights     a device computes an update with the newest weights, which it requests at the
 *                 start and which include all its own updates
 *     gradient    of the update's mean loss, summed over its grains as in sync, with the
 *                 device's own exponents. If a gradient exceeds them, the device computes the
 *                 update again before it sends anything
 *     servers     apply each update to their shards on arrival, with the job's optimizer. They
 *                 have the optimizer's state; n of bias corrections counts the shard's updates
 *     rate        depends on the update's number, as in sync; clipping on its own gradient's norm
 *     statistics  of batch normalization are updated on arrival of each update
 *     bound       with ps-bounded:K, a device begins its update c of the lap only when every
 *                 device has finished its update c - K; K = 1 is lock step (Ho et al. 2013)
 *
 * During a lap the replica is unchanged. These arrays have the sum's elements:
 *
 *     weights     the newest weights, for programs
 *     arrays[0]   weights: this device's shard with all updates; at the end of the lap all weights
 *     arrays[1+k] slot k of the optimizer, likewise
 *     words       the update being sent, in the memory of the total
 *
 * At the end of the lap, every device has the servers' weights and state, and the exponents of one
 * device. A reduction of only the trailer compares the replicas of the lap's start and adds up the
 * totals. Then the arrays are copied to the replica. If a lap fails, the remaining devices repeat
 * it, and no sample counts twice. A single device makes the steps of sync.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "reduce/exchange.h"
#include "train/step.h"

#define LAP_UPDATES 64u

/* Sent with an update. */
typedef struct numbers {
    double lr, clip;
    float scales[]; /* by place in the sum */
} numbers;

typedef struct lap_state {
    sh_strategy_state base;
    const sh_replica *replica;
    uint32_t bound; /* K; 0: no bound */
    float *block;   /* memory of `weights` and `arrays`; owned */
    float *weights, *arrays[1 + SH_OPTIMIZER_MAX_SLOTS];
    float **parameters; /* into `weights`; owned, as the next two */
    numbers *numbers;
    float *state; /* envelopes, then exponents */
    void *words;  /* of the sum; borrowed */
    bool lapping;
    uint64_t begun;   /* steps applied before the lap */
    uint32_t applied; /* updates to this device's shard; only for the loop */
    sh_sum_totals totals;
    sh_trainer_work work;
    uint32_t redone;
    sh_step_times times[LAP_UPDATES];
    uint32_t timed;
} lap_state;

static lap_state *lap_of(const sh_stage *stage)
{
    return (lap_state *)stage->strategy;
}

static size_t numbers_bytes(const sh_replica *replica)
{
    return sizeof(numbers) + replica->summed * sizeof(float);
}

static size_t state_bytes(const sh_replica *replica)
{
    return replica->summed * (sizeof(float) + sizeof(int32_t));
}

static size_t block_bytes(const sh_replica *replica)
{
    return (2 + (size_t)replica->slot_count) * replica->summed_count * sizeof(float);
}

static void free_state(sh_strategy_state *state)
{
    lap_state *lap = (lap_state *)state;
    sh_pages_free(lap->block, block_bytes(lap->replica));
    free(lap->parameters);
    free(lap->numbers);
    free(lap->state);
    free(lap);
}

static const sh_strategy_ops ops;

static sh_status make(sh_strategy_state **state, sh_stage *stage, const sh_trainer_options *options,
                      uint32_t number)
{
    sh_status status;
    const sh_replica *replica = stage->replica;
    if (!options->shared)
        return SH_OK;
    lap_state *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "updates");
    fresh->base.ops = &ops;
    fresh->replica = replica;
    fresh->bound = number;
    fresh->parameters = calloc(replica->tensors, sizeof *fresh->parameters);
    fresh->numbers = malloc(numbers_bytes(replica));
    fresh->state = malloc(state_bytes(replica));
    if (fresh->parameters == NULL || fresh->numbers == NULL || fresh->state == NULL)
        SH_TRY_DONE(sh_fail_memory(numbers_bytes(replica), "updates"));
    SH_TRY_DONE(sh_pages_new((void **)&fresh->block, block_bytes(replica), "updates"));
    fresh->weights = fresh->block;
    for (uint32_t i = 0; i <= replica->slot_count; i++)
        fresh->arrays[i] = fresh->block + (1 + i) * replica->summed_count;
    sh_replica_place(replica, fresh->weights, fresh->parameters);
    *state = &fresh->base;
    return SH_OK;
done:
    free_state(&fresh->base);
    return status;
}

/* Counts memory for other devices' updates, as if all devices served. */
static void equip(const sh_stage *stage, sh_lanes_options *lanes, bool shared)
{
    (void)shared;
    const sh_replica *replica = stage->replica;
    lanes->parameters = lap_of(stage)->parameters;
    lanes->held.weights += block_bytes(replica) + replica->summed_count * sizeof(float);
}

/* Outside of laps, programs compute with the replica's weights. */
static void follow(sh_stage *stage)
{
    const lap_state *lap = lap_of(stage);
    const sh_replica *replica = stage->replica;
    if (!lap->lapping)
        memcpy(lap->weights, replica->weights, replica->summed_count * sizeof(float));
}

static sh_range first(sh_stage *stage)
{
    follow(stage);
    return sh_grains_first(stage);
}

/* ---- work of the servers --------------------------------------------------------------------- */

static size_t word_offset(const void *context, size_t element)
{
    const lap_state *lap = context;
    return sh_layout_offset(sh_sum_layout_of(lap->replica->sum), element);
}

/* Runs on the loop. */
static void apply(void *context, size_t from, size_t to, const void *said, const void *words)
{
    lap_state *lap = context;
    const numbers *with = said;
    const sh_replica_step step = {
        sh_optimizer_step_of(&lap->replica->settings, with->lr, with->clip,
                             lap->begun + ++lap->applied),
        with->scales,
    };
    /* Where an array of all tensors would start; only the shard is read. */
    const void *sums = (const void *)((uintptr_t)words - word_offset(lap, from));
    sh_replica_update_arrays(lap->replica, lap->arrays, &step, from, to, sums, NULL);
}

/* ---- an update ------------------------------------------------------------------------------- */

static sh_status compute_update(sh_trainer *trainer)
{
    const sh_part alone = {.engine = sh_engine_solo()};
    sh_stage *stage = &trainer->stage;
    uint32_t tensor;
    for (int attempt = 0; attempt < SH_STEP_ATTEMPTS; attempt++) {
        sh_stage_forget(stage);
        stage->task.todo = (sh_ranges){1, {{0, stage->task.batch.grains}}};
        SH_TRY(sh_stage_reduce(stage, &alone));
        sh_step_read_scales(trainer);
        switch (sh_sum_verdict(stage->replica->sum, &tensor)) {
        case SH_VERDICT_APPLY:
            return SH_OK;
        case SH_VERDICT_NOT_FINITE:
            return sh_step_fail_not_finite(trainer, tensor);
        case SH_VERDICT_REDO:
            lap_of(stage)->redone += !sh_sum_calibrating(stage->replica->sum);
            trainer->repeated++;
        }
    }
    return sh_step_fail_attempts(trainer);
}

static void copy_sum(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    const sh_stage *stage = &trainer->stage;
    const sh_replica *replica = stage->replica;
    const sh_sum_layout *layout = sh_sum_layout_of(replica->sum);
    const unsigned char *own = sh_sum_own(replica->sum).accumulator;
    int32_t room[SH_SUM_ROOM];
    size_t begin, end, from, to;
    sh_stage_lane_range(stage, lane, replica->summed_count, &begin, &end);
    const size_t start = sh_layout_offset(layout, begin);
    memcpy((unsigned char *)lap_of(stage)->words + start, own + start,
           sh_layout_offset(layout, end) - start);
    for (uint32_t t = 0; t < replica->summed; t++) {
        uint32_t top = 0;
        if (!sh_stage_tensor_range(replica->sum, t, begin, end, &from, &to))
            continue;
        for (size_t count; from < to; from += count) {
            count = to - from < SH_SUM_ROOM ? to - from : SH_SUM_ROOM;
            const int32_t *integers = sh_layout_integers(layout, own, from, count, room);
            for (size_t i = 0; i < count; i++) {
                const uint32_t value = (uint32_t)integers[i];
                const uint32_t magnitude = integers[i] < 0 ? 0u - value : value;
                top = magnitude > top ? magnitude : top;
            }
        }
        sh_replica_raise_max(&trainer->update.max_abs[t], top);
    }
}

/* ---- the lap --------------------------------------------------------------------------------- */

static sh_status begin_lap(sh_trainer *trainer, sh_exchange *exchange)
{
    lap_state *lap = lap_of(&trainer->stage);
    sh_replica *replica = trainer->stage.replica;
    const sh_schedule *schedule = &trainer->stage.schedule;
    const size_t bytes = replica->summed_count * sizeof(float);
    const uint64_t of_epoch = schedule->epoch_steps - replica->steps % schedule->epoch_steps;
    const uint64_t of_job = schedule->total_steps - replica->steps;
    const uint64_t left = of_epoch < of_job ? of_epoch : of_job;
    lap->words = sh_sum_total(replica->sum).accumulator;
    lap->begun = replica->steps;
    lap->applied = lap->redone = lap->timed = 0;
    lap->totals = (sh_sum_totals){0};
    lap->work = (sh_trainer_work){0};
    memcpy(lap->arrays[0], replica->weights, bytes);
    for (uint32_t i = 0; i < replica->slot_count; i++)
        memcpy(lap->arrays[1 + i], replica->slots[i], bytes);
    sh_sum_state_get(replica->sum, lap->state, (int32_t *)lap->state + replica->summed);
    sh_replica_lock(replica);
    sh_sum_keep_state(replica->sum, true);
    sh_replica_unlock(replica);
    lap->lapping = true;
    return sh_exchange_begin(exchange,
                             &(sh_exchange_lap){
                                 .updates = left < LAP_UPDATES ? (uint32_t)left : LAP_UPDATES,
                                 .bound = lap->bound,
                                 .elements = replica->summed_count,
                                 .arrays = lap->arrays,
                                 .array_count = 1 + replica->slot_count,
                                 .weights = lap->weights,
                                 .words = lap->words,
                                 .word_offset = word_offset,
                                 .numbers = lap->numbers,
                                 .numbers_bytes = numbers_bytes(replica),
                                 .apply = apply,
                                 .state = lap->state,
                                 .state_bytes = state_bytes(replica),
                                 .context = lap,
                             });
}

static sh_status make_updates(sh_trainer *trainer, sh_exchange *exchange, const sh_part *part)
{
    sh_stage *stage = &trainer->stage;
    sh_replica *replica = stage->replica;
    lap_state *lap = lap_of(stage);
    const sh_batch *batch = &stage->task.batch;
    sh_stopwatch *watch = stage->times.watching;
    SH_TRY(begin_lap(trainer, exchange));
    for (uint32_t update;;) {
        const bool stop = part->stop || (part->end_early != NULL && part->end_early(part->context));
        uint64_t begun = sh_stopwatch_now(watch);
        sh_lanes_set_waiting(stage->lanes, true);
        sh_status status = sh_exchange_take(exchange, stop, &update);
        sh_lanes_set_waiting(stage->lanes, false);
        sh_stopwatch_since(watch, &watch->network_ns, begun);
        SH_TRY(status);
        if (update == SH_EXCHANGE_OVER)
            return SH_OK;
        sh_step_begin_batch(trainer, lap->begun + update);
        SH_TRY(compute_update(trainer));
        begun = sh_stopwatch_now(watch);
        sh_lanes_set_waiting(stage->lanes, true);
        status = sh_exchange_settle(exchange);
        sh_lanes_set_waiting(stage->lanes, false);
        sh_stopwatch_since(watch, &watch->network_ns, begun);
        SH_TRY(status);

        const sh_sum_totals totals = sh_sum_read_totals(replica->sum);
        lap->totals.loss += totals.loss;
        lap->totals.samples += totals.samples;
        lap->totals.score += totals.score;
        lap->work.grains += batch->grains;
        lap->work.samples += batch->samples.count;
        lap->numbers->lr = trainer->rates.lr;
        lap->numbers->clip = sh_step_clip_factor(trainer);
        memcpy(lap->numbers->scales, trainer->update.scales, replica->summed * sizeof(float));
        sh_step_run_lanes(trainer, copy_sum);
        for (uint32_t t = 0; t < replica->summed; t++) {
            const uint32_t max_abs = atomic_load(&trainer->update.max_abs[t]);
            lap->state[t] = sh_sum_follow(replica->sum, t, max_abs);
            const int32_t exponent = sh_sum_exponent(replica->sum, t);
            memcpy(lap->state + replica->summed + t, &exponent, sizeof exponent);
        }
        SH_TRY(sh_exchange_push(exchange));
        if (lap->timed < LAP_UPDATES)
            sh_step_take_times(trainer, &lap->times[lap->timed++], lap->begun + update + 1,
                               batch->grains, batch->samples.count);
        sh_stopwatch_begin_step(watch);
    }
}

/* Makes a step if the engine has a single device. Nothing is held after a failed lap. */
static sh_status make_lap(sh_trainer *trainer, const sh_part *part, sh_step_result *result)
{
    sh_stage *stage = &trainer->stage;
    sh_replica *replica = stage->replica;
    lap_state *lap = lap_of(stage);
    const size_t bytes = replica->summed_count * sizeof(float);
    sh_exchange *exchange = sh_exchange_of(part->engine);
    const sh_position before = sh_replica_position(replica);
    if (part->engine->devices == 1)
        return sh_step_together(trainer, part, result);
    if (exchange == NULL)
        return sh_fail(SH_INTERNAL, "devices that train separately have no servers");
    sh_stage_forget(stage);
    SH_TRY(sh_stage_share_sum(stage, part->engine));
    sh_status status = make_updates(trainer, exchange, part);

    sh_replica_lock(replica);
    sh_sum_keep_state(replica->sum, false); /* restores the replica's exponents */
    sh_replica_unlock(replica);
    lap->lapping = false;
    sh_stage_forget(stage);
    stage->task.todo.count = 0;
    SH_TRY(status);

    stage->task.mode = SH_MODEL_EVALUATE;
    stage->task.carried = &lap->totals;
    status = sh_stage_reduce(stage, part);
    stage->task.carried = NULL;
    SH_TRY(status);
    SH_TRY(sh_step_compare_replicas(trainer, part));
    *result = (sh_step_result){.totals = sh_sum_read_totals(replica->sum), .redone = lap->redone};

    sh_replica_lock(replica);
    status =
        sh_sum_state_set(replica->sum, lap->state, (const int32_t *)lap->state + replica->summed);
    if (status == SH_OK) {
        memcpy(replica->weights, lap->arrays[0], bytes);
        for (uint32_t i = 0; i < replica->slot_count; i++)
            memcpy(replica->slots[i], lap->arrays[1 + i], bytes);
        trainer->work.grains += lap->work.grains;
        trainer->work.samples += lap->work.samples;
        sh_step_count(trainer, before.steps, sh_exchange_count(exchange), &result->totals);
        sh_step_report_passed(trainer, SH_PASSED_LAP, before, 1);
    }
    sh_replica_unlock(replica);
    SH_TRY(status);
    for (uint32_t i = 0; i < lap->timed && trainer->on_times != NULL; i++)
        trainer->on_times(trainer->context, &lap->times[i]);
    return SH_OK;
}

static const sh_strategy_ops ops = {
    .sums = "the gradient of ",
    .make = make,
    .free = free_state,
    .add_sizes = sh_grains_add_sizes,
    .equip = equip,
    .open = follow,
    .prepare = sh_grains_prepare,
    .compute = sh_grains_compute,
    .first = first,
    .step = make_lap,
};

/* ---- rows ------------------------------------------------------------------------------------ */

#define MPI_OPTION "--strategy ps-async or ps-bounded"
#define MPI_REASON "in its collectives all devices do the same"

const sh_strategy_row sh_strategy_ps_async = {
    .name = "ps-async",
    .course = "ps-async",
    .servers = true,
    .apart = true,
    .mpi_option = MPI_OPTION,
    .mpi_reason = MPI_REASON,
    .ops = &ops,
};

const sh_strategy_row sh_strategy_ps_bounded = {
    .name = "ps-bounded",
    .number = "K",
    .course = "ps-bounded",
    .servers = true,
    .apart = true,
    .mpi_option = MPI_OPTION,
    .mpi_reason = MPI_REASON,
    .ops = &ops,
};
