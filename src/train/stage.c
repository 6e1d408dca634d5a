/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage up to its reduction, in turns of the team:
 *
 *     clear    lanes zero the own part, unless grains are held in it; lane 0 prepares what depends
 *              on the weights alone
 *     compute  each lane takes the next grain until none is left: read, forward, backward, adding
 *              each gradient as it appears. The lane that adds the last contribution to a bucket
 *              tells the engine, so buckets travel while earlier layers are still in backward.
 *              With local:H a lane takes a worker, makes all its local steps with weights of its
 *              own, and adds what has come of them (train/worker.h)
 *     check    where replicas are compared: lanes add up the check of the weights. It comes last,
 *              so that a bit that flips while grains are computed is found in the same stage
 *
 * Then the engine ends the reduction, or fails. Where it gathers factors (train/factors.h) there
 * are turns meanwhile, whenever some have come:
 *
 *     multiply each lane takes the next grain of another device and adds what its factors make
 */
#include <assert.h>
#include <string.h>

#include "base/random.h"
#include "train/trainer_impl.h"
#include "train/weight_check.h"

#define GRANULE 4096 /* weights: lanes' ranges end at multiples of it */

/* Keeps the first failure and lets the other lanes run out of grains. */
static void note_failure(sh_trainer *trainer, sh_status status)
{
    pthread_mutex_lock(&trainer->lock);
    if (trainer->failure == SH_OK) {
        trainer->failure = status;
        memcpy(trainer->message, sh_message(), strlen(sh_message()) + 1);
    }
    pthread_mutex_unlock(&trainer->lock);
    atomic_store(&trainer->next, trainer->todo.total);
}

static sh_status lanes_status(const sh_trainer *trainer)
{
    return trainer->failure == SH_OK ? SH_OK : sh_fail(trainer->failure, "%s", trainer->message);
}

static void owe_nothing_more(sh_trainer *trainer, uint32_t bucket, uint32_t paid)
{
    if (atomic_fetch_sub(&trainer->left[bucket], paid) == paid)
        sh_engine_ready(trainer->part->engine, bucket);
}

/* A lane's grain at work, or the worker in its place. */
typedef struct grain_work {
    sh_trainer *trainer;
    uint32_t grain; /* of the batch */
    uint32_t lane;
    uint32_t samples;              /* the next two where factors are kept */
    const sh_execution *execution; /* else NULL */
    size_t record;
} grain_work;

/* The gradient sink of a lane. */
static void add_gradient(void *context, uint32_t tensor, const float *gradient)
{
    const grain_work *work = context;
    sh_trainer *trainer = work->trainer;
    const uint32_t place = trainer->replica->place_of[tensor];
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    sh_sum_add(trainer->replica->sum, place, work->grain, gradient);
    if (work->execution != NULL && sh_factors_has(trainer->factors, place)) {
        sh_factors_take(trainer->factors, work->record, work->samples, place, work->execution);
        if (trainer->gathering)
            owe_nothing_more(trainer, trainer->span_count - 2, 1);
    }
    owe_nothing_more(trainer, trainer->bucket_of[place], 1);
    sh_stopwatch_add(trainer->watching, work->lane, SH_SPAN_ADD, begun);
}

sh_status sh_stage_read_samples(const sh_trainer *trainer, sh_execution *execution, sh_range range)
{
    const sh_dataset_info *info = sh_pipeline_about(trainer->pipeline);
    const size_t elements = info->channels * info->height * info->width;
    const bool training = trainer->mode == SH_MODEL_TRAIN;
    const sh_split split = training ? SH_SPLIT_TRAIN : SH_SPLIT_VALIDATION;
    float *pixels = sh_execution_input(execution, SH_MODEL_SAMPLES);
    int32_t *labels = sh_execution_input(execution, SH_MODEL_LABELS);
    for (uint32_t i = 0; i < range.count; i++) {
        const uint32_t position = range.first + i;
        const uint32_t index = training ? sh_order_at(&trainer->order, position) : position;
        SH_TRY(sh_pipeline_read(trainer->pipeline, split, trainer->batch.epoch, index,
                                pixels + i * elements, &labels[i]));
    }
    return SH_OK;
}

