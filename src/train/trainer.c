/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step: the stage (stage.c) computes and reduces; the verdict on the total is the same on all
 * devices: apply, redo, or give up. Two more turns of the team:
 *
 *     measure  where gradients are clipped: lanes add the squares of disjoint ranges, for the norm
 *     apply    lanes update disjoint ranges of the weights
 *
 * A redo begins again with smaller exponents and the grains that are held; the weights have not
 * changed, so it repeats the same gradients.
 */
#include "train/trainer.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "train/strategy.h"
#include "train/trainer_impl.h"

static sh_role role_of(const sh_trainer *trainer, uint32_t place)
{
    const sh_replica *replica = trainer->replica;
    return replica->graph->parameters[replica->tensor_of[place]].role;
}

/* The buckets as spans, in the order in which backward completes them, and the trailer behind them.
 */
static sh_status lay_out_spans(sh_trainer *trainer)
{
    sh_sum *sum = trainer->replica->sum;
    uint32_t buckets;
    const sh_sum_bucket *bucket = sh_sum_buckets(sum, &buckets);
    if (buckets + 1 > SH_ENGINE_MAX_SPANS)
        return sh_fail(SH_LIMIT, "the model has %u gradient buckets, at most %d can travel",
                       buckets, SH_ENGINE_MAX_SPANS - 1);
    trainer->bucket_of = calloc(trainer->replica->summed, sizeof *trainer->bucket_of);
    trainer->left = calloc(buckets + 1, sizeof *trainer->left);
    trainer->max_abs = calloc(trainer->replica->summed, sizeof *trainer->max_abs);
    trainer->scales = calloc(trainer->replica->summed, sizeof *trainer->scales);
    if (trainer->bucket_of == NULL || trainer->left == NULL || trainer->max_abs == NULL ||
        trainer->scales == NULL)
        return sh_fail_memory(trainer->replica->summed * sizeof(uint32_t), "the trainer");
    for (uint32_t i = 0; i < buckets; i++)
        for (uint32_t t = 0; t < bucket[i].tensors; t++)
            trainer->bucket_of[bucket[i].first_tensor + t] = i;
    trainer->span_count = buckets + 1;
    sh_stage_aim_spans(trainer);
    return SH_OK;
}

/* The exact part of what the process holds beside the lanes. */
static sh_footprint held_by(const sh_trainer *trainer, bool shared)
{
    const sh_replica *replica = trainer->replica;
    const uint64_t summed = replica->summed_count; /* frozen weights need neither */
    return (sh_footprint){
        .weights = replica->weight_count * sizeof *replica->weights +
                   (trainer->updates == NULL ? 0 : sh_updates_bytes(replica)),
        .optimizer = summed * sizeof(float) * replica->slot_count,
        .sum =
            (uint64_t)sh_layout_offset(sh_sum_layout_of(replica->sum), summed) * (shared ? 2 : 1) +
            (shared ? sh_factors_bytes(trainer->factors) : 0),
    };
}

#define MAX_SIZES 18 /* two steps of two workers with 4 each, and validation */

/* Those of programs. */
typedef struct size_list {
    sh_lane_size items[MAX_SIZES];
    size_t count;
} size_list;

/* Every number of samples that the grains of a batch have. */
static void add_batch(size_list *list, uint32_t samples, uint32_t grain)
{
    assert(list->count + 2 <= MAX_SIZES);
    list->items[list->count++] = (sh_lane_size){SH_MODEL_TRAIN, samples < grain ? samples : grain};
    list->items[list->count++] = (sh_lane_size){SH_MODEL_TRAIN, samples % grain};
}

/* Every number of samples that a grain of a step can have. */
static void add_step(size_list *list, const sh_trainer *trainer, const sh_batch *step)
{
    const uint32_t grain = trainer->job.grain, units[] = {0, step->grains - 1};
    if (trainer->workers == NULL) {
        add_batch(list, step->samples.count, grain);
        return;
    }
    for (int i = 0; i < 2; i++) { /* all workers but the last have as many samples */
        const uint32_t samples = sh_batch_grain(step, units[i]).count;
        const uint32_t batch = sh_schedule_worker_batch(&trainer->schedule);
        add_batch(list, samples < batch ? samples : batch, grain);
        add_batch(list, samples % batch, grain);
    }
}

