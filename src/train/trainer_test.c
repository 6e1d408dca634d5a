/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weights do not depend on the division of the work. Devices are threads, each with its own
 * replica and trainer. Their engine adds up spans in memory.
 */
#include "train/failed_stage.h"
#include "train/trainer.h"

#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/test.h"
#include "data/dataset_impl.h"
#include "data/order.h"
#include "train/step.h"
#include "train/watched_fixture.h"

#define MAX_DEVICES 8

typedef struct meeting {
    pthread_mutex_t lock;
    pthread_cond_t turn;
    uint32_t devices, arrived, generation;
    const sh_span *spans[MAX_DEVICES];
    uint32_t span_count;
    uint32_t gathered;
    bool rounds; /* round sums, like sums of floats */
} meeting;

typedef enum fault { FAULT_NONE, FAULT_WEIGHT, FAULT_FROZEN, FAULT_EXPONENT } fault;

typedef struct meeting_engine {
    sh_engine engine;
    meeting *at;
    uint32_t device;
    const sh_span *spans;
    uint32_t span_count;
    uint32_t ready; /* guarded by the meeting's lock */
    bool met;
    fault fault;
    sh_replica *replica;
} meeting_engine;

static void change(sh_replica *replica, fault kind, bool undo)
{
    uint32_t *weights = (uint32_t *)(void *)replica->weights;
    float envelopes[8];
    int32_t exponents[8];
    if (kind == FAULT_WEIGHT)
        weights[replica->summed_count / 2] ^= 1;
    if (kind == FAULT_FROZEN)
        weights[replica->weight_count - 1] ^= (uint32_t)1 << 31;
    if (kind != FAULT_EXPONENT)
        return;
    assert_true(replica->summed <= 8);
    sh_sum_state_get(replica->sum, envelopes, exponents);
    exponents[1] += undo ? 1 : -1;
    assert_ok(sh_sum_state_set(replica->sum, envelopes, exponents));
}

static sh_status begin(sh_engine *engine, const sh_span *spans, uint32_t count)
{
    meeting_engine *self = (meeting_engine *)engine;
    self->spans = spans;
    self->span_count = count;
    self->ready = 0;
    self->met = false;
    change(self->replica, self->fault, false);
    self->fault = FAULT_NONE;
    return SH_OK;
}

static void ready(sh_engine *engine, uint32_t span)
{
    meeting_engine *self = (meeting_engine *)engine;
    pthread_mutex_lock(&self->at->lock);
    assert_true(span < self->span_count);
    self->ready++;
    pthread_mutex_unlock(&self->at->lock);
}

static void add_span(const meeting *at, uint32_t span)
{
    const sh_span *first = &at->spans[0][span];
    const size_t bytes = sh_words_bytes(first->word);
    for (size_t i = 0; i < first->count; i++) {
        uint64_t sum = 0;
        for (uint32_t d = 0; d < at->devices; d++) {
            uint64_t word = 0;
            memcpy(&word, (const unsigned char *)at->spans[d][span].own + i * bytes, bytes);
            sum = htole64(le64toh(sum) + le64toh(word));
            if (at->rounds && bytes == 4)
                sum &= htole64(~UINT64_C(0xfff));
        }
        for (uint32_t d = 0; d < at->devices; d++)
            memcpy((unsigned char *)at->spans[d][span].total + i * bytes, &sum, bytes);
    }
}

static void gather_span(meeting *at, uint32_t span)
{
    at->gathered++;
    for (uint32_t d = 0; d < at->devices; d++) {
        const sh_span *to = &at->spans[d][span];
        uint32_t *total = to->total;
        for (uint32_t other = at->devices; other-- > 0;) {
            const sh_span *from = &at->spans[other][span];
            if (other == d)
                continue;
            memcpy(total, from->own, from->count * sizeof *total);
            total += from->count;
        }
        assert_int_equal(total - (uint32_t *)to->total, to->room);
    }
}