void sh_stage_weigh_samples(const sh_trainer *trainer, sh_execution *execution, sh_range range,
                            float weight)
{
    float *weights = sh_execution_input(execution, SH_MODEL_LOSS_WEIGHTS);
    uint32_t *keys = sh_execution_input(execution, SH_MODEL_KEYS);
    for (uint32_t i = 0; i < range.count; i++) {
        const uint32_t index = sh_order_at(&trainer->order, range.first + i);
        sh_random random =
            sh_random_for(trainer->job.seed, SH_RANDOM_DROPOUT, trainer->batch.epoch, index);
        weights[i] = weight;
        keys[2 * i] = sh_random_next(&random);
        keys[2 * i + 1] = sh_random_next(&random);
    }
}

static void add_outcome(sh_trainer *trainer, const sh_execution *execution, uint32_t count)
{
    const float *loss = sh_execution_output(execution, 0);
    const int32_t *predicted = sh_execution_output(execution, 1);
    const int32_t *labels = sh_execution_output(execution, 2);
    uint32_t correct = 0;
    for (uint32_t i = 0; i < count; i++)
        correct += predicted[i] == labels[i];
    sh_sum_add_loss(trainer->replica->sum, loss, count, correct);
}

/* Forward and backward for these samples, of a batch of so many; gradients go to the sink. */
static sh_status compute_samples(sh_trainer *trainer, uint32_t lane, sh_range range, uint32_t batch,
                                 sh_gradient_sink *sink, void *context)
{
    sh_execution *execution = sh_lanes_execution(trainer->lanes, lane, trainer->mode, range.count);
    assert(execution != NULL);
    sh_stopwatch *watch = trainer->watching;
    uint64_t begun = sh_stopwatch_now(watch);
    SH_TRY(sh_stage_read_samples(trainer, execution, range));
    begun = sh_stopwatch_lap(watch, lane, SH_SPAN_READ, begun);
    if (trainer->mode == SH_MODEL_TRAIN)
        sh_stage_weigh_samples(trainer, execution, range, 1.0f / (float)batch);
    const uint64_t added = sh_stopwatch_added(watch, lane);
    SH_TRY(sh_execution_run(execution, sink, context));
    add_outcome(trainer, execution, range.count);
    sh_stopwatch_add_run(watch, lane, begun, sh_execution_marked_ns(execution), added);
    return SH_OK;
}

/* A lane prepares every program that the grains of a batch need. */
static sh_status prepare(sh_trainer *trainer, uint32_t lane, const sh_batch *batch)
{
    const uint32_t counts[] = {sh_batch_grain(batch, 0).count,
                               sh_batch_grain(batch, batch->grains - 1).count};
    for (int i = 0; i < 2; i++)
        if (i == 0 || counts[1] != counts[0])
            SH_TRY(sh_execution_prepare(
                sh_lanes_execution(trainer->lanes, lane, trainer->mode, counts[i])));
    return SH_OK;
}

/* One of a worker's local batches, which fall into grains as batches do. */
static sh_batch local_batch(const sh_trainer *trainer, sh_range samples, uint32_t done)
{
    const uint32_t most = sh_schedule_worker_batch(&trainer->schedule);
    const uint32_t left = samples.count - done;
    sh_batch batch = sh_batch_of_all(left < most ? left : most, trainer->job.grain);
    batch.samples.first = samples.first + done;
    return batch;
}

sh_range sh_stage_first_grain(const sh_trainer *trainer)
{
    const sh_range first = sh_batch_grain(&trainer->batch, 0);
    if (trainer->workers == NULL)
        return first;
    const sh_batch batch = local_batch(trainer, first, 0);
    return sh_batch_grain(&batch, 0);
}