static sh_status make_workers(sh_trainer *trainer, const sh_trainer_options *options)
{
    if (trainer->schedule.workers == 0 || options->evaluate_only)
        return SH_OK;
    trainer->workers = calloc(options->lanes, sizeof *trainer->workers);
    if (trainer->workers == NULL)
        return sh_fail_memory(options->lanes * sizeof *trainer->workers, "the workers");
    for (; trainer->worker_count < options->lanes; trainer->worker_count++)
        SH_TRY(sh_worker_new(&trainer->workers[trainer->worker_count], trainer->replica,
                             &trainer->job));
    return SH_OK;
}

/* All but the first so many. */
static void drop_workers(sh_trainer *trainer, uint32_t left)
{
    while (trainer->worker_count > left)
        sh_worker_free(trainer->workers[--trainer->worker_count]);
}

/* The lanes, with all programs of this job. */
static sh_status open_lanes(sh_trainer *trainer, const sh_trainer_options *options,
                            float *const *const *own)
{
    size_list list = {.count = 0};
    const sh_dataset_info *info = sh_pipeline_about(options->pipeline);
    const sh_problem problem = {info->channels, info->height, info->width, info->classes};
    const sh_schedule *schedule = &trainer->schedule;
    const uint32_t grain = trainer->job.grain;
    if (!options->evaluate_only) {
        const sh_batch first = sh_schedule_batch(schedule, 0);
        const sh_batch last = sh_schedule_batch(schedule, schedule->epoch_steps - 1);
        add_step(&list, trainer, &first);
        add_step(&list, trainer, &last);
    }
    list.items[list.count++] = (sh_lane_size){SH_MODEL_EVALUATE, grain};
    list.items[list.count++] =
        (sh_lane_size){SH_MODEL_EVALUATE, info->count[SH_SPLIT_VALIDATION] % grain};
    return sh_lanes_new(
        &trainer->lanes,
        &(sh_lanes_options){
            .model = sh_replica_model(&trainer->job, &problem),
            .backends = options->backends,
            .parameters = trainer->updates == NULL ? trainer->replica->parameters
                                                   : sh_updates_parameters(trainer->updates),
            .own = own,
            .own_bytes = own == NULL ? 0 : sh_worker_bytes(trainer->replica, &trainer->job),
            .count = options->lanes,
            .sizes = list.items,
            .size_count = list.count,
            .clock = options->clock,
            .mark = trainer->watch.clock,
            .memory = options->memory,
            .held = held_by(trainer, options->shared),
        });
}

/* What devices that train apart need, where there may be others. */
static sh_status make_updates(sh_trainer *trainer, const sh_trainer_options *options)
{
    sh_strategy strategy;
    SH_TRY(sh_strategy_parse(&strategy, trainer->job.strategy));
    if (!sh_strategy_laps(&strategy) || !options->shared || options->evaluate_only)
        return SH_OK;
    return sh_updates_new(&trainer->updates, trainer->replica, strategy.bound);
}

/* Where all devices add up in each step. */
static sh_status make_factors(sh_trainer *trainer, const sh_trainer_options *options)
{
    sh_strategy strategy;
    SH_TRY(sh_strategy_parse(&strategy, trainer->job.strategy));
    if (strategy.kind != SH_STRATEGY_SYNC || options->evaluate_only)
        return SH_OK;
    const uint32_t samples = sh_schedule_batch(&trainer->schedule, 0).samples.count;
    SH_TRY(sh_factors_new(&trainer->factors, trainer->replica, samples, trainer->job.grain));
    return options->shared ? sh_factors_share(trainer->factors) : SH_OK;
}