static sh_status meet(sh_engine *engine)
{
    meeting_engine *self = (meeting_engine *)engine;
    meeting *at = self->at;
    pthread_mutex_lock(&at->lock);
    assert_int_equal(self->ready, self->span_count);
    at->spans[self->device] = self->spans;
    const uint32_t generation = at->generation;
    if (++at->arrived == at->devices) {
        for (uint32_t span = 0; span < self->span_count; span++)
            at->spans[0][span].gathered ? gather_span(at, span) : add_span(at, span);
        at->arrived = 0;
        at->generation++;
        pthread_cond_broadcast(&at->turn);
    }
    while (at->generation == generation)
        pthread_cond_wait(&at->turn, &at->lock);
    pthread_mutex_unlock(&at->lock);
    return SH_OK;
}

static const sh_engine_ops meeting_ops = {
    .name = "meeting", .begin = begin, .ready = ready, .wait = meet};
/* Reduces all spans at once; nothing is left for the wait. */
static sh_status gathered(sh_engine *engine, size_t have, size_t *words)
{
    meeting_engine *self = (meeting_engine *)engine;
    assert_int_equal(have, 0);
    SH_TRY(meet(engine));
    self->met = true;
    *words = self->spans[self->span_count - 2].room;
    return SH_OK;
}

static sh_status meet_once(sh_engine *engine)
{
    return ((meeting_engine *)engine)->met ? SH_OK : meet(engine);
}

static const sh_engine_ops gathering_ops = {
    .name = "meeting", .begin = begin, .ready = ready, .gathered = gathered, .wait = meet_once};

typedef struct experiment {
    sh_job job;
    uint32_t devices, lanes;
    uint64_t steps;
    bool gathers;
    meeting at;
    char hash[MAX_DEVICES][SH_DIGEST_TEXT];
    uint32_t redone;
    sh_sum_totals last_step, validation;
    sh_status status;
    char message[SH_MESSAGE_BYTES];
    fault fault; /* on device 1, in step 3 and in a validation */
    uint64_t check[MAX_DEVICES];
    sh_failed_stage after[MAX_DEVICES];
    const sh_clock *pace;
} experiment;

typedef struct device {
    experiment *of;
    uint32_t index;
    pthread_t thread;
} device;

static sh_status train(experiment *e, uint32_t index, sh_replica *replica, sh_trainer *trainer)
{
    meeting_engine engine = {.engine = {e->gathers ? &gathering_ops : &meeting_ops, e->devices},
                             .at = &e->at,
                             .device = index,
                             .replica = replica};
    const uint32_t grains = sh_job_grains(&e->job);
    const uint32_t first = grains * index / e->devices;
    sh_part part = {.share = {first, grains * (index + 1) / e->devices - first},
                    .of = grains,
                    .engine = e->devices == 1 ? sh_engine_solo() : &engine.engine};
    sh_ranges work;
    while (replica->steps < e->steps) {
        sh_step_result result;
        const bool now = e->fault != FAULT_NONE && replica->steps == 2 && part.work == NULL;
        if (now && index == 1)
            engine.fault = e->fault;
        const sh_status status = sh_trainer_step(trainer, &part, &result);
        part.work = NULL;
        if (now) { /* device 1 is repaired and computes again; the others hold theirs */
            assert_int_equal(status, SH_DIVERGED);
            assert_true(sh_position_same(sh_replica_position(replica), (sh_position){2, 1}));
            const sh_failed_stage after = sh_trainer_failed_stage(trainer);
            e->check[index] = trainer->stage.check;
            assert_true(after.own_check == trainer->stage.check);
            assert_true(after.own_check == sh_replica_check(replica));
            assert_true(after.total != e->devices * after.own_check && !after.not_finite);
            const sh_ranges share = {1, {part.share}}, nothing = {0};
            work = index == 1 ? share : nothing;
            part.work = &work;
            if (index == 1) {
                change(replica, e->fault, true);
                sh_trainer_forget(trainer);
            }
            continue;
        }
        if (status != SH_OK)
            e->after[index] = sh_trainer_failed_stage(trainer);
        SH_TRY(status);
        if (index == 0) {
            e->redone += result.redone;
            e->last_step = result.totals;
        }
    }
    sh_sum_totals validation;
    if (e->fault != FAULT_NONE) {
        engine.fault = index == 1 ? e->fault : FAULT_NONE;
        assert_int_equal(sh_trainer_evaluate(trainer, &part, &validation), SH_DIVERGED);
        change(replica, index == 1 ? e->fault : FAULT_NONE, true);
    }
    SH_TRY(sh_trainer_evaluate(trainer, &part, &validation));
    if (index == 0)
        e->validation = validation;
    return sh_replica_hash(replica, e->hash[index]);
}

