/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arrays of the sum's elements, beside the replica, which stays as it was:
 *
 *     weights     what programs compute with: the newest, as they come before each update
 *     arrays[0]   weights: this device's shard, as the updates make it; at the end all
 *     arrays[1+k] the optimizer's state k, likewise
 *     words       an update on its way to the servers: the memory that the total has in sync
 *
 * After the last update a reduction of the trailer alone, as a validation has it, compares the
 * replicas as they were when the lap began and tells all what was computed; then the arrays become
 * the replica.
 */
#include "train/updates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "reduce/exchange.h"
#include "train/trainer_impl.h"

/* What servers need to know of an update. */
typedef struct numbers {
    double lr, clip;
    float scales[]; /* by place in the sum */
} numbers;

struct sh_updates {
    const sh_replica *replica;
    uint32_t bound;
    float *block; /* the weights and all arrays */
    float *weights, *arrays[1 + SH_OPTIMIZER_MAX_SLOTS];
    float **parameters; /* by tensor, into the weights */
    numbers *numbers;   /* of this device's update */
    float *state;       /* envelopes, then exponents */
    void *words;        /* borrowed from the sum */
    bool lapping;
    uint64_t begun;   /* steps that were applied before the lap */
    uint32_t applied; /* updates to this device's shard in the lap; the loop's */
    sh_sum_totals totals;
    sh_trainer_work work; /* of this device, in the lap */
    uint32_t redone;
    sh_step_times times[SH_LAP_UPDATES]; /* of those that this device has computed */
    uint32_t timed;
};

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

uint64_t sh_updates_bytes(const sh_replica *replica)
{
    return block_bytes(replica) + replica->summed_count * sizeof(float);
}

sh_status sh_updates_new(sh_updates **updates, const sh_replica *replica, uint32_t bound)
{
    sh_updates *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "updates");
    fresh->replica = replica;
    fresh->bound = bound;
    fresh->parameters = calloc(replica->tensors, sizeof *fresh->parameters);
    fresh->numbers = malloc(numbers_bytes(replica));
    fresh->state = malloc(state_bytes(replica));
    sh_status status = fresh->parameters != NULL && fresh->numbers != NULL && fresh->state != NULL
                           ? sh_pages_new((void **)&fresh->block, block_bytes(replica), "updates")
                           : sh_fail_memory(numbers_bytes(replica), "updates");
    if (status != SH_OK) {
        sh_updates_free(fresh);
        return status;
    }
    fresh->weights = fresh->block;
    for (uint32_t i = 0; i <= replica->slot_count; i++)
        fresh->arrays[i] = fresh->block + (1 + i) * replica->summed_count;
    sh_replica_place(replica, fresh->weights, fresh->parameters);
    *updates = fresh;
    return SH_OK;
}

void sh_updates_free(sh_updates *updates)
{
    if (updates == NULL)
        return;
    sh_pages_free(updates->block, block_bytes(updates->replica));
    free(updates->parameters);
    free(updates->numbers);
    free(updates->state);
    free(updates);
}

float *const *sh_updates_parameters(const sh_updates *updates)
{
    return updates->parameters;
}

void sh_updates_follow(sh_updates *updates)
{
    const sh_replica *replica = updates->replica;
    if (!updates->lapping)
        memcpy(updates->weights, replica->weights, replica->summed_count * sizeof(float));
}

/* ---- the servers' part ----------------------------------------------------------------------- */

static size_t word_offset(const void *context, size_t element)
{
    return sh_layout_offset(sh_sum_layout_of(((const sh_updates *)context)->replica->sum), element);
}

/* An update comes to this device's shard. Runs on the loop. */
static void apply(void *context, size_t first, size_t end, const void *said, const void *words)
{
    sh_updates *updates = context;
    const numbers *with = said;
    const sh_replica_step step = {
        sh_optimizer_step_of(&updates->replica->settings, with->lr, with->clip,
                             updates->begun + ++updates->applied),
        with->scales,
    };
    /* Where all the integers would begin: only those of the shard are read. */
    const void *sums = (const void *)((uintptr_t)words - word_offset(updates, first));
    sh_replica_update_arrays(updates->replica, updates->arrays, &step, first, end, sums, NULL);
}

/* ---- an update ------------------------------------------------------------------------------- */

/* Computes the batch's gradient, with exponents that hold it. */
static sh_status compute(sh_trainer *trainer)
{
    const sh_part alone = {.engine = sh_engine_solo()};
    sh_sum *sum = trainer->replica->sum;
    uint32_t tensor;
    for (int attempt = 0; attempt < SH_STAGE_ATTEMPTS; attempt++) {
        sh_trainer_forget(trainer);
        sh_grain_list_clear(&trainer->todo);
        SH_TRY(sh_grain_list_add(&trainer->todo, (sh_range){0, trainer->batch.grains}));
        SH_TRY(sh_stage_reduce(trainer, &alone));
        sh_step_read_scales(trainer);
        switch (sh_sum_verdict(sum, &tensor)) {
        case SH_VERDICT_APPLY:
            return SH_OK;
        case SH_VERDICT_NOT_FINITE:
            return sh_step_fail_not_finite(trainer, tensor);
        case SH_VERDICT_REDO:
            trainer->updates->redone += !sh_sum_calibrating(sum);
            trainer->repeated++;
        }
    }
    return sh_step_fail_attempts(trainer);
}