/* Not every matrix is a dense layer's. */
static void keep_factors(sh_trainer *trainer)
{
    const sh_schedule *schedule = &trainer->schedule;
    bool fit = trainer->factors != NULL;
    for (uint64_t step = 0; fit && step < schedule->epoch_steps;
         step += schedule->epoch_steps - 1) {
        const sh_batch batch = sh_schedule_batch(schedule, step);
        for (uint32_t g = 0; fit && g < batch.grains; g++) {
            const uint32_t samples = sh_batch_grain(&batch, g).count;
            fit = sh_factors_fit(trainer->factors,
                                 sh_lanes_execution(trainer->lanes, 0, SH_MODEL_TRAIN, samples),
                                 samples);
        }
        if (schedule->epoch_steps == 1)
            break;
    }
    if (fit)
        return;
    sh_factors_free(trainer->factors);
    trainer->factors = NULL;
}

static sh_status start_lanes(sh_trainer *trainer, const sh_trainer_options *options)
{
    SH_TRY(make_updates(trainer, options));
    SH_TRY(make_workers(trainer, options));
    if (trainer->workers == NULL)
        return open_lanes(trainer, options, NULL);
    float *const **own = calloc(options->lanes, sizeof *own);
    if (own == NULL)
        return sh_fail_memory(options->lanes * sizeof *own, "the lanes");
    for (uint32_t i = 0; i < options->lanes; i++)
        own[i] = sh_worker_parameters(trainer->workers[i]);
    const sh_status status = open_lanes(trainer, options, own);
    free(own);
    if (status == SH_OK)
        drop_workers(trainer, sh_lanes_count(trainer->lanes));
    return status;
}

static sh_status make_squares(sh_trainer *trainer)
{
    const size_t count = (size_t)sh_lanes_count(trainer->lanes) * trainer->replica->summed;
    trainer->squares = calloc(count, sizeof *trainer->squares);
    return trainer->squares != NULL
               ? SH_OK
               : sh_fail_memory(count * sizeof *trainer->squares, "the norm of gradients");
}

sh_status sh_trainer_new(sh_trainer **trainer, const sh_trainer_options *options)
{
    const sh_dataset_info *info = sh_pipeline_about(options->pipeline);
    sh_trainer *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the trainer");
    fresh->job = *options->job;
    fresh->pipeline = options->pipeline;
    fresh->replica = options->replica;
    fresh->schedule = sh_schedule_of(&fresh->job, info->count[SH_SPLIT_TRAIN]);
    fresh->local = sh_schedule_local(&fresh->schedule);
    fresh->order_epoch = UINT32_MAX;
    fresh->pace_clock = options->pace;
    fresh->on_passed = options->on_passed;
    fresh->on_times = options->on_times;
    fresh->profiled = options->clock != NULL;
    fresh->context = options->context;
    if (fresh->replica->steps > 0 && fresh->replica->steps >= fresh->schedule.total_steps)
        fresh->replica->phase = SH_PHASE_VALIDATION; /* all that is left to do */
    pthread_mutex_init(&fresh->lock, NULL);
    fresh->watching = &fresh->off;
    sh_status status = sh_rate_parse(&fresh->rate, fresh->job.schedule, (double)fresh->job.warmup);
    if (status == SH_OK)
        status = sh_stopwatch_init(&fresh->watch, fresh->profiled ? options->clock : options->times,
                                   options->lanes);
    if (status == SH_OK && options->shared)
        status = sh_sum_share(fresh->replica->sum);
    if (status == SH_OK)
        status = lay_out_spans(fresh);
    if (status == SH_OK)
        status = make_factors(fresh, options);
    if (status == SH_OK)
        status = start_lanes(fresh, options);
    if (status == SH_OK)
        keep_factors(fresh);
    if (status == SH_OK && fresh->job.clip_norm > 0 && fresh->schedule.workers == 0)
        status = make_squares(fresh);
    if (status == SH_OK)
        status = sh_prefetch_start(&fresh->prefetch, sh_pipeline_dataset(fresh->pipeline));
    if (status != SH_OK) {
        sh_trainer_free(fresh);
        return status;
    }
    *trainer = fresh;
    return SH_OK;
}