static void *device_main(void *argument)
{
    const device *self = argument;
    experiment *e = self->of;
    sh_pipeline *pipeline;
    sh_replica *replica;
    sh_trainer *trainer;
    const sh_kernels *kernels;
    const sh_problem problem = {1, 28, 28, 10, SH_TARGET_CLASS};
    assert_ok(sh_pipeline_open(&pipeline, e->job.data, &(sh_pipeline_options){.resize = 0}));
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_replica_new(&replica, &e->job, &problem));
    assert_ok(sh_trainer_new(&trainer, &(sh_trainer_options){.job = &e->job,
                                                             .pipeline = pipeline,
                                                             .kernels = kernels,
                                                             .replica = replica,
                                                             .lanes = e->lanes}));
    const sh_status status = train(e, self->index, replica, trainer);
    if (self->index == 0) {
        e->status = status;
        snprintf(e->message, sizeof e->message, "%s", sh_message());
    }
    sh_trainer_free(trainer);
    sh_replica_free(replica);
    sh_pipeline_close(pipeline);
    return NULL;
}

static void run(experiment *e)
{
    device devices[MAX_DEVICES];
    assert_ok(sh_job_complete(&e->job));
    e->at = (meeting){.lock = PTHREAD_MUTEX_INITIALIZER,
                      .turn = PTHREAD_COND_INITIALIZER,
                      .devices = e->devices,
                      .rounds = e->at.rounds};
    for (uint32_t i = 0; i < e->devices; i++) {
        devices[i] = (device){.of = e, .index = i};
        pthread_create(&devices[i].thread, NULL, device_main, &devices[i]);
    }
    for (uint32_t i = 0; i < e->devices; i++)
        pthread_join(devices[i].thread, NULL);
}

static experiment small(const char *model, uint32_t devices, uint32_t lanes)
{
    experiment e = {.devices = devices, .lanes = lanes, .steps = 5};
    sh_job_init(&e.job);
    snprintf(e.job.model, sizeof e.job.model, "%s", model);
    snprintf(e.job.data, sizeof e.job.data, "digits:100/50");
    e.job.batch_size = 30; /* 100 samples: steps of 30, 30, 30 and 10 */
    e.job.grain = 4;       /* grains of 4 and 2 */
    e.job.lr = 0.05f;
    return e;
}

static void weights_do_not_depend_on_who_computes(void **state)
{
    (void)state;
    static const char *const models[] = {"lenet", "mlp:784-32-10"};
    static const uint32_t cuts[][2] = {{1, 2}, {2, 1}, {3, 1}, {3, 2}, {5, 1}, {8, 1}};
    for (size_t m = 0; m < 2; m++) {
        experiment alone = small(models[m], 1, 1);
        run(&alone);
        assert_int_equal(alone.status, SH_OK);
        for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
            experiment together = small(models[m], cuts[i][0], cuts[i][1]);
            run(&together);
            for (uint32_t d = 0; d < together.devices; d++)
                assert_string_equal(together.hash[d], alone.hash[0]);
            assert_true(together.validation.loss == alone.validation.loss);
            assert_int_equal(together.validation.score, alone.validation.score);
            assert_int_equal(together.validation.samples, 50);
        }
    }
}

/* Factors of dense layers (train/factors.h). */
static void factors_make_the_same_sums(void **state)
{
    (void)state;
    static const uint32_t wires[] = {32, 16, 8}, cuts[][2] = {{2, 1}, {3, 2}, {8, 1}};
    for (size_t w = 0; w < 3; w++) {
        experiment alone = small("mlp:784-90-800-10", 1, 1);
        alone.job.wire = wires[w];
        alone.job.clip_norm = 0.5f;
        run(&alone);
        for (size_t i = 0; i < 3; i++) {
            experiment together = alone;
            together.devices = cuts[i][0];
            together.lanes = cuts[i][1];
            together.redone = 0;
            together.gathers = true;
            run(&together);
            assert_int_equal(together.status, SH_OK);
            assert_string_equal(together.hash[together.devices - 1], alone.hash[0]);
            assert_int_equal(together.redone, alone.redone);
            assert_true(together.at.gathered >= together.steps + together.redone);
        }
    }
}