static sh_status make_local_step(sh_trainer *trainer, uint32_t lane, const sh_batch *batch,
                                 uint64_t number)
{
    sh_worker *worker = trainer->workers[lane];
    SH_TRY(prepare(trainer, lane, batch));
    for (uint32_t g = 0; g < batch->grains; g++)
        SH_TRY(compute_samples(trainer, lane, sh_batch_grain(batch, g), batch->samples.count,
                               sh_worker_add, worker));
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    sh_worker_step(worker,
                   sh_rate_at(&trainer->rate, (double)trainer->job.lr, &trainer->local, number));
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_APPLY, begun);
    return SH_OK;
}

/* All local steps of the worker that these samples are of, and what it contributes. */
static sh_status run_worker(grain_work *work, uint32_t lane, sh_range samples)
{
    sh_trainer *trainer = work->trainer;
    sh_worker *worker = trainer->workers[lane];
    const sh_replica *replica = trainer->replica;
    uint64_t number = trainer->local_step;
    sh_worker_begin(worker);
    for (uint32_t done = 0; done < samples.count; number++) {
        const sh_batch batch = local_batch(trainer, samples, done);
        SH_TRY(make_local_step(trainer, lane, &batch, number));
        done += batch.samples.count;
    }
    const double part = (double)samples.count / (double)trainer->batch.samples.count;
    const float *values = sh_worker_contribution(worker, part);
    for (uint32_t place = replica->summed; place-- > 0;) /* bucket 0 first */
        add_gradient(work, replica->tensor_of[place],
                     values + sh_sum_first_element(replica->sum, place));
    return SH_OK;
}

/* A grain of the batch, or what stands in its place. */
static sh_status compute_grain(sh_trainer *trainer, uint32_t lane, uint32_t grain)
{
    const sh_range range = sh_batch_grain(&trainer->batch, grain);
    grain_work work = {.trainer = trainer, .grain = grain, .lane = lane, .samples = range.count};
    if (trainer->workers != NULL && trainer->mode == SH_MODEL_TRAIN)
        return run_worker(&work, lane, range);
    if (trainer->factors != NULL && trainer->shared && trainer->mode == SH_MODEL_TRAIN) {
        work.execution = sh_lanes_execution(trainer->lanes, lane, SH_MODEL_TRAIN, range.count);
        work.record = sh_factors_open(trainer->factors, grain, range.count);
    }
    return compute_samples(trainer, lane, range, trainer->batch.samples.count, add_gradient, &work);
}

static uint64_t pace_now(const sh_trainer *trainer)
{
    return trainer->pace_clock == NULL ? 0 : sh_clock_now_ns(trainer->pace_clock);
}

static void compute(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    const uint64_t begun = sh_stopwatch_now(trainer->watching), started = pace_now(trainer);
    for (;;) {
        const uint32_t taken = atomic_fetch_add(&trainer->next, 1);
        if (taken >= trainer->todo.total)
            break;
        const sh_status status =
            compute_grain(trainer, lane, sh_grain_list_at(&trainer->todo, taken));
        if (status != SH_OK)
            note_failure(trainer, status);
    }
    atomic_fetch_add(&trainer->lane_busy_ns, pace_now(trainer) - started);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_BUSY, begun);
}

/* Takes a turn's grains into the account of how fast the lanes are. */
static void note_pace(sh_trainer *trainer)
{
    const uint32_t full = sh_schedule_batch(&trainer->schedule, 0).grain;
    uint32_t samples = 0;
    for (uint32_t i = 0; i < trainer->todo.total && trainer->pace_clock != NULL; i++)
        samples += sh_batch_grain(&trainer->batch, sh_grain_list_at(&trainer->todo, i)).count;
    sh_pace_note_grains(&trainer->pace, (double)samples / (double)full,
                        (double)atomic_load(&trainer->lane_busy_ns) * 1e-9);
}