void sh_trainer_free(sh_trainer *trainer)
{
    if (trainer == NULL)
        return;
    sh_prefetch_stop(trainer->prefetch);
    sh_lanes_free(trainer->lanes);
    sh_updates_free(trainer->updates);
    sh_factors_free(trainer->factors);
    drop_workers(trainer, 0);
    free(trainer->workers);
    pthread_mutex_destroy(&trainer->lock);
    sh_stopwatch_release(&trainer->watch);
    free(trainer->bucket_of);
    free(trainer->left);
    free(trainer->max_abs);
    free(trainer->scales);
    free(trainer->squares);
    sh_grain_list_release(&trainer->held);
    sh_grain_list_release(&trainer->todo);
    free(trainer);
}

const sh_schedule *sh_trainer_schedule(const sh_trainer *trainer)
{
    return &trainer->schedule;
}

const sh_footprint *sh_trainer_footprint(const sh_trainer *trainer)
{
    return sh_lanes_footprint(trainer->lanes);
}

sh_trainer_work sh_trainer_work_done(const sh_trainer *trainer)
{
    return trainer->work;
}

bool sh_step_tensor_range(const sh_sum *sum, uint32_t tensor, size_t first, size_t end,
                          size_t *from, size_t *to)
{
    const size_t start = sh_sum_first_element(sum, tensor);
    const size_t stop = start + sh_sum_elements(sum, tensor);
    *from = start > first ? start : first;
    *to = stop < end ? stop : end;
    return *from < *to;
}

/* Adds the squares of a range of one tensor's total. */
static void add_squares(sh_squares *squares, const sh_sum *sum, size_t from, size_t to)
{
    int32_t room[SH_SUM_ROOM];
    const void *total = sh_sum_total(sum).accumulator;
    for (size_t count; from < to; from += count) {
        count = to - from < SH_SUM_ROOM ? to - from : SH_SUM_ROOM;
        sh_squares_add(squares, sh_layout_integers(sh_sum_layout_of(sum), total, from, count, room),
                       count);
    }
}

/* Adds the squares of this lane's range of the gradient, tensor by tensor. */
static void measure(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    sh_sum *sum = trainer->replica->sum;
    const uint32_t tensors = trainer->replica->summed;
    size_t first, end, from, to;
    sh_squares *squares = trainer->squares + (size_t)lane * tensors;
    memset(squares, 0, tensors * sizeof *squares);
    sh_stage_lane_range(trainer, lane, trainer->replica->summed_count, &first, &end);
    for (uint32_t t = 0; t < tensors; t++)
        if (role_of(trainer, t) == SH_ROLE_TRAINED &&
            sh_step_tensor_range(sum, t, first, end, &from, &to))
            add_squares(&squares[t], sum, from, to);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_APPLY, begun);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_BUSY, begun);
}

double sh_step_clip_factor(sh_trainer *trainer)
{
    const uint32_t tensors = trainer->replica->summed, lanes = sh_lanes_count(trainer->lanes);
    double total = 0;
    if (trainer->squares == NULL)
        return 1;
    sh_stage_take_turn(trainer, measure);
    for (uint32_t t = 0; t < tensors; t++) {
        sh_squares squares = {0, 0};
        for (uint32_t lane = 0; lane < lanes; lane++)
            sh_squares_merge(&squares, &trainer->squares[(size_t)lane * tensors + t]);
        total += sh_squares_value(&squares, sh_sum_scale(trainer->replica->sum, t));
    }
    return sh_norm_clip(sqrt(total), (double)trainer->job.clip_norm);
}

/* Updates this lane's range of the weights. */
static void apply(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    sh_replica *replica = trainer->replica;
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    size_t first, end;
    sh_stage_lane_range(trainer, lane, replica->summed_count, &first, &end);
    sh_replica_update(replica, &trainer->step, first, end, sh_sum_total(replica->sum).accumulator,
                      trainer->max_abs);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_APPLY, begun);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_BUSY, begun);
}