/* With rates that depend on the step, clipping and random rounding. */
static void nor_do_they_with_any_optimizer_or_wire(void **state)
{
    (void)state;
    static const struct {
        const char *optimizer, *schedule;
        float lr, warmup, clip_norm;
        uint32_t nesterov, wire;
    } ways[] = {
        {"adam", "one-cycle:0.5", 0.01f, 0, 0.5f, 0, 32},
        {"adamw", "cosine", 0.01f, 0.5f, 0, 0, 32},
        {"rmsprop", "exponential:0.9", 0.001f, 0, 2, 0, 32},
        {"sgd", "step:1", 0.05f, 1.25f, 0.1f, 1, 32},
        {"sgd", "step:1", 0.05f, 1.25f, 0.1f, 1, 16},
        {"sgd", "step:1", 0.05f, 1.25f, 0.1f, 1, 8},
    };
    static const uint32_t cuts[][2] = {{1, 3}, {2, 1}, {3, 2}};
    char hashes[6][SH_DIGEST_TEXT];
    for (size_t w = 0; w < 6; w++) {
        for (size_t i = 0; i <= sizeof cuts / sizeof *cuts; i++) {
            experiment e =
                small("mlp:784-32-10", i == 0 ? 1 : cuts[i - 1][0], i == 0 ? 1 : cuts[i - 1][1]);
            snprintf(e.job.optimizer, sizeof e.job.optimizer, "%s", ways[w].optimizer);
            snprintf(e.job.schedule, sizeof e.job.schedule, "%s", ways[w].schedule);
            e.job.lr = ways[w].lr;
            e.job.warmup = ways[w].warmup;
            e.job.clip_norm = ways[w].clip_norm;
            e.job.nesterov = ways[w].nesterov;
            e.job.wire = ways[w].wire;
            e.job.weight_decay = 0.01f;
            run(&e);
            assert_int_equal(e.status, SH_OK);
            if (i == 0)
                snprintf(hashes[w], sizeof hashes[w], "%s", e.hash[0]);
            for (uint32_t d = 0; d < e.devices; d++)
                assert_string_equal(e.hash[d], hashes[w]);
        }
        for (size_t other = 0; other < w; other++)
            assert_string_not_equal(hashes[w], hashes[other]);
    }
}

static void clipping_begins_at_its_norm(void **state)
{
    (void)state;
    static const float norms[] = {0, 1e6f, 0.05f};
    char hashes[3][SH_DIGEST_TEXT];
    for (size_t i = 0; i < 3; i++) {
        experiment e = small("mlp:784-32-10", 1, 2);
        e.job.clip_norm = norms[i];
        run(&e);
        snprintf(hashes[i], sizeof hashes[i], "%s", e.hash[0]);
    }
    assert_string_equal(hashes[0], hashes[1]);
    assert_string_not_equal(hashes[0], hashes[2]);
}

static void a_few_samples_are_learnt_by_heart(void **state)
{
    (void)state;
    experiment e = small("lenet", 1, 2);
    snprintf(e.job.data, sizeof e.job.data, "digits:30/50");
    e.job.grain = 15;
    e.job.lr = 0.02f;
    e.steps = 60;
    run(&e);
    assert_int_equal(e.last_step.samples, 30);
    assert_int_equal(e.last_step.score, 30);
    assert_true(e.last_step.loss / 30 < 0.1);
}

static void another_seed_gives_other_weights(void **state)
{
    (void)state;
    experiment a = small("mlp:784-32-10", 1, 1), b = small("mlp:784-32-10", 1, 1);
    b.job.seed = 2;
    run(&a);
    run(&b);
    assert_string_not_equal(a.hash[0], b.hash[0]);
}