void sh_stage_lane_range(const sh_trainer *trainer, uint32_t lane, size_t total, size_t *first,
                         size_t *end)
{
    const size_t granules = (total + GRANULE - 1) / GRANULE;
    const uint32_t lanes = sh_lanes_count(trainer->lanes);
    *first = granules * lane / lanes * GRANULE;
    *end = granules * (lane + 1) / lanes * GRANULE;
    if (*end > total)
        *end = total;
    if (*first > *end)
        *first = *end;
}

/* Adds what the next grains of other devices make to the total. */
static void multiply(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    for (;;) {
        const uint32_t index = atomic_fetch_add(&trainer->next, 1);
        if (index >= trainer->gathered)
            break;
        const sh_status status = sh_factors_complete(
            trainer->factors, index, trainer->replica->sum,
            sh_lanes_execution(trainer->lanes, lane, SH_MODEL_TRAIN,
                               sh_factors_samples(trainer->factors, &trainer->batch, index)));
        if (status != SH_OK)
            note_failure(trainer, status);
    }
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_SUM, begun);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_BUSY, begun);
}

/* Of what the engine does not add up the total begins as the own part; `multiply` does the rest. */
static void take_own(const sh_trainer *trainer, uint32_t lane)
{
    const sh_sum *sum = trainer->replica->sum;
    const sh_sum_layout *layout = sh_sum_layout_of(sum);
    const unsigned char *own = sh_sum_own(sum).accumulator;
    unsigned char *total = sh_sum_total(sum).accumulator;
    size_t first, end, from, to;
    sh_stage_lane_range(trainer, lane, trainer->replica->summed_count, &first, &end);
    for (uint32_t t = 0; t < trainer->replica->summed; t++) {
        if (!sh_factors_has(trainer->factors, t) ||
            !sh_step_tensor_range(sum, t, first, end, &from, &to))
            continue;
        const size_t start = sh_layout_offset(layout, from);
        memcpy(total + start, own + start, sh_layout_offset(layout, to) - start);
    }
}

/* Adds this lane's part to the check. */
static void check(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    const sh_replica *replica = trainer->replica;
    size_t first, end;
    sh_stage_lane_range(trainer, lane, replica->weight_count, &first, &end);
    uint64_t part = sh_weight_check(replica->weights + first, first, end - first);
    for (uint32_t t = 0; t < replica->summed && lane == 0; t++) {
        const int exponent = sh_sum_exponent(replica->sum, t);
        part += sh_weight_check(&exponent, replica->weight_count + t, 1);
    }
    atomic_fetch_add(&trainer->partial, part);
    if (trainer->gathering)
        take_own(trainer, lane);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_SUM, begun);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_BUSY, begun);
}

/* A lane makes ready to compute with the replica's weights: lane 0 for all, or each for itself. In
 * training a worker does it. */
static sh_status take_weights(sh_trainer *trainer, uint32_t lane)
{
    if (trainer->todo.total == 0)
        return SH_OK;
    if (trainer->workers == NULL)
        return lane == 0 ? prepare(trainer, lane, &trainer->batch) : SH_OK;
    if (trainer->mode == SH_MODEL_TRAIN)
        return SH_OK;
    sh_worker_begin(trainer->workers[lane]);
    return prepare(trainer, lane, &trainer->batch);
}

static void clear(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    if (trainer->mode == SH_MODEL_TRAIN && trainer->held.total == 0) {
        size_t first, end;
        sh_stage_lane_range(trainer, lane, trainer->replica->summed_count, &first, &end);
        sh_sum_clear_range(trainer->replica->sum, first, end - first);
    }
    const uint64_t cleared = sh_stopwatch_lap(trainer->watching, lane, SH_SPAN_SUM, begun);
    const sh_status status = take_weights(trainer, lane);
    if (status != SH_OK)
        note_failure(trainer, status);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_PREPARE, cleared);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_BUSY, begun);
}