/* The factor that gradients were clipped by. */
static double apply_update(sh_trainer *trainer)
{
    sh_replica *replica = trainer->replica;
    const double clip = sh_step_clip_factor(trainer);
    const double lr = trainer->schedule.workers > 0 ? (double)trainer->job.outer_lr : trainer->lr;
    trainer->step = (sh_replica_step){
        sh_optimizer_step_of(&replica->settings, lr, clip, replica->steps + 1),
        trainer->scales,
    };
    for (uint32_t t = 0; t < replica->summed; t++)
        atomic_store(&trainer->max_abs[t], 0);
    sh_stage_take_turn(trainer, apply);
    for (uint32_t t = 0; t < replica->summed; t++)
        sh_sum_follow(replica->sum, t, atomic_load(&trainer->max_abs[t]));
    return clip;
}

sh_status sh_step_fail_not_finite(const sh_trainer *trainer, uint32_t tensor)
{
    return sh_fail(
        SH_NUMERIC,
        "step %llu (epoch %u): %s%s is not a finite number any more; the learning rate "
        "of %g may be too high",
        (unsigned long long)trainer->number + 1, trainer->batch.epoch + 1,
        tensor == SH_SUM_LOSS           ? "the loss"
        : trainer->schedule.workers > 0 ? "the change of "
                                        : "the gradient of ",
        tensor == SH_SUM_LOSS
            ? ""
            : sh_replica_tensor_name(trainer->replica, trainer->replica->tensor_of[tensor]),
        trainer->lr);
}

sh_status sh_step_fail_attempts(const sh_trainer *trainer)
{
    return sh_fail(SH_INTERNAL, "step %llu: no exponents hold its gradients after %d attempts",
                   (unsigned long long)trainer->number + 1, SH_STAGE_ATTEMPTS);
}

void sh_step_count(sh_trainer *trainer, uint64_t from, uint32_t count, const sh_sum_totals *totals)
{
    sh_replica *replica = trainer->replica;
    if (from % trainer->schedule.epoch_steps == 0)
        replica->epoch = (sh_epoch_totals){0};
    replica->epoch.loss += totals->loss;
    replica->epoch.samples += totals->samples;
    replica->epoch.correct += totals->correct;
    replica->steps = from + count;
    const bool validate = replica->steps % trainer->schedule.epoch_steps == 0 ||
                          replica->steps >= trainer->schedule.total_steps;
    replica->phase = validate ? SH_PHASE_VALIDATION : SH_PHASE_FIRST;
}

/* Takes the grains into this device's account. */
static void count_work(sh_trainer *trainer)
{
    const sh_batch *batch = &trainer->batch;
    trainer->work.grains += trainer->held.total;
    for (uint32_t i = 0; i < trainer->held.total; i++)
        trainer->work.samples += sh_batch_grain(batch, sh_grain_list_at(&trainer->held, i)).count;
}

void sh_step_begin_batch(sh_trainer *trainer, uint64_t number)
{
    trainer->mode = SH_MODEL_TRAIN;
    trainer->number = number;
    trainer->batch = sh_schedule_batch(&trainer->schedule, number);
    trainer->local_step = sh_schedule_local_before(&trainer->schedule, number);
    trainer->lr =
        sh_rate_at(&trainer->rate, (double)trainer->job.lr, &trainer->local, trainer->local_step);
    if (trainer->order_epoch != trainer->batch.epoch) {
        trainer->order_epoch = trainer->batch.epoch;
        sh_order_init(&trainer->order, trainer->job.seed, trainer->batch.epoch,
                      trainer->schedule.samples);
    }
}

/* Has the samples of this device's share of a batch brought from disk. */
static void want_share(sh_trainer *trainer, const sh_part *part, const sh_batch *batch,
                       sh_split split, const sh_order *order)
{
    const sh_range share = sh_range_scale(part->share, part->of, batch->grains);
    if (share.count == 0)
        return;
    const sh_range last = sh_batch_grain(batch, share.first + share.count - 1);
    const uint32_t first = sh_batch_grain(batch, share.first).first;
    sh_prefetch_want(trainer->prefetch, split, order, first, last.first + last.count - first);
}