static void a_rounded_sum_would_be_seen(void **state)
{
    (void)state;
    experiment a = small("mlp:784-32-10", 1, 1), b = small("mlp:784-32-10", 3, 1);
    b.at.rounds = true;
    run(&a);
    run(&b);
    assert_string_not_equal(a.hash[0], b.hash[0]);
}

static void replicas_that_differ_are_found(void **state)
{
    (void)state;
    static const fault faults[] = {FAULT_WEIGHT, FAULT_FROZEN, FAULT_EXPONENT};
    experiment alone = small("mlp:784-32-10", 1, 1);
    snprintf(alone.job.freeze, sizeof alone.job.freeze, "fc1.bias");
    run(&alone);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        experiment e = small("mlp:784-32-10", 3, 1 + (uint32_t)f);
        snprintf(e.job.freeze, sizeof e.job.freeze, "fc1.bias");
        e.fault = faults[f];
        run(&e);
        assert_int_equal(e.status, SH_OK);
        assert_true(e.check[0] == e.check[2] && e.check[0] != e.check[1]);
        for (uint32_t d = 0; d < e.devices; d++)
            assert_string_equal(e.hash[d], alone.hash[0]);
    }
}

/* The learning rate makes gradients grow a thousandfold per step. */
static void overflow_redoes_the_step_to_the_same_bits(void **state)
{
    (void)state;
    experiment a = small("mlp:784-32-10", 1, 1), b = small("mlp:784-32-10", 3, 2);
    a.job.lr = b.job.lr = 3000.0f;
    a.steps = b.steps = 4;
    run(&a);
    run(&b);
    assert_int_equal(a.status, SH_OK);
    assert_true(a.redone > 0);
    assert_int_equal(a.redone, b.redone);
    assert_string_equal(a.hash[0], b.hash[0]);
}

static void not_a_number_names_step_and_tensor(void **state)
{
    (void)state;
    experiment e = small("mlp:784-32-10", 2, 1);
    e.job.lr = 1e30f;
    run(&e);
    assert_int_equal(e.status, SH_NUMERIC);
    for (uint32_t i = 0; i < 2; i++)
        assert_true(e.after[i].not_finite && e.after[i].own_not_finite);
    assert_non_null(strstr(e.message, "step "));
    assert_non_null(strstr(e.message, "fc"));
    assert_non_null(strstr(e.message, "learning rate of 1e+30"));
    experiment warm = small("mlp:784-32-10", 1, 1); /* the step's rate counts, not the option's */
    warm.job.lr = 1e30f;
    warm.job.warmup = 2; /* epochs of 4 steps */
    run(&warm);
    assert_int_equal(warm.status, SH_NUMERIC);
    assert_non_null(strstr(warm.message, "step 2 "));
    assert_non_null(strstr(warm.message, "learning rate of 2.5e+29"));
}

/* Records the number of computed samples when each span becomes ready. */
typedef struct watching_engine {
    sh_engine engine;
    const sh_sum *sum;
    uint32_t order[8], count;
    uint64_t samples_done[8];
} watching_engine;

static sh_status watch_begin(sh_engine *engine, const sh_span *spans, uint32_t count)
{
    (void)spans;
    (void)count;
    ((watching_engine *)engine)->count = 0;
    return SH_OK;
}

static void watch_ready(sh_engine *engine, uint32_t span)
{
    watching_engine *self = (watching_engine *)engine;
    assert_true(self->count < 8);
    self->order[self->count] = span;
    self->samples_done[self->count++] = sh_sum_read_totals(self->sum).samples;
}

static sh_status watch_wait(sh_engine *engine)
{
    (void)engine;
    return SH_OK;
}

typedef struct workshop {
    sh_pipeline *pipeline;
    sh_replica *replica;
    sh_trainer *trainer;
    watching_engine engine;
} workshop;

