/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step, in turns of the team:
 *
 *     clear    lanes zero the accumulator; lane 0 prepares what depends on the weights alone
 *     compute  each lane takes the next grain of the share until none is left: read, forward,
 *              backward, adding each gradient as it appears. The lane that adds the last
 *              contribution to a bucket tells the engine, so buckets travel while earlier layers
 *              are still in backward
 *              (the engine ends the reduction; the verdict is the same on all devices: apply,
 *              redo, or give up)
 *     measure  where gradients are clipped: lanes add the squares of disjoint ranges, for the norm
 *     apply    lanes update disjoint ranges of the weights
 *
 * A redo repeats the first two with smaller exponents; the weights have not changed, so it
 * repeats the same gradients.
 */
#include "train/trainer.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/random.h"
#include "data/order.h"
#include "data/prefetch.h"
#include "train/norm.h"
#include "train/rate.h"
#include "train/statistic.h"

/* Redos in a row after which something is wrong with the sum itself. */
#define MAX_ATTEMPTS 32
#define APPLY_GRANULE 4096 /* weights: ranges end at multiples of it */

struct sh_trainer {
    sh_job job;
    const sh_pipeline *pipeline;
    sh_prefetch *prefetch; /* of the coming steps' samples */
    sh_replica *replica;
    sh_lanes *lanes;
    sh_schedule schedule;
    sh_rate rate;
    sh_order order; /* of epoch `order_epoch` */
    uint32_t order_epoch;
    sh_trainer_work work;
    sh_stopwatch watch;     /* of the steps; off where nobody wants a profile */
    sh_stopwatch *watching; /* the above, or one that is off while it is no step */
    sh_stopwatch off;

    sh_span spans[SH_ENGINE_MAX_SPANS]; /* the buckets, then the trailer */
    uint32_t span_count;
    bool shared;          /* the spans' totals lie apart from the own parts */
    uint32_t *bucket_of;  /* by place in the sum (train/replica.h), as what else is by tensor */
    atomic_uint *left;    /* by bucket: additions that this device still owes */
    atomic_uint *max_abs; /* by tensor: largest |integer| of the reduced sum */
    sh_squares *squares;  /* by lane and tensor, of the reduced sum; where gradients are clipped */

    /* The turn under way. */
    const sh_part *part;
    sh_model_mode mode;
    sh_batch batch;
    sh_range share;
    float loss_scale; /* gradient of each sample's loss: 1/B */
    double lr;        /* of this step */
    sh_optimizer_step step;
    atomic_uint next; /* grain to take */

    pthread_mutex_t lock; /* guards the two below */
    sh_status failure;    /* the first one of any lane */
    char message[SH_MESSAGE_BYTES];
};

static sh_role role_of(const sh_trainer *trainer, uint32_t place)
{
    const sh_replica *replica = trainer->replica;
    return replica->graph->parameters[replica->tensor_of[place]].role;
}

/* Sets the spans to where own part and total are. */
static void aim_spans(sh_trainer *trainer)
{
    uint32_t buckets;
    const sh_sum *sum = trainer->replica->sum;
    const sh_sum_bucket *bucket = sh_sum_buckets(sum, &buckets);
    const sh_sum_block own = sh_sum_own(sum), total = sh_sum_total(sum);
    for (uint32_t i = 0; i < buckets; i++)
        trainer->spans[i] =
            (sh_span){own.accumulator + bucket[i].first_element,
                      total.accumulator + bucket[i].first_element, bucket[i].elements, SH_WORD_I32};
    trainer->spans[buckets] = (sh_span){own.trailer, total.trailer, own.words, SH_WORD_U64};
}