/* The same for a coming step, should the share stay as it is. */
static void want_step(sh_trainer *trainer, const sh_part *part, uint64_t step)
{
    if (step >= trainer->schedule.total_steps)
        return;
    sh_order order;
    const sh_batch batch = sh_schedule_batch(&trainer->schedule, step);
    sh_order_init(&order, trainer->job.seed, batch.epoch, trainer->schedule.samples);
    want_share(trainer, part, &batch, SH_SPLIT_TRAIN, &order);
}

void sh_step_tell_passed(const sh_trainer *trainer, const sh_stage_outcome *outcome)
{
    if (trainer->on_passed != NULL)
        trainer->on_passed(trainer->context, outcome);
}

/* Sets `todo` to what the part asks for, beside what is held of this stage. */
static sh_status take_up(sh_trainer *trainer, const sh_part *part)
{
    const sh_position now = sh_replica_position(trainer->replica);
    const uint32_t grains = trainer->batch.grains;
    if (part->work == NULL || !sh_position_same(trainer->held_at, now))
        sh_trainer_forget(trainer);
    sh_grain_list_clear(&trainer->todo);
    if (part->work == NULL)
        return sh_grain_list_add(&trainer->todo, sh_range_scale(part->share, part->of, grains));
    for (uint32_t i = 0; i < part->work_count; i++) {
        const sh_range range = part->work[i];
        if (range.first > grains || range.count > grains - range.first)
            return sh_fail(SH_INVALID, "step %llu has %u grains, and is to compute %u from %u on",
                           (unsigned long long)now.steps + 1, grains, range.count, range.first);
        if (sh_grain_list_meets(&trainer->held, range))
            return sh_fail(SH_INVALID, "step %llu: of %u grains from %u on some are held already",
                           (unsigned long long)now.steps + 1, range.count, range.first);
        SH_TRY(sh_grain_list_add(&trainer->todo, range));
    }
    return SH_OK;
}

sh_status sh_step_compare_replicas(const sh_trainer *trainer, const sh_part *part)
{
    const uint32_t devices = part->engine->devices;
    if (!trainer->shared ||
        sh_sum_read_totals(trainer->replica->sum).check == devices * trainer->check)
        return SH_OK;
    return sh_fail(
        SH_DIVERGED,
        "after step %llu the %u devices do not hold the same weights any more; this one's "
        "check is %016llx",
        (unsigned long long)trainer->replica->steps, devices, (unsigned long long)trainer->check);
}

void sh_step_take_times(sh_trainer *trainer, sh_step_times *times, uint64_t step, uint64_t grains,
                        uint64_t samples)
{
    *times = (sh_step_times){.step = step,
                             .grains = (uint32_t)grains,
                             .samples = (uint32_t)samples,
                             .attempts = 1 + trainer->repeated};
    trainer->repeated = 0;
    sh_stopwatch_end_step(trainer->watching, times);
}

/* Exponents have changed: begins the next attempt, with the grains that are held. */
static void redo(sh_trainer *trainer, sh_position before)
{
    sh_replica *replica = trainer->replica;
    const sh_grain_list spare = trainer->todo;
    replica->phase++;
    trainer->repeated++;
    trainer->todo = trainer->held;
    trainer->held = spare;
    sh_grain_list_clear(&trainer->held);
    sh_step_tell_passed(trainer, &(sh_stage_outcome){.kind = SH_STAGE_REDONE,
                                                     .before = before,
                                                     .after = sh_replica_position(replica)});
    if (sh_sum_calibrating(replica->sum))
        return;
    trainer->redone++;
    sh_log(SH_LOG_INFO, "step.redone", "step=%llu reason=\"a gradient outgrew its exponent\"",
           (unsigned long long)before.steps + 1);
}

