/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage up to its reduction consists of these turns of the team:
 *
 *     clear    lanes clear the own part of the sum unless units are held, and compute values
 *              that depend only on the weights
 *     compute  each lane takes the next unit until none is left. The lane that adds the last
 *              contribution to a bucket notifies the engine, which sends the bucket while earlier
 *              layers are still in the backward pass
 *     check    with other devices: lanes compute the check of the weights. This is the last turn,
 *              so a bit that flips while units are computed is detected in the same stage
 *
 * The strategy can have other operations at each of these points (strategy_ops.h).
 */
#include "train/stage.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "train/commitment.h"
#include "train/gpus.h"
#include "train/samples.h"
#include "train/score.h"
#include "train/strategy_ops.h"
#include "train/weight_check.h"

#define GRANULE 4096 /* elements; lane ranges end at multiples of it */

sh_status sh_stage_init(sh_stage *stage)
{
    const sh_sum_layout *layout = sh_sum_layout_of(stage->replica->sum);
    pthread_mutex_init(&stage->turn.lock, NULL);
    stage->plain.ops = &sh_strategy_plain;
    stage->strategy = &stage->plain;
    stage->task.order_epoch = UINT32_MAX;
    stage->times.watching = &stage->times.off;
    if (layout->bucket_count + 1 > SH_ENGINE_MAX_SPANS)
        return sh_fail(SH_LIMIT, "the model has %u gradient buckets, at most %d can be sent",
                       layout->bucket_count, SH_ENGINE_MAX_SPANS - 1);
    stage->spans.bucket_of = calloc(stage->replica->summed, sizeof *stage->spans.bucket_of);
    if (stage->spans.bucket_of == NULL)
        return sh_fail_memory(stage->replica->summed * sizeof(uint32_t), "the trainer");
    for (uint32_t i = 0; i < layout->bucket_count; i++) {
        const sh_sum_bucket *bucket = &layout->buckets[i];
        stage->spans.additions_per_unit[i] = bucket->tensors;
        for (uint32_t t = 0; t < bucket->tensors; t++)
            stage->spans.bucket_of[bucket->first_tensor + t] = i;
    }
    sh_stage_bind_spans(stage);
    return SH_OK;
}

void sh_stage_release(sh_stage *stage)
{
    pthread_mutex_destroy(&stage->turn.lock);
    free(stage->spans.bucket_of);
    free(stage->class_weights);
    free(stage->spare);
    sh_class_index_free(stage->classes);
    sh_gpus_close(stage);
}

void sh_stage_bind_spans(sh_stage *stage)
{
    const sh_sum *sum = stage->replica->sum;
    const sh_sum_layout *layout = sh_sum_layout_of(sum);
    const sh_sum_block own = sh_sum_own(sum), total = sh_sum_total(sum);
    for (uint32_t i = 0; i < layout->bucket_count; i++) {
        const sh_sum_bucket *bucket = &layout->buckets[i];
        const size_t offset = sh_layout_offset(layout, bucket->first_element);
        stage->spans.items[i] = (sh_span){
            .own = (const unsigned char *)own.accumulator + offset,
            .total = (unsigned char *)total.accumulator + offset,
            .count = bucket->elements,
            .word = bucket->word,
        };
    }
    stage->spans.items[layout->bucket_count] = (sh_span){
        .own = own.trailer, .total = total.trailer, .count = own.words, .word = SH_WORD_U64};
    stage->spans.count = layout->bucket_count + 1;
}

sh_status sh_stage_share_sum(sh_stage *stage, const sh_engine *engine)
{
    sh_replica *replica = stage->replica;
    const bool shared = engine->devices > 1;
    if (shared == stage->shared)
        return SH_OK;
    if (shared) {
        SH_TRY(sh_sum_share(replica->sum));
        if (stage->strategy->ops->share != NULL)
            SH_TRY(stage->strategy->ops->share(stage));
    }
    sh_replica_lock(replica);
    sh_sum_set_shared(replica->sum, shared);
    sh_replica_unlock(replica);
    stage->shared = shared;
    sh_stage_bind_spans(stage);
    return SH_OK;
}

void sh_stage_forget(sh_stage *stage)
{
    stage->held.count = 0;
    stage->check_sent = false;
}

sh_status sh_stage_status(const sh_stage *stage)
{
    const sh_stage_turn *turn = &stage->turn;
    return turn->failure == SH_OK ? SH_OK : sh_fail(turn->failure, "%s", turn->message);
}