/* With other devices the total lies apart from the own part. */
static sh_status share_sum(sh_trainer *trainer, const sh_engine *engine)
{
    sh_sum *sum = trainer->replica->sum;
    const bool shared = engine->devices > 1;
    if (shared == trainer->shared)
        return SH_OK;
    if (shared)
        SH_TRY(sh_sum_share(sum));
    sh_sum_set_shared(sum, shared);
    trainer->shared = shared;
    aim_spans(trainer);
    return SH_OK;
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
    trainer->left = calloc(buckets, sizeof *trainer->left);
    trainer->max_abs = calloc(trainer->replica->summed, sizeof *trainer->max_abs);
    if (trainer->bucket_of == NULL || trainer->left == NULL || trainer->max_abs == NULL)
        return sh_fail_memory(trainer->replica->summed * sizeof(uint32_t), "the trainer");
    for (uint32_t i = 0; i < buckets; i++)
        for (uint32_t t = 0; t < bucket[i].tensors; t++)
            trainer->bucket_of[bucket[i].first_tensor + t] = i;
    trainer->span_count = buckets + 1;
    aim_spans(trainer);
    return SH_OK;
}

/* The exact part of what the process holds beside the lanes. */
static sh_footprint held_by(const sh_replica *replica)
{
    const uint64_t summed = replica->summed_count * sizeof(float); /* frozen weights need neither */
    return (sh_footprint){
        .weights = replica->weight_count * sizeof *replica->weights,
        .optimizer = summed * replica->slot_count,
        .sum = summed,
    };
}