/* Every device has applied the step. */
static void finish_step(sh_trainer *trainer, sh_position before, sh_step_result *result)
{
    const double clip = apply_update(trainer);
    *result = (sh_step_result){sh_sum_read_totals(trainer->replica->sum), trainer->redone};
    sh_step_count(trainer, before.steps, 1, &result->totals);
    count_work(trainer);
    sh_trainer_forget(trainer);
    trainer->redone = 0;
    sh_step_tell_passed(trainer, &(sh_stage_outcome){.kind = SH_STAGE_APPLIED,
                                                     .before = before,
                                                     .after = sh_replica_position(trainer->replica),
                                                     .update = trainer->step,
                                                     .clip = clip});
}

void sh_step_read_scales(sh_trainer *trainer)
{
    for (uint32_t t = 0; t < trainer->replica->summed; t++)
        trainer->scales[t] = sh_sum_scale(trainer->replica->sum, t);
}

/* Judges the reduced sum and does what follows from it, under the replica's lock. */
static sh_verdict conclude(sh_trainer *trainer, sh_step_result *result, uint32_t *tensor)
{
    sh_replica *replica = trainer->replica;
    const sh_position before = sh_replica_position(replica);
    sh_step_read_scales(trainer);
    sh_replica_lock(replica);
    const sh_verdict verdict = sh_sum_verdict(replica->sum, tensor);
    if (verdict == SH_VERDICT_REDO)
        redo(trainer, before);
    else if (verdict == SH_VERDICT_APPLY)
        finish_step(trainer, before, result);
    sh_replica_unlock(replica);
    return verdict;
}

/* Of a step that is applied; `before` is what this device had computed before it. */
static void tell_times(sh_trainer *trainer, uint64_t step, sh_trainer_work before)
{
    sh_step_times times;
    sh_step_take_times(trainer, &times, step, trainer->work.grains - before.grains,
                       trainer->work.samples - before.samples);
    if (trainer->on_times != NULL)
        trainer->on_times(trainer->context, &times);
}

static sh_status step(sh_trainer *trainer, const sh_part *part, sh_step_result *result)
{
    const sh_replica *replica = trainer->replica;
    const sh_trainer_work before = trainer->work;
    if (replica->phase == SH_PHASE_VALIDATION)
        sh_trainer_set_phase(trainer, SH_PHASE_FIRST);
    if (trainer->updates != NULL && part->engine->devices > 1)
        return sh_updates_lap(trainer, part, result);
    sh_step_begin_batch(trainer, replica->steps);
    SH_TRY(take_up(trainer, part));
    want_step(trainer, part, replica->steps + 1);
    while (replica->phase < SH_PHASE_FIRST + SH_STAGE_ATTEMPTS) {
        uint32_t tensor;
        SH_TRY(sh_stage_reduce(trainer, part));
        SH_TRY(sh_step_compare_replicas(trainer, part));
        switch (conclude(trainer, result, &tensor)) {
        case SH_VERDICT_NOT_FINITE:
            return sh_step_fail_not_finite(trainer, tensor);
        case SH_VERDICT_REDO:
            continue;
        case SH_VERDICT_APPLY:
            tell_times(trainer, replica->steps, before);
            return SH_OK;
        }
    }
    return sh_step_fail_attempts(trainer);
}

sh_status sh_trainer_step(sh_trainer *trainer, const sh_part *part, sh_step_result *result)
{
    sh_stopwatch *watch = &trainer->watch;
    const sh_clock *clock = trainer->pace_clock;
    const uint64_t begun = sh_stopwatch_now(watch);
    const uint64_t begun_ns = clock == NULL ? 0 : sh_clock_now_ns(clock);
    trainer->watching = watch;
    sh_stopwatch_begin_step(watch);
    const sh_status status = step(trainer, part, result);
    if (status != SH_OK)
        sh_stopwatch_interrupt(watch);
    if (status == SH_OK && clock != NULL)
        sh_pace_note_step(&trainer->pace, (double)(sh_clock_now_ns(clock) - begun_ns) * 1e-9);
    trainer->watching = &trainer->off;
    sh_stopwatch_since(watch, &watch->steps_ns, begun);
    watch->steps += status == SH_OK;
    return status;
}