void sh_stage_run_lanes(sh_stage *stage, sh_team_task *task, void *context)
{
    sh_stopwatch *watch = stage->times.watching;
    const uint64_t begun = sh_stopwatch_now(watch);
    sh_team_run(sh_lanes_team(stage->lanes), task, context);
    sh_lanes_note_turn(stage->lanes);
    sh_stopwatch_since(watch, &watch->turns_ns, begun);
}

/* ---- work of the lanes ----------------------------------------------------------------------- */

void sh_stage_note_failure(sh_stage *stage, sh_status status)
{
    sh_stage_turn *turn = &stage->turn;
    pthread_mutex_lock(&turn->lock);
    if (turn->failure == SH_OK) {
        turn->failure = status;
        memcpy(turn->message, sh_message(), strlen(sh_message()) + 1);
    }
    pthread_mutex_unlock(&turn->lock);
    atomic_store(&turn->next, sh_ranges_total(&stage->task.todo));
}

void sh_stage_lane_range(const sh_stage *stage, uint32_t lane, size_t total, size_t *first,
                         size_t *end)
{
    const size_t granules = (total + GRANULE - 1) / GRANULE;
    const uint32_t lanes = sh_lanes_count(stage->lanes);
    *first = granules * lane / lanes * GRANULE;
    *end = granules * (lane + 1) / lanes * GRANULE;
    if (*end > total)
        *end = total;
    if (*first > *end)
        *first = *end;
}

bool sh_stage_tensor_range(const sh_sum *sum, uint32_t tensor, size_t first, size_t end,
                           size_t *from, size_t *to)
{
    const size_t start = sh_sum_first_element(sum, tensor);
    const size_t stop = start + sh_sum_elements(sum, tensor);
    *from = start > first ? start : first;
    *to = stop < end ? stop : end;
    return *from < *to;
}

sh_status sh_stage_prepare(const sh_stage *stage, uint32_t lane, uint32_t lanes,
                           const sh_batch *batch)
{
    const uint32_t counts[] = {sh_batch_grain(batch, 0).count,
                               sh_batch_grain(batch, batch->grains - 1).count};
    for (int i = 0; i < 2; i++)
        if (i == 0 || counts[1] != counts[0])
            SH_TRY(sh_execution_prepare_part(
                sh_lanes_execution(stage->lanes, lane, stage->task.mode, counts[i]), lane % lanes,
                lanes));
    return SH_OK;
}

sh_status sh_stage_compute_samples(sh_stage *stage, uint32_t lane, sh_range range, uint32_t batch,
                                   sh_gradient_sink *sink, void *context)
{
    sh_execution *execution = sh_lanes_execution(stage->lanes, lane, stage->task.mode, range.count);
    assert(execution != NULL);
    sh_stopwatch *watch = stage->times.watching;
    uint64_t begun = sh_stopwatch_now(watch);
    sh_lanes_begin_reading(stage->lanes);
    const sh_status read = sh_samples_read(stage, lane, execution, range, 1.0f / (float)batch);
    sh_lanes_end_reading(stage->lanes);
    SH_TRY(read);
    begun = sh_stopwatch_lap(watch, lane, SH_SPAN_READ, begun);
    const uint64_t added = sh_stopwatch_added(watch, lane);
    SH_TRY(sh_execution_run(execution, sink, context));
    const float *loss = sh_execution_output(execution, 0);
    const sh_dataset_info *info = sh_pipeline_about(stage->pipeline);
    const uint64_t score =
        sh_score(info->target, info->outputs, range.count, sh_execution_output(execution, 1),
                 sh_execution_output(execution, 2));
    sh_sum_add_loss(stage->replica->sum, loss, range.count, score);
    if (stage->on_answers != NULL && stage->task.mode == SH_MODEL_EVALUATE)
        stage->on_answers(stage->context,
                          &(sh_answers){range, loss, sh_execution_output(execution, 3),
                                        sh_execution_output(execution, 2)});
    sh_stopwatch_add_run(watch, lane, begun, sh_execution_marked_ns(execution), added);
    return SH_OK;
}

void sh_stage_count_additions(sh_stage *stage, uint32_t span, uint32_t additions)
{
    if (atomic_fetch_sub(&stage->spans.left[span], additions) == additions)
        sh_engine_ready(stage->part->engine, span);
}