/* Every number of samples that a grain of this job can have. */
static sh_status start_lanes(sh_trainer *trainer, const sh_trainer_options *options)
{
    const sh_dataset_info *info = sh_pipeline_about(options->pipeline);
    const uint32_t grain = trainer->job.grain, batch = trainer->job.batch_size;
    const uint32_t train = info->count[SH_SPLIT_TRAIN];
    const uint32_t full = batch < train ? batch : train;
    const sh_problem problem = {info->channels, info->height, info->width, info->classes};
    enum { EVALUATING = 2 }; /* the last ones */
    const sh_lane_size sizes[] = {
        {SH_MODEL_TRAIN, full < grain ? full : grain},
        {SH_MODEL_TRAIN, full % grain},
        {SH_MODEL_TRAIN, train % batch < grain ? train % batch : 0},
        {SH_MODEL_TRAIN, train % batch % grain},
        {SH_MODEL_EVALUATE, grain},
        {SH_MODEL_EVALUATE, info->count[SH_SPLIT_VALIDATION] % grain},
    };
    const size_t count = sizeof sizes / sizeof *sizes, training = count - EVALUATING;
    return sh_lanes_new(&trainer->lanes,
                        &(sh_lanes_options){
                            .model = sh_replica_model(&trainer->job, &problem),
                            .backends = options->backends,
                            .parameters = trainer->replica->parameters,
                            .count = options->lanes,
                            .sizes = options->evaluate_only ? sizes + training : sizes,
                            .size_count = options->evaluate_only ? EVALUATING : count,
                            .clock = options->clock,
                            .memory = options->memory,
                            .held = held_by(trainer->replica),
                        });
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
    fresh->order_epoch = UINT32_MAX;
    pthread_mutex_init(&fresh->lock, NULL);
    fresh->watching = &fresh->off;
    sh_status status = sh_rate_parse(&fresh->rate, fresh->job.schedule, (double)fresh->job.warmup);
    if (status == SH_OK)
        status = sh_stopwatch_init(&fresh->watch, options->clock, options->lanes);
    if (status == SH_OK)
        status = lay_out_spans(fresh);
    if (status == SH_OK)
        status = start_lanes(fresh, options);
    if (status == SH_OK && fresh->job.clip_norm > 0)
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
    pthread_mutex_destroy(&trainer->lock);
    sh_stopwatch_release(&trainer->watch);
    free(trainer->bucket_of);
    free(trainer->left);
    free(trainer->max_abs);
    free(trainer->squares);
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

/* Keeps the first failure and lets the other lanes run out of grains. */
static void note_failure(sh_trainer *trainer, sh_status status)
{
    pthread_mutex_lock(&trainer->lock);
    if (trainer->failure == SH_OK) {
        trainer->failure = status;
        memcpy(trainer->message, sh_message(), strlen(sh_message()) + 1);
    }
    pthread_mutex_unlock(&trainer->lock);
    atomic_store(&trainer->next, trainer->share.count);
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

/* The gradient sink of a lane. */
static void add_gradient(void *context, uint32_t tensor, const float *gradient)
{
    sh_trainer *trainer = context;
    const uint32_t place = trainer->replica->place_of[tensor];
    sh_sum_add(trainer->replica->sum, place, gradient);
    owe_nothing_more(trainer, trainer->bucket_of[place], 1);
}

/* Reads the samples at these positions of the epoch into the execution's inputs. */
static sh_status read_samples(const sh_trainer *trainer, sh_execution *execution, sh_range range)
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

/* What training needs to know of each sample beside itself. */
static void weigh_samples(const sh_trainer *trainer, sh_execution *execution, sh_range range)
{
    float *weights = sh_execution_input(execution, SH_MODEL_LOSS_WEIGHTS);
    uint32_t *keys = sh_execution_input(execution, SH_MODEL_KEYS);
    for (uint32_t i = 0; i < range.count; i++) {
        const uint32_t index = sh_order_at(&trainer->order, range.first + i);
        sh_random random =
            sh_random_for(trainer->job.seed, SH_RANDOM_DROPOUT, trainer->batch.epoch, index);
        weights[i] = trainer->loss_scale;
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

static sh_status compute_grain(sh_trainer *trainer, uint32_t lane, uint32_t grain)
{
    const sh_range range = sh_batch_grain(&trainer->batch, grain);
    sh_execution *execution = sh_lanes_execution(trainer->lanes, lane, trainer->mode, range.count);
    assert(execution != NULL);
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    SH_TRY(read_samples(trainer, execution, range));
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_READ, begun);
    if (trainer->mode == SH_MODEL_TRAIN)
        weigh_samples(trainer, execution, range);
    SH_TRY(sh_execution_run(execution, add_gradient, trainer));
    add_outcome(trainer, execution, range.count);
    return SH_OK;
}

static void compute(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    for (;;) {
        const uint32_t taken = atomic_fetch_add(&trainer->next, 1);
        if (taken >= trainer->share.count)
            break;
        const sh_status status = compute_grain(trainer, lane, trainer->share.first + taken);
        if (status != SH_OK)
            note_failure(trainer, status);
    }
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_BUSY, begun);
}

/* The part of `total` elements that belongs to a lane: [*first, *end). */
static void lane_range(const sh_trainer *trainer, uint32_t lane, size_t total, size_t *first,
                       size_t *end)
{
    const size_t granules = (total + APPLY_GRANULE - 1) / APPLY_GRANULE;
    const uint32_t lanes = sh_lanes_count(trainer->lanes);
    *first = granules * lane / lanes * APPLY_GRANULE;
    *end = granules * (lane + 1) / lanes * APPLY_GRANULE;
    if (*end > total)
        *end = total;
    if (*first > *end)
        *first = *end;
}

/* Lane 0 prepares every program that the turn can need. */
static sh_status prepare(sh_trainer *trainer)
{
    const sh_batch *batch = &trainer->batch;
    const uint32_t counts[] = {sh_batch_grain(batch, 0).count,
                               sh_batch_grain(batch, batch->grains - 1).count};
    for (int i = 0; i < 2; i++)
        if (i == 0 || counts[1] != counts[0])
            SH_TRY(sh_execution_prepare(
                sh_lanes_execution(trainer->lanes, 0, trainer->mode, counts[i])));
    return SH_OK;
}

static void clear(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    if (trainer->mode == SH_MODEL_TRAIN) {
        size_t first, end;
        lane_range(trainer, lane, trainer->replica->summed_count, &first, &end);
        sh_sum_clear_range(trainer->replica->sum, first, end - first);
    }
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_SUM, begun);
    if (lane == 0) {
        const sh_status status = prepare(trainer);
        if (status != SH_OK)
            note_failure(trainer, status);
    }
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_BUSY, begun);
}

/* One turn of the team. */
static void take_turn(sh_trainer *trainer, sh_team_task *task)
{
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    sh_team_run(sh_lanes_team(trainer->lanes), task, trainer);
    sh_stopwatch_since(trainer->watching, &trainer->watching->turns_ns, begun);
}

/*
 * Computes this device's share of `batch` and adds it up with everybody's: the trailer, and in
 * training the buckets before it.
 */
