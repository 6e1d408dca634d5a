/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After the stage (stage.c), the verdict on the total, equal on all devices, is to apply the step,
 * redo it, or fail. There are two more turns of the team:
 *
 *     measure  with clipping: lanes add up the squares of disjoint ranges, for the norm
 *     apply    lanes update disjoint ranges of the weights
 *
 * A redo recomputes the held units with other exponents. The weights are unchanged, so the
 * gradients are the same.
 */
#include "train/step.h"

#include <math.h>
#include <string.h>

#include "base/log.h"

/* ---- the update ------------------------------------------------------------------------------ */

static void measure(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    sh_stage *stage = &trainer->stage;
    const sh_replica *replica = stage->replica;
    const uint64_t begun = sh_stopwatch_now(stage->times.watching);
    const sh_sum_layout *layout = sh_sum_layout_of(replica->sum);
    const void *total = sh_sum_total(replica->sum).accumulator;
    int32_t room[SH_SUM_ROOM];
    size_t first, end, from, to;
    sh_squares *squares = trainer->update.squares + (size_t)lane * replica->summed;
    memset(squares, 0, replica->summed * sizeof *squares);
    sh_stage_lane_range(stage, lane, replica->summed_count, &first, &end);
    for (uint32_t t = 0; t < replica->summed; t++) {
        if (replica->graph->parameters[replica->tensor_of[t]].role != SH_ROLE_TRAINED ||
            !sh_stage_tensor_range(replica->sum, t, first, end, &from, &to))
            continue;
        for (size_t count; from < to; from += count) {
            count = to - from < SH_SUM_ROOM ? to - from : SH_SUM_ROOM;
            sh_squares_add(&squares[t], sh_layout_integers(layout, total, from, count, room),
                           count);
        }
    }
    sh_stopwatch_add(stage->times.watching, lane, SH_SPAN_APPLY, begun);
    sh_stopwatch_add(stage->times.watching, lane, SH_SPAN_BUSY, begun);
}

double sh_step_clip_factor(sh_trainer *trainer)
{
    sh_stage *stage = &trainer->stage;
    const uint32_t tensors = stage->replica->summed, lanes = sh_lanes_count(stage->lanes);
    double total = 0;
    if (trainer->update.squares == NULL)
        return 1;
    sh_stage_run_lanes(stage, measure, trainer);
    for (uint32_t t = 0; t < tensors; t++) {
        sh_squares squares = {0, 0};
        for (uint32_t lane = 0; lane < lanes; lane++)
            sh_squares_merge(&squares, &trainer->update.squares[(size_t)lane * tensors + t]);
        total += sh_squares_value(&squares, sh_sum_scale(stage->replica->sum, t));
    }
    return sh_norm_clip(sqrt(total), trainer->rates.clip_norm);
}

void sh_step_read_scales(sh_trainer *trainer)
{
    const sh_replica *replica = trainer->stage.replica;
    for (uint32_t t = 0; t < replica->summed; t++)
        trainer->update.scales[t] = sh_sum_scale(replica->sum, t);
}

void sh_step_run_lanes(sh_trainer *trainer, sh_team_task *task)
{
    for (uint32_t t = 0; t < trainer->stage.replica->summed; t++)
        atomic_store(&trainer->update.max_abs[t], 0);
    sh_stage_run_lanes(&trainer->stage, task, trainer);
}

static void apply(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    sh_stage *stage = &trainer->stage;
    sh_replica *replica = stage->replica;
    const uint64_t begun = sh_stopwatch_now(stage->times.watching);
    size_t first, end;
    sh_stage_lane_range(stage, lane, replica->summed_count, &first, &end);
    sh_replica_update(replica, &trainer->update.applied, first, end,
                      sh_sum_total(replica->sum).accumulator, trainer->update.max_abs);
    sh_stopwatch_add(stage->times.watching, lane, SH_SPAN_APPLY, begun);
    sh_stopwatch_add(stage->times.watching, lane, SH_SPAN_BUSY, begun);
}

/* ---- before and after the stage -------------------------------------------------------------- */

sh_status sh_step_fail_not_finite(const sh_trainer *trainer, uint32_t tensor)
{
    const sh_stage *stage = &trainer->stage;
    const bool loss = tensor == SH_SUM_LOSS;
    return sh_fail(
        SH_NUMERIC,
        "step %llu (epoch %u): %s%s is no longer finite; the learning rate of %g may be too high",
        (unsigned long long)stage->task.number + 1, stage->task.batch.epoch + 1,
        loss ? "the loss" : stage->strategy->ops->sums,
        loss ? "" : sh_replica_tensor_name(stage->replica, stage->replica->tensor_of[tensor]),
        trainer->rates.lr);
}