sh_speed sh_trainer_speed(const sh_trainer *trainer)
{
    return sh_pace_speed(&trainer->pace, sh_lanes_count(trainer->lanes));
}

sh_status sh_trainer_profile(const sh_trainer *trainer, sh_profile *profile, sh_profile_level level)
{
    sh_profile fresh = {0};
    if (!trainer->profiled)
        return sh_fail(SH_INVALID, "the trainer has no clock, so there is no profile");
    sh_status status = sh_stopwatch_report(&trainer->watch, &fresh);
    if (status == SH_OK)
        status = sh_lanes_profile(trainer->lanes, &fresh, SH_MODEL_TRAIN, level);
    if (status == SH_OK)
        status = sh_profile_finish(&fresh);
    if (status != SH_OK) {
        sh_profile_release(&fresh);
        return status;
    }
    *profile = fresh;
    return SH_OK;
}

void sh_trainer_clear_times(sh_trainer *trainer)
{
    sh_lane_size size;
    const sh_program *program;
    const sh_graph *graph;
    sh_stopwatch_clear(&trainer->watch);
    for (size_t i = 0; sh_lanes_program(trainer->lanes, i, &size, &program, &graph); i++)
        for (uint32_t lane = 0; lane < sh_lanes_count(trainer->lanes); lane++)
            sh_execution_clear_times(
                sh_lanes_execution(trainer->lanes, lane, size.mode, size.samples));
}

const sh_lanes *sh_trainer_lanes(const sh_trainer *trainer)
{
    return trainer->lanes;
}

const sh_stopwatch *sh_trainer_stopwatch(const sh_trainer *trainer)
{
    return &trainer->watch;
}

/* The validation is done, where one was due. */
static void finish_validation(sh_trainer *trainer)
{
    sh_replica *replica = trainer->replica;
    const sh_position before = sh_replica_position(replica);
    sh_replica_lock(replica);
    if (replica->phase == SH_PHASE_VALIDATION)
        replica->phase = SH_PHASE_FIRST;
    sh_step_tell_passed(trainer, &(sh_stage_outcome){.kind = SH_STAGE_VALIDATED,
                                                     .before = before,
                                                     .after = sh_replica_position(replica)});
    sh_replica_unlock(replica);
}

sh_status sh_trainer_evaluate(sh_trainer *trainer, const sh_part *part, sh_sum_totals *totals)
{
    const sh_dataset_info *info = sh_pipeline_about(trainer->pipeline);
    trainer->mode = SH_MODEL_EVALUATE;
    sh_stopwatch_interrupt(&trainer->watch);
    trainer->batch = sh_batch_of_all(info->count[SH_SPLIT_VALIDATION], trainer->job.grain);
    sh_trainer_forget(trainer);
    sh_grain_list_clear(&trainer->todo);
    SH_TRY(sh_grain_list_add(&trainer->todo,
                             sh_range_scale(part->share, part->of, trainer->batch.grains)));
    want_share(trainer, part, &trainer->batch, SH_SPLIT_VALIDATION, NULL);
    SH_TRY(sh_stage_reduce(trainer, part));
    SH_TRY(sh_step_compare_replicas(trainer, part));
    want_step(trainer, part, trainer->replica->steps); /* this has replaced what was left of it */
    *totals = sh_sum_read_totals(trainer->replica->sum);
    finish_validation(trainer);
    return SH_OK;
}

const sh_grain_list *sh_trainer_held(const sh_trainer *trainer)
{
    return &trainer->held;
}

void sh_trainer_forget(sh_trainer *trainer)
{
    sh_grain_list_clear(&trainer->held);
}

void sh_trainer_set_phase(sh_trainer *trainer, uint32_t phase)
{
    sh_replica *replica = trainer->replica;
    if (replica->phase == phase)
        return;
    sh_replica_lock(replica);
    replica->phase = phase;
    sh_replica_unlock(replica);
    sh_trainer_forget(trainer);
    trainer->redone = 0;
}

uint64_t sh_trainer_check(const sh_trainer *trainer)
{
    return trainer->check;
}