static sh_status reduce_share(sh_trainer *trainer, const sh_part *part)
{
    const uint32_t buckets = trainer->span_count - 1;
    const bool training = trainer->mode == SH_MODEL_TRAIN;
    trainer->part = part;
    trainer->share = sh_range_scale(part->share, part->of, trainer->batch.grains);
    trainer->failure = SH_OK;
    SH_TRY(share_sum(trainer, part->engine));
    sh_sum_clear_trailer(trainer->replica->sum);
    atomic_store(&trainer->next, 0);
    take_turn(trainer, clear);
    SH_TRY(lanes_status(trainer));

    if (training)
        SH_TRY(sh_engine_begin(part->engine, trainer->spans, trainer->span_count));
    else
        SH_TRY(sh_engine_begin(part->engine, &trainer->spans[buckets], 1));
    /* One more than the grains owe, paid here, so that a device without grains is ready too. */
    uint32_t count;
    const sh_sum_bucket *bucket = sh_sum_buckets(trainer->replica->sum, &count);
    for (uint32_t i = 0; i < buckets && training; i++)
        atomic_store(&trainer->left[i], bucket[i].tensors * trainer->share.count + 1);
    for (uint32_t i = 0; i < buckets && training; i++)
        owe_nothing_more(trainer, i, 1);
    take_turn(trainer, compute);
    SH_TRY(lanes_status(trainer));
    sh_sum_set_note(trainer->replica->sum, &(sh_sum_note){.stop = part->stop});
    sh_engine_ready(part->engine, training ? buckets : 0);
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    const sh_status status = sh_engine_wait(part->engine);
    sh_stopwatch_since(trainer->watching, &trainer->watching->network_ns, begun);
    return status;
}

/* Raises the shared maximum of a tensor. */
static void raise_max(atomic_uint *shared, uint32_t value)
{
    unsigned held = atomic_load(shared);
    while (held < value && !atomic_compare_exchange_weak(shared, &held, value))
        ;
}

/* The elements of a tensor within [first, end): [*from, *to), or false. */
static bool tensor_range(const sh_sum *sum, uint32_t tensor, size_t first, size_t end, size_t *from,
                         size_t *to)
{
    const size_t start = sh_sum_first_element(sum, tensor);
    const size_t stop = start + sh_sum_elements(sum, tensor);
    *from = start > first ? start : first;
    *to = stop < end ? stop : end;
    return *from < *to;
}

/* Adds the squares of this lane's range of the gradient, tensor by tensor. */
static void measure(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    sh_sum *sum = trainer->replica->sum;
    const uint32_t tensors = trainer->replica->summed;
    size_t first, end, from, to;
    const int32_t *accumulator = sh_sum_total(sum).accumulator;
    sh_squares *squares = trainer->squares + (size_t)lane * tensors;
    memset(squares, 0, tensors * sizeof *squares);
    lane_range(trainer, lane, trainer->replica->summed_count, &first, &end);
    for (uint32_t t = 0; t < tensors; t++)
        if (role_of(trainer, t) == SH_ROLE_TRAINED && tensor_range(sum, t, first, end, &from, &to))
            sh_squares_add(&squares[t], accumulator + from, to - from);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_APPLY, begun);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_BUSY, begun);
}

/* The factor that brings the gradient within the job's norm. */
static double clip_factor(sh_trainer *trainer)
{
    const uint32_t tensors = trainer->replica->summed, lanes = sh_lanes_count(trainer->lanes);
    double total = 0;
    if (trainer->squares == NULL)
        return 1;
    take_turn(trainer, measure);
    for (uint32_t t = 0; t < tensors; t++) {
        sh_squares squares = {0, 0};
        for (uint32_t lane = 0; lane < lanes; lane++)
            sh_squares_merge(&squares, &trainer->squares[(size_t)lane * tensors + t]);
        total += sh_squares_value(&squares, sh_sum_scale(trainer->replica->sum, t));
    }
    return sh_norm_clip(sqrt(total), (double)trainer->job.clip_norm);
}