sh_status sh_step_fail_attempts(const sh_trainer *trainer)
{
    return sh_fail(SH_INTERNAL, "step %llu: its gradients exceed all exponents after %d attempts",
                   (unsigned long long)trainer->stage.task.number + 1, SH_STEP_ATTEMPTS);
}

void sh_step_count(sh_trainer *trainer, uint64_t from, uint32_t count, const sh_sum_totals *totals)
{
    sh_replica *replica = trainer->stage.replica;
    const sh_schedule *schedule = &trainer->stage.schedule;
    sh_best_settle(&replica->best, &trainer->job);
    if (from % schedule->epoch_steps == 0)
        replica->epoch = (sh_epoch_totals){0};
    replica->epoch.loss += totals->loss;
    replica->epoch.samples += totals->samples;
    replica->epoch.score += totals->score;
    replica->steps = from + count;
    const bool validate =
        !sh_rate_is_test(&trainer->rates.rate) &&
        (replica->steps % schedule->epoch_steps == 0 || replica->steps >= schedule->total_steps);
    replica->phase = validate ? SH_PHASE_VALIDATION : SH_PHASE_FIRST;
}

static sh_order order_of(const sh_trainer *trainer, uint32_t epoch)
{
    sh_order order;
    sh_order_init(&order, trainer->job.seed, epoch, trainer->stage.schedule.samples);
    sh_order_balance(&order, trainer->stage.classes);
    return order;
}

void sh_step_begin_batch(sh_trainer *trainer, uint64_t number)
{
    sh_stage_task *task = &trainer->stage.task;
    sh_step_rates *rates = &trainer->rates;
    const sh_schedule *schedule = &trainer->stage.schedule;
    task->mode = SH_MODEL_TRAIN;
    task->number = number;
    task->batch = sh_schedule_batch(schedule, number);
    rates->lr = sh_rate_at(&rates->rate, (double)trainer->job.lr, &rates->local,
                           sh_schedule_local_before(schedule, number));
    if (task->order_epoch == task->batch.epoch)
        return;
    task->order_epoch = task->batch.epoch;
    task->order = order_of(trainer, task->batch.epoch);
}

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

/* Assumes an unchanged share. */
static void want_step(sh_trainer *trainer, const sh_part *part, uint64_t step)
{
    const sh_schedule *schedule = &trainer->stage.schedule;
    if (step >= schedule->total_steps)
        return;
    const sh_batch batch = sh_schedule_batch(schedule, step);
    const sh_order order = order_of(trainer, batch.epoch);
    want_share(trainer, part, &batch, SH_SPLIT_TRAIN, &order);
}

void sh_step_report_passed(const sh_trainer *trainer, sh_passed passed, sh_position before,
                           double clip)
{
    const sh_stage_outcome outcome = {passed, before, sh_replica_position(trainer->stage.replica),
                                      clip};
    if (trainer->on_passed != NULL)
        trainer->on_passed(trainer->context, &outcome);
}

sh_status sh_step_compare_replicas(const sh_trainer *trainer, const sh_part *part)
{
    const sh_stage *stage = &trainer->stage;
    const uint32_t devices = part->engine->devices;
    if (!stage->shared || sh_sum_read_totals(stage->replica->sum).check == devices * stage->check)
        return SH_OK;
    return sh_fail(
        SH_DIVERGED,
        "after step %llu the weights of the %u devices differ; this device's check is %016llx",
        (unsigned long long)stage->replica->steps, devices, (unsigned long long)stage->check);
}

void sh_step_take_times(sh_trainer *trainer, sh_step_times *times, uint64_t step, uint64_t grains,
                        uint64_t samples)
{
    *times = (sh_step_times){.step = step,
                             .grains = (uint32_t)grains,
                             .samples = (uint32_t)samples,
                             .attempts = 1 + trainer->repeated};
    trainer->repeated = 0;
    sh_stopwatch_end_step(trainer->stage.times.watching, times);
}

/* ---- a step of all devices ------------------------------------------------------------------- */

static void set_share(sh_stage *stage, const sh_part *part)
{
    const sh_range share = sh_range_scale(part->share, part->of, stage->task.batch.grains);
    stage->task.todo = (sh_ranges){share.count > 0, {share}};
}

/* Sets `todo` to the units that the part requests. Drops the held units unless they are of this
 * position and the part has `work`. */