void sh_stage_take_turn(sh_trainer *trainer, sh_team_task *task)
{
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    sh_team_run(sh_lanes_team(trainer->lanes), task, trainer);
    sh_stopwatch_since(trainer->watching, &trainer->watching->turns_ns, begun);
}

void sh_stage_aim_spans(sh_trainer *trainer)
{
    uint32_t buckets;
    const sh_sum *sum = trainer->replica->sum;
    const sh_sum_bucket *bucket = sh_sum_buckets(sum, &buckets);
    const sh_sum_block own = sh_sum_own(sum), total = sh_sum_total(sum);
    for (uint32_t i = 0; i < buckets; i++) {
        const bool apart =
            trainer->gathering && sh_factors_has(trainer->factors, bucket[i].first_tensor);
        const size_t without = apart ? sh_sum_elements(sum, bucket[i].first_tensor) : 0;
        const size_t offset =
            sh_layout_offset(sh_sum_layout_of(sum), bucket[i].first_element + without);
        trainer->spans[i] = (sh_span){
            .own = (const unsigned char *)own.accumulator + offset,
            .total = (unsigned char *)total.accumulator + offset,
            .count = bucket[i].elements - without,
            .word = bucket[i].word,
        };
    }
    trainer->span_count = buckets;
    if (trainer->gathering)
        trainer->spans[trainer->span_count++] =
            sh_factors_begin(trainer->factors, &trainer->batch, &trainer->todo);
    trainer->spans[trainer->span_count++] = (sh_span){
        .own = own.trailer, .total = total.trailer, .count = own.words, .word = SH_WORD_U64};
}

/* Decides it, as all devices of the view do. */
static void choose_gathering(sh_trainer *trainer, const sh_part *part)
{
    trainer->gathering = trainer->factors != NULL && trainer->shared && !part->mixed &&
                         trainer->mode == SH_MODEL_TRAIN && part->engine->ops->gathered != NULL;
    if (trainer->factors != NULL)
        sh_stage_aim_spans(trainer);
}

sh_status sh_stage_share_sum(sh_trainer *trainer, const sh_engine *engine)
{
    sh_replica *replica = trainer->replica;
    const bool shared = engine->devices > 1;
    if (shared == trainer->shared)
        return SH_OK;
    if (shared) {
        SH_TRY(sh_sum_share(replica->sum));
        SH_TRY(sh_factors_share(trainer->factors));
    }
    sh_replica_lock(replica);
    sh_sum_set_shared(replica->sum, shared);
    sh_replica_unlock(replica);
    trainer->shared = shared;
    trainer->gathering = false; /* was the last stage's: the next one's is chosen when it begins */
    sh_stage_aim_spans(trainer);
    return SH_OK;
}

/* Makes ready for the grains of `todo`: a sum with what is held, weights prepared. */
static sh_status open_stage(sh_trainer *trainer, const sh_part *part)
{
    const bool training = trainer->mode == SH_MODEL_TRAIN;
    trainer->part = part;
    trainer->failure = SH_OK;
    SH_TRY(sh_stage_share_sum(trainer, part->engine));
    if (trainer->held.total == 0 || !training)
        sh_sum_clear_trailer(trainer->replica->sum);
    if (trainer->factors != NULL && trainer->held.total == 0)
        sh_factors_clear(trainer->factors);
    choose_gathering(trainer, part);
    if (trainer->carried != NULL)
        sh_sum_set_totals(trainer->replica->sum, trainer->carried);
    if (trainer->updates != NULL)
        sh_updates_follow(trainer->updates);
    sh_sum_set_step(trainer->replica->sum, trainer->number);
    atomic_store(&trainer->next, 0);
    atomic_store(&trainer->lane_busy_ns, 0);
    sh_stage_take_turn(trainer, clear);
    return lanes_status(trainer);
}