/* Updates this lane's range of the weights, tensor by tensor. */
static void apply(void *context, uint32_t lane)
{
    sh_trainer *trainer = context;
    sh_replica *replica = trainer->replica;
    const uint64_t begun = sh_stopwatch_now(trainer->watching);
    size_t first, end, from, to;
    const int32_t *accumulator = sh_sum_total(replica->sum).accumulator;
    lane_range(trainer, lane, replica->summed_count, &first, &end);
    for (uint32_t t = 0; t < replica->summed; t++) {
        const sh_role role = role_of(trainer, t);
        if (!tensor_range(replica->sum, t, first, end, &from, &to))
            continue;
        float *slots[SH_OPTIMIZER_MAX_SLOTS] = {NULL};
        for (uint32_t i = 0; i < replica->slot_count; i++)
            slots[i] = replica->slots[i] + from;
        const float scale = sh_sum_scale(replica->sum, t);
        uint32_t max_abs = 0;
        if (role == SH_ROLE_STATISTIC)
            sh_statistic_follow(replica->weights + from, accumulator + from, scale, to - from,
                                &max_abs);
        else
            sh_optimizer_apply(replica->optimizer, &replica->settings, &trainer->step,
                               replica->weights + from, slots, accumulator + from, scale, to - from,
                               &max_abs);
        raise_max(&trainer->max_abs[t], max_abs);
    }
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_APPLY, begun);
    sh_stopwatch_add(trainer->watching, lane, SH_SPAN_BUSY, begun);
}

static void apply_update(sh_trainer *trainer)
{
    sh_replica *replica = trainer->replica;
    trainer->step = sh_optimizer_step_of(&replica->settings, trainer->lr, clip_factor(trainer),
                                         replica->steps + 1);
    for (uint32_t t = 0; t < replica->summed; t++)
        atomic_store(&trainer->max_abs[t], 0);
    take_turn(trainer, apply);
    for (uint32_t t = 0; t < replica->summed; t++)
        sh_sum_follow(replica->sum, t, atomic_load(&trainer->max_abs[t]));
}

static sh_status fail_not_finite(const sh_trainer *trainer, uint32_t tensor)
{
    return sh_fail(
        SH_NUMERIC,
        "step %llu (epoch %u): %s%s is not a finite number any more; the learning rate "
        "of %g may be too high",
        (unsigned long long)trainer->replica->steps + 1, trainer->batch.epoch + 1,
        tensor == SH_SUM_LOSS ? "the loss" : "the gradient of ",
        tensor == SH_SUM_LOSS
            ? ""
            : sh_replica_tensor_name(trainer->replica, trainer->replica->tensor_of[tensor]),
        trainer->lr);
}

/* Takes the step's samples into the account of its epoch. */
static void count_step(sh_trainer *trainer, const sh_sum_totals *totals)
{
    sh_epoch_totals *epoch = &trainer->replica->epoch;
    if (trainer->batch.step == 0)
        *epoch = (sh_epoch_totals){0};
    epoch->loss += totals->loss;
    epoch->samples += totals->samples;
    epoch->correct += totals->correct;
    trainer->replica->steps++;
    trainer->work.grains += trainer->share.count;
    for (uint32_t i = 0; i < trainer->share.count; i++)
        trainer->work.samples += sh_batch_grain(&trainer->batch, trainer->share.first + i).count;
}

static void begin_batch(sh_trainer *trainer)
{
    trainer->mode = SH_MODEL_TRAIN;
    trainer->batch = sh_schedule_batch(&trainer->schedule, trainer->replica->steps);
    trainer->loss_scale = 1.0f / (float)trainer->batch.samples.count;
    trainer->lr = sh_rate_at(&trainer->rate, (double)trainer->job.lr, &trainer->schedule,
                             trainer->replica->steps);
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

static sh_status step(sh_trainer *trainer, const sh_part *part, sh_step_result *result)
{
    sh_sum *sum = trainer->replica->sum;
    uint32_t redone = 0;
    begin_batch(trainer);
    want_step(trainer, part, trainer->replica->steps + 1);
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        uint32_t tensor;
        SH_TRY(reduce_share(trainer, part));
        switch (sh_sum_verdict(sum, &tensor)) {
        case SH_VERDICT_NOT_FINITE:
            return fail_not_finite(trainer, tensor);
        case SH_VERDICT_REDO:
            if (sh_sum_calibrating(sum))
                continue;
            redone++;
            sh_log(SH_LOG_INFO, "step.redone",
                   "step=%llu reason=\"a gradient outgrew its exponent\"",
                   (unsigned long long)trainer->replica->steps + 1);
            continue;
        case SH_VERDICT_APPLY:
            apply_update(trainer);
            *result = (sh_step_result){sh_sum_read_totals(sum), redone};
            count_step(trainer, &result->totals);
            return SH_OK;
        }
    }
    return sh_fail(SH_INTERNAL, "step %llu: no exponents hold its gradients after %d attempts",
                   (unsigned long long)trainer->replica->steps + 1, MAX_ATTEMPTS);
}