static sh_status take_up(sh_stage *stage, const sh_part *part)
{
    const sh_position now = sh_replica_position(stage->replica);
    const uint32_t grains = stage->task.batch.grains;
    const unsigned long long step = now.steps + 1;
    if (part->work == NULL || !sh_position_same(stage->held_at, now))
        sh_stage_forget(stage);
    if (part->work == NULL) {
        set_share(stage, part);
        return SH_OK;
    }
    for (uint32_t i = 0; i < part->work->count; i++) {
        const sh_range range = part->work->items[i];
        if (range.first > grains || range.count > grains - range.first)
            return sh_fail(SH_INVALID, "step %llu has %u grains, but must compute %u from %u on",
                           step, grains, range.count, range.first);
        if (sh_ranges_intersect(&stage->held, range))
            return sh_fail(SH_INVALID, "step %llu: some of %u grains from %u on are already held",
                           step, range.count, range.first);
    }
    sh_ranges all = stage->held;
    if (!sh_ranges_add_all(&all, part->work))
        return sh_fail(SH_INVALID,
                       "step %llu: the grains to compute and the held ones are scattered", step);
    stage->task.todo = *part->work;
    return SH_OK;
}

static void redo(sh_trainer *trainer, sh_position before)
{
    sh_stage *stage = &trainer->stage;
    stage->replica->phase++;
    trainer->repeated++;
    stage->task.todo = stage->held;
    sh_stage_forget(stage);
    sh_step_report_passed(trainer, SH_PASSED_REDO, before, 1);
    if (sh_sum_calibrating(stage->replica->sum))
        return;
    trainer->redone++;
    sh_log(SH_LOG_INFO, "step.redone", "step=%llu reason=\"a gradient exceeded its exponent\"",
           (unsigned long long)before.steps + 1);
}

static void finish_step(sh_trainer *trainer, sh_position before, sh_step_result *result)
{
    sh_stage *stage = &trainer->stage;
    sh_replica *replica = stage->replica;
    const sh_step_rates *rates = &trainer->rates;
    const double clip = sh_step_clip_factor(trainer);
    const double lr = sh_rate_at(&rates->outer, rates->outer_lr, &rates->local,
                                 sh_schedule_local_before(&stage->schedule, stage->task.number));
    trainer->update.applied = (sh_replica_step){
        sh_optimizer_step_of(&replica->settings, lr, clip, replica->steps + 1),
        trainer->update.scales,
    };
    sh_step_run_lanes(trainer, apply);
    for (uint32_t t = 0; t < replica->summed; t++)
        sh_sum_follow(replica->sum, t, atomic_load(&trainer->update.max_abs[t]));
    *result =
        (sh_step_result){.totals = sh_sum_read_totals(replica->sum), .redone = trainer->redone};
    sh_step_count(trainer, before.steps, 1, &result->totals);
    const uint32_t grains = sh_ranges_total(&stage->held);
    trainer->work.grains += grains;
    for (uint32_t i = 0; i < grains; i++)
        trainer->work.samples +=
            sh_batch_grain(&stage->task.batch, sh_ranges_at(&stage->held, i)).count;
    sh_stage_forget(stage);
    trainer->redone = 0;
    sh_step_report_passed(trainer, SH_PASSED_APPLY, before, clip);
}

static void await_audit(sh_trainer *trainer, uint32_t key, sh_step_result *result)
{
    trainer->audit.key = key;
    trainer->audit.held = trainer->stage.held;
    *result = (sh_step_result){.audit = key};
}

static void report_times(sh_trainer *trainer, const sh_trainer_work *already)
{
    sh_step_times times;
    sh_step_take_times(trainer, &times, trainer->stage.replica->steps,
                       trainer->work.grains - already->grains,
                       trainer->work.samples - already->samples);
    if (trainer->on_times != NULL)
        trainer->on_times(trainer->context, &times);
}

static sh_status resume(sh_trainer *trainer, sh_step_result *result)
{
    sh_stage *stage = &trainer->stage;
    const sh_trainer_work already = trainer->work;
    if (trainer->audit.key == 0)
        return sh_fail(SH_INTERNAL, "step %llu: no sum waits for an audit",
                       (unsigned long long)stage->replica->steps + 1);
    trainer->audit.key = 0;
    stage->held = trainer->audit.held; /* counts as this device's work */
    sh_replica_lock(stage->replica);
    finish_step(trainer, sh_replica_position(stage->replica), result);
    sh_replica_unlock(stage->replica);
    report_times(trainer, &already);
    return SH_OK;
}