void sh_stage_add(sh_stage *stage, uint32_t lane, uint32_t unit, uint32_t tensor,
                  const sh_gradient *part, sh_sum_parts *until_now)
{
    const uint32_t place = stage->replica->place_of[tensor];
    const uint64_t begun = sh_stopwatch_now(stage->times.watching);
    sh_sum_add_part(stage->replica->sum, place, unit, part, until_now);
    if (part->last)
        sh_stage_count_additions(stage, stage->spans.bucket_of[place], 1);
    sh_stopwatch_add(stage->times.watching, lane, SH_SPAN_ADD, begun);
}

static void clear(void *context, uint32_t lane)
{
    sh_stage *stage = context;
    sh_stopwatch *watch = stage->times.watching;
    const uint64_t begun = sh_stopwatch_now(watch);
    if (stage->task.mode == SH_MODEL_TRAIN && stage->held.count == 0) {
        size_t first, end;
        sh_stage_lane_range(stage, lane, stage->replica->summed_count, &first, &end);
        sh_sum_clear_range(stage->replica->sum, first, end - first);
    }
    const uint64_t cleared = sh_stopwatch_lap(watch, lane, SH_SPAN_SUM, begun);
    const sh_status status =
        stage->task.todo.count == 0 ? SH_OK : stage->strategy->ops->prepare(stage, lane);
    if (status != SH_OK)
        sh_stage_note_failure(stage, status);
    sh_gpus_prepare(stage, lane);
    sh_stopwatch_add(watch, lane, SH_SPAN_PREPARE, cleared);
    sh_stopwatch_add(watch, lane, SH_SPAN_BUSY, begun);
}

static uint64_t pace_now(const sh_stage *stage)
{
    return stage->times.pace_clock == NULL ? 0 : sh_clock_now_ns(stage->times.pace_clock);
}

static void compute(void *context, uint32_t lane)
{
    sh_stage *stage = context;
    const uint64_t begun = sh_stopwatch_now(stage->times.watching), started = pace_now(stage);
    const uint32_t total = sh_ranges_total(&stage->task.todo);
    uint32_t computed = 0;
    sh_gpus_compute(stage, lane);
    while (!sh_gpus_feeds(stage, lane)) {
        const uint32_t taken = atomic_fetch_add(&stage->turn.next, 1);
        if (taken >= total)
            break;
        const uint32_t unit = sh_ranges_at(&stage->task.todo, taken);
        const sh_status status = stage->strategy->ops->compute(stage, lane, unit);
        if (status != SH_OK)
            sh_stage_note_failure(stage, status);
        computed++;
    }
    const uint64_t took = pace_now(stage) - started;
    atomic_fetch_add(&stage->turn.lane_busy_ns, took);
    if (computed > 0)
        sh_gpus_note_lane(stage, computed, took);
    sh_stopwatch_add(stage->times.watching, lane, SH_SPAN_BUSY, begun);
}

static void check(void *context, uint32_t lane)
{
    sh_stage *stage = context;
    sh_stopwatch *watch = stage->times.watching;
    const sh_replica *replica = stage->replica;
    const uint64_t begun = sh_stopwatch_now(watch);
    size_t first, end;
    sh_stage_lane_range(stage, lane, replica->weight_count, &first, &end);
    uint64_t part = sh_weight_check(replica->weights + first, first, end - first);
    for (uint32_t t = 0; t < replica->summed && lane == 0; t++) {
        const int exponent = sh_sum_exponent(replica->sum, t);
        part += sh_weight_check(&exponent, replica->weight_count + t, 1);
    }
    atomic_fetch_add(&stage->turn.partial, part);
    if (stage->strategy->ops->finish != NULL)
        stage->strategy->ops->finish(stage, lane);
    sh_stopwatch_add(watch, lane, SH_SPAN_SUM, begun);
    sh_stopwatch_add(watch, lane, SH_SPAN_BUSY, begun);
}

/* ---- the stage ------------------------------------------------------------------------------- */