sh_status sh_trainer_step(sh_trainer *trainer, const sh_part *part, sh_step_result *result)
{
    sh_stopwatch *watch = &trainer->watch;
    const uint64_t begun = sh_stopwatch_now(watch);
    trainer->watching = watch;
    const sh_status status = step(trainer, part, result);
    trainer->watching = &trainer->off;
    sh_stopwatch_since(watch, &watch->steps_ns, begun);
    watch->steps += status == SH_OK;
    return status;
}

sh_status sh_trainer_profile(const sh_trainer *trainer, sh_profile *profile, sh_profile_level level)
{
    sh_profile fresh = {0};
    if (trainer->watch.clock == NULL)
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

sh_status sh_trainer_evaluate(sh_trainer *trainer, const sh_part *part, sh_sum_totals *totals)
{
    const sh_dataset_info *info = sh_pipeline_about(trainer->pipeline);
    trainer->mode = SH_MODEL_EVALUATE;
    trainer->batch = sh_batch_of_all(info->count[SH_SPLIT_VALIDATION], trainer->job.grain);
    want_share(trainer, part, &trainer->batch, SH_SPLIT_VALIDATION, NULL);
    SH_TRY(reduce_share(trainer, part));
    want_step(trainer, part, trainer->replica->steps); /* this has replaced what was left of it */
    *totals = sh_sum_read_totals(trainer->replica->sum);
    return SH_OK;
}

typedef struct family_probe {
    const sh_trainer *trainer;
    sh_digest *digest;
} family_probe;

static void add_to_family(void *context, uint32_t tensor, const float *gradient)
{
    const family_probe *probe = context;
    const sh_type *type = sh_replica_tensor_type(probe->trainer->replica, tensor);
    sh_digest_add(probe->digest, gradient, sh_type_bytes(type));
}

/* The job's first grain with the job's first weights, which stand in for the replica's meanwhile.
 */
static sh_status hash_first_grain(sh_trainer *trainer, sh_digest *digest)
{
    family_probe probe = {trainer, digest};
    const uint64_t steps = trainer->replica->steps;
    trainer->replica->steps = 0;
    begin_batch(trainer);
    trainer->replica->steps = steps;
    const sh_range range = sh_batch_grain(&trainer->batch, 0);
    sh_execution *execution = sh_lanes_execution(trainer->lanes, 0, SH_MODEL_TRAIN, range.count);
    SH_TRY(sh_execution_prepare(execution));
    SH_TRY(read_samples(trainer, execution, range));
    weigh_samples(trainer, execution, range);
    return sh_execution_run(execution, add_to_family, &probe);
}

sh_status sh_trainer_family(sh_trainer *trainer, char hex[SH_DIGEST_TEXT])
{
    sh_replica *replica = trainer->replica;
    const size_t bytes = replica->weight_count * sizeof *replica->weights;
    float *held = malloc(bytes);
    sh_digest *digest = NULL;
    if (held == NULL)
        return sh_fail_memory(bytes, "measuring the arithmetic family");
    memcpy(held, replica->weights, bytes);
    sh_replica_initialise(replica, trainer->job.seed);
    sh_status status = sh_digest_new(&digest);
    if (status == SH_OK) {
        const sh_status computed = hash_first_grain(trainer, digest);
        status = sh_digest_finish(digest, hex);
        if (computed != SH_OK)
            status = computed;
    }
    memcpy(replica->weights, held, bytes);
    free(held);
    return status;
}