sh_status sh_step_together(sh_trainer *trainer, const sh_part *part, sh_step_result *result)
{
    sh_stage *stage = &trainer->stage;
    sh_replica *replica = stage->replica;
    const sh_trainer_work already = trainer->work;
    if (part->resume)
        return resume(trainer, result);
    trainer->audit.key = 0;
    sh_step_begin_batch(trainer, replica->steps);
    SH_TRY(take_up(stage, part));
    want_step(trainer, part, replica->steps + 1);
    while (replica->phase < SH_PHASE_FIRST + SH_STEP_ATTEMPTS) {
        uint32_t tensor;
        SH_TRY(sh_stage_reduce(stage, part));
        SH_TRY(sh_step_compare_replicas(trainer, part));
        const sh_position before = sh_replica_position(replica);
        sh_step_read_scales(trainer);
        sh_replica_lock(replica);
        const sh_verdict verdict = sh_sum_verdict(replica->sum, &tensor);
        const uint32_t key = stage->shared ? sh_sum_read_totals(replica->sum).audit : 0;
        if (verdict == SH_VERDICT_REDO)
            redo(trainer, before);
        else if (verdict == SH_VERDICT_APPLY && key != 0)
            await_audit(trainer, key, result);
        else if (verdict == SH_VERDICT_APPLY)
            finish_step(trainer, before, result);
        sh_replica_unlock(replica);
        stage->not_finite = verdict == SH_VERDICT_NOT_FINITE;
        if (verdict == SH_VERDICT_NOT_FINITE)
            return sh_step_fail_not_finite(trainer, tensor);
        if (verdict == SH_VERDICT_REDO)
            continue;
        if (result->audit == 0)
            report_times(trainer, &already);
        return SH_OK;
    }
    return sh_step_fail_attempts(trainer);
}

/* ---- functions of train/trainer.h ------------------------------------------------------------ */

sh_status sh_trainer_step(sh_trainer *trainer, const sh_part *part, sh_step_result *result)
{
    sh_stage *stage = &trainer->stage;
    sh_stopwatch *watch = &stage->times.watch;
    const struct sh_strategy_ops *ops = stage->strategy->ops;
    const sh_clock *clock = stage->times.pace_clock;
    const uint64_t begun = sh_stopwatch_now(watch);
    const uint64_t begun_ns = clock == NULL ? 0 : sh_clock_now_ns(clock);
    *result = (sh_step_result){0};
    stage->times.watching = watch;
    sh_stopwatch_begin_step(watch);
    if (stage->replica->phase == SH_PHASE_VALIDATION)
        sh_trainer_set_phase(trainer, SH_PHASE_FIRST);
    const sh_status status = ops->step == NULL ? sh_step_together(trainer, part, result)
                                               : ops->step(trainer, part, result);
    const bool applied = status == SH_OK && result->audit == 0;
    if (!applied)
        sh_stopwatch_interrupt(watch);
    if (applied && !part->resume && clock != NULL)
        sh_pace_note_step(&stage->times.pace, (double)(sh_clock_now_ns(clock) - begun_ns) * 1e-9);
    stage->times.watching = &stage->times.off;
    sh_stopwatch_since(watch, &watch->steps_ns, begun);
    watch->steps += applied;
    return status;
}

sh_status sh_trainer_evaluate(sh_trainer *trainer, const sh_part *part, sh_sum_totals *totals)
{
    sh_stage *stage = &trainer->stage;
    sh_replica *replica = stage->replica;
    const sh_dataset_info *info = sh_pipeline_about(stage->pipeline);
    stage->task.mode = SH_MODEL_EVALUATE;
    sh_stopwatch_interrupt(&stage->times.watch);
    stage->task.batch = sh_batch_of_all(info->count[SH_SPLIT_VALIDATION], trainer->job.grain);
    sh_stage_forget(stage);
    set_share(stage, part);
    want_share(trainer, part, &stage->task.batch, SH_SPLIT_VALIDATION, NULL);
    SH_TRY(sh_stage_reduce(stage, part));
    SH_TRY(sh_step_compare_replicas(trainer, part));
    want_step(trainer, part, replica->steps); /* the validation's request replaced it */
    *totals = sh_sum_read_totals(replica->sum);
    const sh_position before = sh_replica_position(replica);
    sh_replica_lock(replica);
    if (replica->phase == SH_PHASE_VALIDATION) {
        replica->phase = SH_PHASE_FIRST;
        sh_best_note(&replica->best, sh_best_figure(&trainer->job, info, totals), replica->steps);
    }
    sh_step_report_passed(trainer, SH_PASSED_VALIDATE, before, 1);
    sh_replica_unlock(replica);
    return SH_OK;
}

void sh_trainer_set_phase(sh_trainer *trainer, uint32_t phase)
{
    sh_replica *replica = trainer->stage.replica;
    if (replica->phase == phase)
        return;
    sh_replica_lock(replica);
    replica->phase = phase;
    if (phase == SH_PHASE_VALIDATION)
        sh_best_forget(&replica->best);
    sh_replica_unlock(replica);
    sh_trainer_forget(trainer);
    trainer->redone = 0;
}