static void workshop_open(workshop *shop, experiment *e, uint32_t lanes)
{
    static const sh_engine_ops ops = {
        .name = "watching", .begin = watch_begin, .ready = watch_ready, .wait = watch_wait};
    const sh_kernels *kernels;
    assert_ok(sh_job_complete(&e->job));
    assert_ok(sh_pipeline_open(&shop->pipeline, e->job.data, &(sh_pipeline_options){.resize = 0}));
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(
        sh_replica_new(&shop->replica, &e->job, &(sh_problem){1, 28, 28, 10, SH_TARGET_CLASS}));
    assert_ok(sh_trainer_new(&shop->trainer, &(sh_trainer_options){.job = &e->job,
                                                                   .pipeline = shop->pipeline,
                                                                   .kernels = kernels,
                                                                   .replica = shop->replica,
                                                                   .lanes = lanes,
                                                                   .pace = e->pace}));
    shop->engine = (watching_engine){.engine = {&ops, 1}, .sum = shop->replica->sum};
}

static void workshop_close(workshop *shop)
{
    sh_trainer_free(shop->trainer);
    sh_replica_free(shop->replica);
    sh_pipeline_close(shop->pipeline);
}

static sh_status lose_wait(sh_engine *engine)
{
    (void)engine;
    return sh_fail(SH_PEER_LOST, "gone");
}

static void work_is_checked_against_what_is_held(void **state)
{
    (void)state;
    static const sh_engine_ops ops = {
        .name = "losing", .begin = watch_begin, .ready = watch_ready, .wait = lose_wait};
    static const struct {
        sh_ranges work;
        const char *message;
    } refused[] = {{{1, {{2, 1}}}, "already held"},
                   {{1, {{0, 8}}}, "already held"},
                   {{1, {{7, 2}}}, "has 8 grains"}};
    experiment e = small("mlp:784-32-10", 1, 1);
    workshop shop;
    sh_step_result result;
    workshop_open(&shop, &e, 1);
    sh_trainer *trainer = shop.trainer;
    const sh_part part = {.share = {0, 8}, .of = 8, .engine = sh_engine_solo()};
    assert_ok(sh_trainer_step(trainer, &part, &result));
    sh_part work = part, lost = {.share = {1, 3}, .of = 8, .engine = &shop.engine.engine};
    shop.engine.engine.ops = &ops;
    assert_fails(sh_trainer_step(trainer, &lost, &result), SH_PEER_LOST, "gone");
    const sh_ranges *held = sh_trainer_held(trainer);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        work.work = &refused[i].work;
        assert_fails(sh_trainer_step(trainer, &work, &result), SH_INVALID, refused[i].message);
        assert_int_equal(sh_ranges_total(held), 3);
    }
    work.work = &(sh_ranges){2, {{0, 1}, {4, 4}}};
    assert_ok(sh_trainer_step(trainer, &work, &result));
    assert_int_equal(result.totals.samples, 30);
    assert_int_equal(sh_ranges_total(held), 0);
    assert_int_equal(sh_trainer_work_done(trainer).grains, 16);
    assert_fails(sh_trainer_step(trainer, &lost, &result), SH_PEER_LOST, "gone");
    assert_int_equal(sh_ranges_total(held), 3);
    shop.replica->phase++; /* held grains are of another position, as after a transfer */
    work.work = &(sh_ranges){1, {{0, 8}}};
    assert_ok(sh_trainer_step(trainer, &work, &result));
    assert_int_equal(result.totals.samples, 30);
    assert_fails(sh_trainer_step(trainer, &lost, &result), SH_PEER_LOST, "gone");
    sh_trainer_forget(trainer);
    assert_ok(sh_trainer_step(trainer, &part, &result)); /* computes the whole share */
    assert_int_equal(result.totals.samples, 10);         /* the last step of the epoch */
    workshop_close(&shop);
}

static uint64_t tick(void *context)
{
    atomic_ullong *now_ns = context;
    return atomic_fetch_add(now_ns, 1000000);
}