/* Copies this lane's range of the integers, and finds the largest ones. */
static void stow(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    const sh_replica *replica = trainer->replica;
    const sh_sum_layout *layout = sh_sum_layout_of(replica->sum);
    const unsigned char *own = sh_sum_own(replica->sum).accumulator;
    int32_t room[SH_SUM_ROOM];
    size_t first, end, from, to;
    sh_stage_lane_range(trainer, lane, replica->summed_count, &first, &end);
    const size_t start = sh_layout_offset(layout, first);
    memcpy((unsigned char *)trainer->updates->words + start, own + start,
           sh_layout_offset(layout, end) - start);
    for (uint32_t t = 0; t < replica->summed; t++) {
        uint32_t top = 0;
        if (!sh_step_tensor_range(replica->sum, t, first, end, &from, &to))
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
        sh_replica_raise_max(&trainer->max_abs[t], top);
    }
}

/* Takes the update into the account, and to where servers get it from. */
static void stow_update(sh_trainer *trainer)
{
    sh_updates *updates = trainer->updates;
    sh_replica *replica = trainer->replica;
    const sh_sum_totals totals = sh_sum_read_totals(replica->sum);
    updates->totals.loss += totals.loss;
    updates->totals.samples += totals.samples;
    updates->totals.correct += totals.correct;
    updates->work.grains += trainer->batch.grains;
    updates->work.samples += trainer->batch.samples.count;
    updates->numbers->lr = trainer->lr;
    updates->numbers->clip = sh_step_clip_factor(trainer);
    memcpy(updates->numbers->scales, trainer->scales, replica->summed * sizeof(float));
    for (uint32_t t = 0; t < replica->summed; t++)
        atomic_store(&trainer->max_abs[t], 0);
    sh_stage_take_turn(trainer, stow);
    for (uint32_t t = 0; t < replica->summed; t++) {
        updates->state[t] = sh_sum_follow(replica->sum, t, atomic_load(&trainer->max_abs[t]));
        const int32_t exponent = sh_sum_exponent(replica->sum, t);
        memcpy(updates->state + replica->summed + t, &exponent, sizeof exponent);
    }
}

/* The next update, and what this device waits for it. */
static sh_status take(sh_trainer *trainer, sh_exchange *exchange, bool stop, uint32_t *update)
{
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    const sh_status status = sh_exchange_take(exchange, stop, update);
    sh_stopwatch_since(trainer->watching, &trainer->watching->network_ns, begun);
    return status;
}

/* Likewise for the one before to be gone. */
static sh_status settle(sh_trainer *trainer, sh_exchange *exchange)
{
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    const sh_status status = sh_exchange_settle(exchange);
    sh_stopwatch_since(trainer->watching, &trainer->watching->network_ns, begun);
    return status;
}

static void keep_times(sh_trainer *trainer, uint32_t update)
{
    sh_updates *updates = trainer->updates;
    if (updates->timed < SH_LAP_UPDATES)
        sh_step_take_times(trainer, &updates->times[updates->timed++], updates->begun + update + 1,
                           trainer->batch.grains, trainer->batch.samples.count);
    sh_stopwatch_begin_step(trainer->watching);
}

static void tell_times(const sh_trainer *trainer)
{
    const sh_updates *updates = trainer->updates;
    for (uint32_t i = 0; i < updates->timed && trainer->on_times != NULL; i++)
        trainer->on_times(trainer->context, &updates->times[i]);
}

static sh_status make_updates(sh_trainer *trainer, sh_exchange *exchange, const sh_part *part)
{
    for (uint32_t update;;) {
        const bool stop = part->stop || (part->hurry != NULL && part->hurry(part->context));
        SH_TRY(take(trainer, exchange, stop, &update));
        if (update == SH_EXCHANGE_OVER)
            return SH_OK;
        sh_step_begin_batch(trainer, trainer->updates->begun + update);
        SH_TRY(compute(trainer));
        SH_TRY(settle(trainer, exchange));
        stow_update(trainer);
        SH_TRY(sh_exchange_push(exchange));
        keep_times(trainer, update);
    }
}

/* ---- the lap --------------------------------------------------------------------------------- */

static uint32_t updates_left(const sh_trainer *trainer)
{
    const sh_schedule *schedule = &trainer->schedule;
    const uint64_t steps = trainer->replica->steps;
    const uint64_t of_epoch = schedule->epoch_steps - steps % schedule->epoch_steps;
    const uint64_t of_job = schedule->total_steps - steps;
    const uint64_t left = of_epoch < of_job ? of_epoch : of_job;
    return left < SH_LAP_UPDATES ? (uint32_t)left : SH_LAP_UPDATES;
}