static sh_status compute_all(sh_stage *stage, sh_engine *engine)
{
    sh_stage_spans *spans = &stage->spans;
    const bool training = stage->task.mode == SH_MODEL_TRAIN;
    const uint32_t trailer = spans->count - 1, units = sh_ranges_total(&stage->task.todo);
    if (training)
        SH_TRY(sh_engine_begin(engine, spans->items, spans->count));
    else
        SH_TRY(sh_engine_begin(engine, &spans->items[trailer], 1));
    /* Counts one more addition than the units make and subtracts it here, so that spans become
     * ready also on a device without units. */
    for (uint32_t i = 0; i < trailer && training; i++)
        atomic_store(&spans->left[i], spans->additions_per_unit[i] * units + 1);
    for (uint32_t i = 0; i < trailer && training; i++)
        sh_stage_count_additions(stage, i, 1);
    sh_gpus_begin_turn(stage);
    sh_stage_run_lanes(stage, compute, stage);
    sh_gpus_end_turn(stage);
    const sh_status status = sh_stage_status(stage);
    if (status != SH_OK) {
        sh_stage_forget(stage); /* a unit may be added in part */
        return status;
    }
    if (training) {
        const uint32_t full = sh_schedule_batch(&stage->schedule, 0).grain;
        uint32_t samples = 0;
        for (uint32_t i = 0; stage->times.pace_clock != NULL && i < units; i++)
            samples += sh_batch_grain(&stage->task.batch, sh_ranges_at(&stage->task.todo, i)).count;
        sh_pace_note_grains(&stage->times.pace, (double)samples / (double)full,
                            (double)atomic_load(&stage->turn.lane_busy_ns) * 1e-9);
    }
    return SH_OK;
}

static sh_status begin(sh_stage *stage, const sh_part *part)
{
    sh_sum *sum = stage->replica->sum;
    const struct sh_strategy_ops *ops = stage->strategy->ops;
    stage->part = part;
    stage->check_sent = stage->not_finite = false;
    stage->turn.failure = SH_OK;
    if (stage->held.count == 0 || stage->task.mode != SH_MODEL_TRAIN)
        sh_sum_clear_trailer(sum);
    if (stage->task.carried != NULL)
        sh_sum_set_totals(sum, stage->task.carried);
    if (ops->open != NULL)
        ops->open(stage);
    sh_sum_set_step(sum, stage->task.number);
    atomic_store(&stage->turn.lane_busy_ns, 0);
    sh_stage_run_lanes(stage, clear, stage);
    return sh_stage_status(stage);
}

sh_status sh_stage_recompute(sh_stage *stage)
{
    const sh_part alone = {.engine = sh_engine_solo()};
    sh_stage_forget(stage);
    sh_status status = begin(stage, &alone);
    if (status == SH_OK)
        status = compute_all(stage, alone.engine);
    stage->part = NULL;
    return status;
}

sh_status sh_stage_reduce(sh_stage *stage, const sh_part *part)
{
    const bool training = stage->task.mode == SH_MODEL_TRAIN;
    const struct sh_strategy_ops *ops = stage->strategy->ops;
    sh_sum *sum = stage->replica->sum;
    sh_stopwatch *watch = stage->times.watching;
    const bool later =
        part->announce != NULL &&
        sh_engine_decide(part->engine, &(sh_engine_decider){part->announce, part->context});
    uint64_t word = 0;

    stage->reduced = false;
    SH_TRY(sh_stage_share_sum(stage, part->engine));
    SH_TRY(begin(stage, part));
    if (part->lies && training)
        sh_commitment_falsify(sum);
    SH_TRY(compute_all(stage, part->engine));
    if (training) {
        stage->held_at = sh_replica_position(stage->replica);
        const bool kept = sh_ranges_add_all(&stage->held, &stage->task.todo);
        assert(kept);
        (void)kept;
    }
    if (stage->shared) {
        atomic_store(&stage->turn.partial, 0);
        sh_stage_run_lanes(stage, check, stage);
        stage->check = atomic_load(&stage->turn.partial);
    }
    if (part->announce != NULL && !later) /* otherwise the engine calls it */
        part->announce(part->context, true, &word);
    sh_sum_set_note(sum, &(sh_sum_note){
                             .stop = part->stop,
                             .next_view = (uint32_t)word,
                             .audit = (uint32_t)(word >> 32),
                             .check = stage->shared ? stage->check : 0,
                         });
    stage->check_sent = stage->shared;
    sh_engine_ready(part->engine, training ? stage->spans.count - 1 : 0);
    if (ops->complete != NULL)
        SH_TRY(ops->complete(stage));
    const uint64_t begun = sh_stopwatch_now(watch);
    sh_lanes_set_waiting(stage->lanes, true);
    const sh_status status = sh_engine_wait(part->engine);
    sh_lanes_set_waiting(stage->lanes, false);
    sh_stopwatch_since(watch, &watch->network_ns, begun);
    stage->reduced = status == SH_OK;
    return status;
}