/* Computes the grains of `todo`. */
static sh_status compute_all(sh_trainer *trainer, const sh_part *part)
{
    const bool training = trainer->mode == SH_MODEL_TRAIN;
    uint32_t buckets;
    const sh_sum_bucket *bucket = sh_sum_buckets(trainer->replica->sum, &buckets);
    if (!training)
        SH_TRY(sh_engine_begin(part->engine, &trainer->spans[trainer->span_count - 1], 1));
    else
        SH_TRY(sh_engine_begin(part->engine, trainer->spans, trainer->span_count));
    /* One more than the grains owe, paid here, so that a device without grains is ready too. */
    for (uint32_t i = 0; i < buckets && training; i++)
        atomic_store(&trainer->left[i], bucket[i].tensors * trainer->todo.total + 1);
    if (trainer->gathering)
        atomic_store(&trainer->left[buckets],
                     sh_factors_count(trainer->factors) * trainer->todo.total + 1);
    for (uint32_t i = 0; i + 1 < trainer->span_count && training; i++)
        owe_nothing_more(trainer, i, 1);
    sh_stage_take_turn(trainer, compute);
    if (training)
        note_pace(trainer);
    const sh_status status = lanes_status(trainer);
    if (status != SH_OK)
        sh_grain_list_clear(&trainer->held); /* who knows what has been added of a grain */
    return status;
}

/* What is compared with the others' replicas: as it is now that it has been computed with. */
static void check_replica(sh_trainer *trainer)
{
    if (!trainer->shared)
        return;
    atomic_store(&trainer->partial, 0);
    sh_stage_take_turn(trainer, check);
    trainer->check = atomic_load(&trainer->partial);
}

/* What this device announces in its own part, where the engine does not ask it later: then 0. */
static uint32_t announced(const sh_part *part, bool later)
{
    uint64_t view = 0;
    if (part->announce != NULL && !later)
        part->announce(part->context, true, &view);
    return (uint32_t)view;
}

/* Makes the totals that the engine only gathers the factors of, as they come. */
static sh_status complete_totals(sh_trainer *trainer, sh_engine *engine)
{
    const size_t room = trainer->gathering ? trainer->spans[trainer->span_count - 2].room : 0;
    uint32_t done = 0;
    for (size_t words = 0; words < room; done = trainer->gathered) {
        const uint64_t begun = sh_stopwatch_now(trainer->watching);
        const sh_status status = engine->ops->gathered(engine, words, &words);
        sh_stopwatch_since(trainer->watching, &trainer->watching->network_ns, begun);
        SH_TRY(status);
        SH_TRY(sh_factors_read(trainer->factors, &trainer->batch, &trainer->held, words,
                               &trainer->gathered));
        atomic_store(&trainer->next, done);
        sh_stage_take_turn(trainer, multiply);
        SH_TRY(lanes_status(trainer));
    }
    return SH_OK;
}

sh_status sh_stage_reduce(sh_trainer *trainer, const sh_part *part)
{
    const bool training = trainer->mode == SH_MODEL_TRAIN;
    const bool later =
        part->announce != NULL &&
        sh_engine_decide(part->engine, &(sh_engine_decider){part->announce, part->context});
    SH_TRY(open_stage(trainer, part));
    SH_TRY(compute_all(trainer, part));
    if (training) {
        trainer->held_at = sh_replica_position(trainer->replica);
        SH_TRY(sh_grain_list_merge(&trainer->held, &trainer->todo));
    }
    check_replica(trainer);
    sh_sum_set_note(trainer->replica->sum, &(sh_sum_note){
                                               .stop = part->stop,
                                               .next_view = announced(part, later),
                                               .check = trainer->shared ? trainer->check : 0,
                                           });
    sh_engine_ready(part->engine, training ? trainer->span_count - 1 : 0);
    SH_TRY(complete_totals(trainer, part->engine));
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    const sh_status status = sh_engine_wait(part->engine);
    sh_stopwatch_since(trainer->watching, &trainer->watching->network_ns, begun);
    return status;
}