static sh_status begin(sh_trainer *trainer, sh_exchange *exchange)
{
    sh_updates *updates = trainer->updates;
    sh_replica *replica = trainer->replica;
    const size_t bytes = replica->summed_count * sizeof(float);
    updates->words = sh_sum_total(replica->sum).accumulator;
    updates->begun = replica->steps;
    updates->applied = updates->redone = updates->timed = 0;
    updates->totals = (sh_sum_totals){0};
    updates->work = (sh_trainer_work){0};
    memcpy(updates->arrays[0], replica->weights, bytes);
    for (uint32_t i = 0; i < replica->slot_count; i++)
        memcpy(updates->arrays[1 + i], replica->slots[i], bytes);
    sh_sum_state_get(replica->sum, updates->state, (int32_t *)updates->state + replica->summed);
    sh_replica_lock(replica);
    sh_sum_keep_state(replica->sum, true);
    sh_replica_unlock(replica);
    updates->lapping = true;
    return sh_exchange_begin(exchange, &(sh_exchange_lap){
                                           .updates = updates_left(trainer),
                                           .bound = updates->bound,
                                           .elements = replica->summed_count,
                                           .arrays = updates->arrays,
                                           .array_count = 1 + replica->slot_count,
                                           .weights = updates->weights,
                                           .words = updates->words,
                                           .word_offset = word_offset,
                                           .numbers = updates->numbers,
                                           .numbers_bytes = numbers_bytes(replica),
                                           .apply = apply,
                                           .state = updates->state,
                                           .state_bytes = state_bytes(replica),
                                           .context = updates,
                                       });
}

/* The replica's exponents are again what they were; nothing is held. */
static void end(sh_trainer *trainer)
{
    sh_replica *replica = trainer->replica;
    sh_replica_lock(replica);
    sh_sum_keep_state(replica->sum, false);
    sh_replica_unlock(replica);
    trainer->updates->lapping = false;
    sh_trainer_forget(trainer);
    sh_grain_list_clear(&trainer->todo);
}

/* All devices have come to the end: compares their replicas, and adds up what they have done. */
static sh_status agree(sh_trainer *trainer, const sh_part *part)
{
    trainer->mode = SH_MODEL_EVALUATE;
    trainer->carried = &trainer->updates->totals;
    const sh_status status = sh_stage_reduce(trainer, part);
    trainer->carried = NULL;
    SH_TRY(status);
    return sh_step_compare_replicas(trainer, part);
}

/* The arrays become the replica, which the caller has locked. */
static sh_status take_over(sh_trainer *trainer)
{
    const sh_updates *updates = trainer->updates;
    sh_replica *replica = trainer->replica;
    const size_t bytes = replica->summed_count * sizeof(float);
    SH_TRY(sh_sum_state_set(replica->sum, updates->state,
                            (const int32_t *)updates->state + replica->summed));
    memcpy(replica->weights, updates->arrays[0], bytes);
    for (uint32_t i = 0; i < replica->slot_count; i++)
        memcpy(replica->slots[i], updates->arrays[1 + i], bytes);
    trainer->work.grains += updates->work.grains;
    trainer->work.samples += updates->work.samples;
    return SH_OK;
}

static sh_status run(sh_trainer *trainer, const sh_part *part, sh_exchange *exchange)
{
    sh_status status = begin(trainer, exchange);
    if (status == SH_OK)
        status = make_updates(trainer, exchange, part);
    end(trainer);
    return status;
}

sh_status sh_updates_lap(sh_trainer *trainer, const sh_part *part, sh_step_result *result)
{
    sh_replica *replica = trainer->replica;
    sh_exchange *exchange = sh_exchange_of(part->engine);
    const sh_position before = sh_replica_position(replica);
    if (exchange == NULL)
        return sh_fail(SH_INTERNAL, "devices that train apart have no servers");
    sh_trainer_forget(trainer);
    SH_TRY(sh_stage_share_sum(trainer, part->engine));
    SH_TRY(run(trainer, part, exchange));
    SH_TRY(agree(trainer, part));
    *result = (sh_step_result){sh_sum_read_totals(replica->sum), trainer->updates->redone};
    sh_replica_lock(replica);
    const sh_status status = take_over(trainer);
    if (status == SH_OK) {
        sh_step_count(trainer, before.steps, sh_exchange_count(exchange), &result->totals);
        sh_step_tell_passed(trainer, &(sh_stage_outcome){.kind = SH_STAGE_LAPPED,
                                                         .before = before,
                                                         .after = sh_replica_position(replica)});
    }
    sh_replica_unlock(replica);
    if (status == SH_OK)
        tell_times(trainer);
    return status;
}