static void the_pace_is_that_of_its_grains(void **state)
{
    (void)state;
    atomic_ullong now_ns = 0;
    const sh_clock clock = {tick, &now_ns};
    experiment e = small("mlp:784-32-10", 1, 1);
    workshop shop;
    sh_step_result result;
    e.pace = &clock;
    workshop_open(&shop, &e, 1);
    const sh_part part = {.share = {0, 8}, .of = 8, .engine = sh_engine_solo()};
    sh_trainer_interrupt(shop.trainer, true); /* without grains */
    for (int i = 0; i < 8; i++)
        assert_fails(sh_trainer_step(shop.trainer, &part, &result), SH_ABORTED, "interrupted");
    sh_trainer_interrupt(shop.trainer, false);
    assert_true(sh_trainer_speed(shop.trainer).rate == 0);
    for (int i = 0; i < 8; i++)
        assert_ok(sh_trainer_step(shop.trainer, &part, &result));
    /* 7 1/2 full grains take 1 ms between two readings, and a step takes 3 ms */
    const sh_speed speed = sh_trainer_speed(shop.trainer);
    assert_true(speed.rate > 7499 && speed.rate < 7501);
    assert_true(speed.step_s > 0.0029f && speed.step_s < 0.0031f);
    workshop_close(&shop);
}

static void buckets_are_ready_before_the_grain_ends(void **state)
{
    (void)state;
    experiment e = small("lenet", 1, 1);
    workshop shop;
    sh_step_result result;
    workshop_open(&shop, &e, 1);
    sh_trainer *trainer = shop.trainer;
    watching_engine *engine = &shop.engine;
    const sh_part part = {.share = {0, 8}, .of = 8, .engine = &engine->engine};
    assert_ok(sh_trainer_step(trainer, &part, &result));
    assert_true(engine->count >= 3);
    for (uint32_t i = 0; i < engine->count; i++)
        assert_int_equal(engine->order[i], i);
    for (uint32_t i = 0; i + 1 < engine->count; i++)
        assert_int_equal(engine->samples_done[i], 28); /* the last grain is not complete */
    assert_int_equal(engine->samples_done[engine->count - 1], 30);
    workshop_close(&shop);
}

/* Weight decay does not change them, and they are not part of the sum. */
static void frozen_weights_stay(void **state)
{
    (void)state;
    experiment e = small("mlp:784-32-10", 1, 2);
    workshop shop;
    snprintf(e.job.freeze, sizeof e.job.freeze, "fc1*");
    e.job.weight_decay = 0.1f;
    e.job.clip_norm = 1e-3f;
    workshop_open(&shop, &e, 2);
    sh_trainer *trainer = shop.trainer;
    const sh_replica *replica = shop.replica;
    watching_engine *engine = &shop.engine;
    const sh_part part = {.share = {0, 8}, .of = 8, .engine = &engine->engine};
    const size_t bytes = replica->weight_count * sizeof *replica->weights;
    const size_t trained = 32 * 10 + 10; /* fc2 */
    assert_int_equal(sh_sum_own(replica->sum).elements, trained);
    const sh_footprint *held = sh_trainer_footprint(trainer);
    assert_int_equal(held->weights, bytes);
    assert_int_equal(held->sum, trained * 4);
    assert_int_equal(held->optimizer, trained * 4 * replica->slot_count);
    float *before = malloc(bytes);
    assert_non_null(before);
    memcpy(before, replica->weights, bytes);
    for (int i = 0; i < 2; i++) {
        sh_step_result result;
        assert_ok(sh_trainer_step(trainer, &part, &result));
        assert_int_equal(engine->count, sh_sum_layout_of(replica->sum)->bucket_count + 1);
    }
    for (size_t i = 0; i < trained; i++)
        assert_true(replica->weights[i] != before[i]);
    assert_ptr_equal(replica->parameters[0], replica->weights + trained); /* fc1.weight */
    assert_memory_equal(replica->parameters[0], before + trained, bytes - trained * sizeof *before);
    free(before);
    workshop_close(&shop);
}

static void the_first_grain_is_the_same_on_all_devices(void **state)
{
    (void)state;
    char hash[4][SH_DIGEST_TEXT];
    for (uint32_t i = 0; i < 4; i++) {
        experiment e = small("lenet", 1, 2);
        workshop shop;
        if (i >= 2) {
            snprintf(e.job.strategy, sizeof e.job.strategy, "local:2");
            e.job.workers = 5;
        }
        workshop_open(&shop, &e, 1 + i % 2);
        /* The hash must not depend on the present weights. */
        shop.replica->weights[0] += 1 + (float)i;
        const float held = shop.replica->weights[0];
        assert_ok(sh_trainer_first_grain(shop.trainer, hash[i]));
        assert_true(shop.replica->weights[0] == held);
        char again[SH_DIGEST_TEXT];
        sh_trainer_interrupt(shop.trainer, true); /* so it cannot be computed */
        assert_ok(sh_trainer_first_grain(shop.trainer, again));
        assert_string_equal(again, hash[i]);
        workshop_close(&shop);
    }
    assert_string_equal(hash[0], hash[1]);
    assert_string_equal(hash[2], hash[3]);
}

static void samples_are_brought_before_their_step(void **state)
{
    (void)state;
    static const sh_dataset_ops ops = {
        .read = watched_read, .touch = watched_touch, .close = watched_close};
    experiment e = small("mlp:64-10", 1, 1);
    e.job.grain = 7;
    e.job.batch_size = 20; /* of 50 samples: the last step of an epoch is short */
    e.job.epochs = 2;
    e.job.steps = 0;
    assert_ok(sh_job_complete(&e.job));
    watched_set set = {.base = {.ops = &ops,
                                .info = {.name = "watched",
                                         .channels = 1,
                                         .height = 8,
                                         .width = 8,
                                         .outputs = 10,
                                         .count = {WATCHED, WATCHED},
                                         .deviation = {1}}},
                       .schedule = sh_schedule_of(&e.job, WATCHED),
                       .seed = e.job.seed};
    watch_disk(&set);
    sh_pipeline *pipeline;
    sh_replica *replica;
    sh_trainer *trainer;
    const sh_kernels *kernels;
    sh_step_result result;
    sh_sum_totals totals;
    assert_ok(sh_pipeline_adopt(&pipeline, &set.base, &(sh_pipeline_options){.resize = 0}));
    assert_ok(sh_kernels_choose(&kernels, NULL));
    assert_ok(sh_replica_new(&replica, &e.job, &(sh_problem){1, 8, 8, 10, SH_TARGET_CLASS}));
    assert_ok(sh_trainer_new(&trainer, &(sh_trainer_options){.job = &e.job,
                                                             .pipeline = pipeline,
                                                             .kernels = kernels,
                                                             .replica = replica,
                                                             .lanes = 2}));
    const sh_part part = {.share = {0, 3}, .of = 3, .engine = sh_engine_solo()};
    for (; set.step < set.schedule.total_steps; set.step++) {
        const sh_batch batch = sh_schedule_batch(&set.schedule, set.step);
        assert_ok(sh_trainer_step(trainer, &part, &result));
        for (uint32_t i = 0; i < batch.samples.count; i++)
            forget(&set, watched_sample(&set, set.step, i));
        if (batch.step + 1 == set.schedule.epoch_steps)
            assert_ok(sh_trainer_evaluate(trainer, &part, &totals));
    }
    assert_int_equal(set.step, 6);
    assert_int_equal(set.missed, 0);
    sh_trainer_free(trainer);
    sh_replica_free(replica);
    sh_pipeline_close(pipeline);
    pthread_cond_destroy(&set.news);
    pthread_mutex_destroy(&set.lock);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(weights_do_not_depend_on_who_computes),
        cmocka_unit_test(factors_make_the_same_sums),
        cmocka_unit_test(nor_do_they_with_any_optimizer_or_wire),
        cmocka_unit_test(clipping_begins_at_its_norm),
        cmocka_unit_test(a_few_samples_are_learnt_by_heart),
        cmocka_unit_test(another_seed_gives_other_weights),
        cmocka_unit_test(a_rounded_sum_would_be_seen),
        cmocka_unit_test(replicas_that_differ_are_found),
        cmocka_unit_test(overflow_redoes_the_step_to_the_same_bits),
        cmocka_unit_test(not_a_number_names_step_and_tensor),
        cmocka_unit_test(work_is_checked_against_what_is_held),
        cmocka_unit_test(the_pace_is_that_of_its_grains),
        cmocka_unit_test(buckets_are_ready_before_the_grain_ends),
        cmocka_unit_test(frozen_weights_stay),
        cmocka_unit_test(the_first_grain_is_the_same_on_all_devices),
        cmocka_unit_test(samples_are_brought_before_their_step),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
