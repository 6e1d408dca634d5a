/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests complete transfers. Donors train equal replicas, each at its own speed; a substitute for
 * the trainer updates whole tensors. A seed orders all events. Whenever the receiver is complete,
 * its replica must equal the donors' at that position in every bit.
 */
#include "train/replica_receiver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"
#include "train/norm.h"
#include "train/replica_receiver_fixture.h"
#include "train/replica_sender.h"
#include "train/statistic.h"

enum { DONORS_MAX = 4, POSITIONS_MAX = 128, STEPS = 7, EPOCH_STEPS = 3, BATCH = 8 };

typedef struct course_case {
    const char *model;
    sh_problem problem;
    const char *optimizer, *freeze, *schedule;
    float momentum, clip_norm;
    uint32_t chunk_elements, wire;
    const char *strategy;
} course_case;

static const course_case cases[] = {
    {"dscnn:s", {1, 49, 10, 12, SH_TARGET_CLASS}, "sgd", "", "cosine", 0.9f, 0, 700, 32, NULL},
    {"dscnn:s",
     {1, 49, 10, 12, SH_TARGET_CLASS},
     "adam",
     "conv1*,bn1*",
     "step:1",
     0,
     0.5f,
     1000,
     32,
     NULL},
    {"mlp:12-9-4", {1, 4, 3, 4, SH_TARGET_CLASS}, "rmsprop", "", "constant", 0, 0.1f, 5, 32, NULL},
    {"mlp:12-9-4",
     {1, 4, 3, 4, SH_TARGET_CLASS},
     "sgd",
     "fc1.weight",
     "one-cycle",
     0,
     0,
     0,
     32,
     NULL},
    {"resnet:20",
     {3, 32, 32, 10, SH_TARGET_CLASS},
     "adamw",
     "layer1.*",
     "cosine",
     0,
     1,
     0,
     32,
     NULL},
    {"dscnn:s",
     {1, 49, 10, 12, SH_TARGET_CLASS},
     "adam",
     "",
     "step:1",
     0,
     0.5f,
     1000,
     8,
     NULL}, /* statistics */
    {"mlp:12-9-4", {1, 4, 3, 4, SH_TARGET_CLASS}, "sgd", "", "cosine", 0.9f, 0.1f, 7, 16, NULL},
    {"dscnn:s", {1, 49, 10, 12, SH_TARGET_CLASS}, "adam", "", "cosine", 0, 0, 700, 32, "local:2"},
};
#define CASES (sizeof cases / sizeof *cases)

static sh_job job_of(const course_case *each)
{
    sh_job job;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "%s", each->model);
    snprintf(job.data, sizeof job.data, "digits");
    snprintf(job.optimizer, sizeof job.optimizer, "%s", each->optimizer);
    snprintf(job.freeze, sizeof job.freeze, "%s", each->freeze);
    snprintf(job.schedule, sizeof job.schedule, "%s", each->schedule);
    job.momentum = each->momentum;
    job.clip_norm = each->clip_norm;
    job.wire = each->wire;
    job.batch_size = BATCH;
    job.weight_decay = 0.01f;
    job.steps = STEPS;
    if (each->strategy != NULL) { /* transfers the outer optimizer's state */
        snprintf(job.strategy, sizeof job.strategy, "%s", each->strategy);
        job.outer_lr = 0.7f;
        job.outer_momentum = 0.5f;
    }
    assert_ok(sh_job_complete(&job));
    return job;
}

/* A digest of a replica's whole state. */
typedef struct print {
    char hex[SH_DIGEST_TEXT];
} print;

static print print_of(const sh_replica *replica)
{
    print made;
    sh_digest *digest;
    float *envelopes = calloc(replica->summed, sizeof *envelopes);
    int32_t *exponents = calloc(replica->summed, sizeof *exponents);
    assert_ok(sh_replica_hash(replica, made.hex));
    assert_ok(sh_digest_new(&digest));
    sh_digest_add(digest, made.hex, strlen(made.hex));
    for (uint32_t i = 0; i < replica->slot_count; i++)
        sh_digest_add(digest, replica->slots[i], replica->summed_count * sizeof(float));
    sh_sum_state_get(replica->sum, envelopes, exponents);
    sh_digest_add(digest, envelopes, replica->summed * sizeof *envelopes);
    sh_digest_add(digest, exponents, replica->summed * sizeof *exponents);
    sh_digest_add(digest, &replica->steps, sizeof replica->steps);
    sh_digest_add(digest, &replica->phase, sizeof replica->phase);
    sh_digest_add(digest, &replica->best, sizeof replica->best);
    sh_digest_add(digest, &replica->epoch.loss, sizeof replica->epoch.loss);
    sh_digest_add(digest, &replica->epoch.samples, sizeof replica->epoch.samples);
    sh_digest_add(digest, &replica->epoch.score, sizeof replica->epoch.score);
    assert_ok(sh_digest_finish(digest, made.hex));
    free(envelopes);
    free(exponents);
    return made;
}

struct donor {
    sh_replica *replica;
    sh_position position;
    bool summed;
    uint32_t told; /* buckets passed to the sender */
    sh_replica_sender *sender;
    bool in_flight;
    sh_frame head;
    const void *body;
    sh_sink sink;
};

struct world {
    const course_case *is;
    sh_job job;
    sh_schedule schedule;
    sh_rate rate;
    sh_random random;
    float *gradients; /* by step, then by element of the sum */
    struct donor donors[DONORS_MAX];
    uint32_t donor_count;
    sh_replica *taken;
    sh_replica_receiver *receiver;
    struct {
        sh_position position;
        print print;
    } known[POSITIONS_MAX];
    uint32_t known_count;
    uint32_t redone, aborted, seen_complete;
    sh_position last_complete;
    bool skips; /* all devices skip validations, because the best one is part of replicas */
};

/* Gradients grow and shrink by 2^12 between steps, which causes redos. */
static void draw_gradients(struct world *world, uint64_t seed)
{
    const size_t each = world->taken->summed_count;
    sh_random random = sh_random_for(seed, SH_RANDOM_TEST, 1, 0);
    world->gradients = malloc(STEPS * each * sizeof *world->gradients);
    for (uint32_t s = 0; s < STEPS; s++) {
        const float size = sh_random_below(&random, 2) > 0 ? 16.0f : 0x1p-8f;
        for (size_t i = 0; i < each; i++)
            world->gradients[s * each + i] = (sh_random_unit(&random) - 0.25f) * size;
    }
}

static struct world *new_world(const course_case *is, uint32_t donors, uint64_t seed)
{
    struct world *world = calloc(1, sizeof *world);
    world->is = is;
    world->job = job_of(is);
    const uint32_t local_steps = is->strategy == NULL ? 1 : sh_job_local_steps(&world->job);
    world->schedule = sh_schedule_of(&world->job, BATCH * EPOCH_STEPS * local_steps);
    assert_int_equal(world->schedule.epoch_steps, EPOCH_STEPS);
    assert_ok(sh_rate_parse(&world->rate, world->job.schedule, 0));
    world->random = sh_random_for(seed, SH_RANDOM_TEST, 0, 0);
    world->donor_count = donors;
    sh_job other = world->job;
    other.seed++;
    assert_ok(sh_replica_new(&world->taken, &other, &is->problem));
    assert_ok(sh_replica_receiver_new(
        &world->receiver, &(sh_replica_receiver_options){.replica = world->taken,
                                                         .job = &world->job,
                                                         .schedule = &world->schedule,
                                                         .transfer = 7,
                                                         .streams = donors,
                                                         .chunk_elements = is->chunk_elements}));
    for (uint32_t i = 0; i < donors; i++) {
        assert_ok(sh_replica_new(&world->donors[i].replica, &world->job, &is->problem));
        world->donors[i].position.phase = 1;
    }
    world->skips = seed % 2 == 0;
    draw_gradients(world, seed);
    return world;
}

static void free_world(struct world *world)
{
    for (uint32_t i = 0; i < world->donor_count; i++) {
        sh_replica_sender_free(world->donors[i].sender);
        sh_replica_free(world->donors[i].replica);
    }
    sh_replica_receiver_free(world->receiver);
    sh_replica_free(world->taken);
    free(world->gradients);
    free(world);
}

static const print *known_at(const struct world *world, sh_position position)
{
    for (uint32_t i = 0; i < world->known_count; i++)
        if (sh_position_same(world->known[i].position, position))
            return &world->known[i].print;
    return NULL;
}

static void arrive(struct world *world, const struct donor *donor)
{
    const print mine = print_of(donor->replica);
    const print *known = known_at(world, donor->position);
    if (known != NULL) {
        assert_string_equal(mine.hex, known->hex);
        return;
    }
    assert_true(world->known_count < POSITIONS_MAX);
    world->known[world->known_count].position = donor->position;
    world->known[world->known_count++].print = mine;
}

static void compute_sum(const struct world *world, struct donor *donor)
{
    sh_sum *sum = donor->replica->sum;
    const float loss[2] = {0.5f, (float)donor->position.steps};
    sh_sum_clear_trailer(sum);
    sh_sum_clear_range(sum, 0, donor->replica->summed_count);
    sh_sum_set_step(sum, donor->position.steps);
    for (uint32_t t = 0; t < donor->replica->summed; t++)
        sh_sum_add(sum, t, 0,
                   world->gradients + donor->position.steps * donor->replica->summed_count +
                       sh_sum_first_element(sum, t));
    sh_sum_add_loss(sum, loss, 2, 1);
    donor->summed = true;
    donor->told = 0;
}

static const void *totals_of(const struct donor *donor, size_t first)
{
    const unsigned char *all = sh_sum_total(donor->replica->sum).accumulator;
    return all + sh_layout_offset(sh_sum_layout_of(donor->replica->sum), first);
}

/* Valid until the next call. */
static const int32_t *integers_of(const struct donor *donor, uint32_t tensor)
{
    static int32_t room[40000];
    const sh_sum *sum = donor->replica->sum;
    return sh_layout_integers(sh_sum_layout_of(sum), sh_sum_total(sum).accumulator,
                              sh_sum_first_element(sum, tensor), sh_sum_elements(sum, tensor),
                              room);
}

static double clip_of(const struct world *world, const struct donor *donor)
{
    const sh_sum *sum = donor->replica->sum;
    double total = 0;
    if (world->job.clip_norm == 0)
        return 1;
    for (uint32_t t = 0; t < donor->replica->summed; t++) {
        sh_squares squares = {0, 0};
        sh_squares_add(&squares, integers_of(donor, t), sh_sum_elements(sum, t));
        total += sh_squares_value(&squares, sh_sum_scale(sum, t));
    }
    return sh_norm_clip(sqrt(total), (double)world->job.clip_norm);
}

static void apply_step(const struct world *world, struct donor *donor, double clip)
{
    sh_replica *replica = donor->replica;
    const double lr = world->is->strategy != NULL ? (double)world->job.outer_lr
                                                  : sh_rate_at(&world->rate, (double)world->job.lr,
                                                               &world->schedule, replica->steps);
    const sh_optimizer_step step =
        sh_optimizer_step_of(&replica->settings, lr, clip, replica->steps + 1);
    for (uint32_t t = 0; t < replica->summed; t++) {
        const uint32_t tensor = replica->tensor_of[t];
        const size_t first = sh_sum_first_element(replica->sum, t);
        const size_t count = sh_sum_elements(replica->sum, t);
        const float scale = sh_sum_scale(replica->sum, t);
        float *slots[SH_OPTIMIZER_MAX_SLOTS] = {NULL};
        uint32_t max_abs = 0;
        for (uint32_t i = 0; i < replica->slot_count; i++)
            slots[i] = replica->slots[i] + first;
        if (replica->graph->parameters[tensor].role == SH_ROLE_STATISTIC)
            sh_statistic_follow(replica->parameters[tensor], integers_of(donor, t), scale, count,
                                sh_replica_momentum(replica, tensor), &max_abs);
        else
            sh_optimizer_sums[sh_variant_chosen()](replica->optimizer, &replica->settings, &step,
                                                   replica->parameters[tensor], slots,
                                                   integers_of(donor, t), scale, count, &max_abs);
        sh_sum_follow(replica->sum, t, max_abs);
    }
    const sh_sum_totals totals = sh_sum_read_totals(replica->sum);
    sh_best_settle(&replica->best, &world->job);
    if (replica->steps % EPOCH_STEPS == 0)
        replica->epoch = (sh_epoch_totals){0};
    replica->epoch.loss += totals.loss;
    replica->epoch.samples += totals.samples;
    replica->epoch.score += totals.score;
    replica->steps++;
}

static bool validates_at(uint64_t steps)
{
    return steps > 0 && steps % EPOCH_STEPS == 0;
}

static void pass(struct world *world, struct donor *donor, sh_passed passed, uint32_t phase,
                 double clip)
{
    sh_stage_outcome outcome = {.before = donor->position, .clip = clip};
    outcome.passed = passed;
    donor->replica->phase = phase;
    if (passed == SH_PASSED_VALIDATE)
        sh_best_note(&donor->replica->best, 1.0 / (double)donor->position.steps,
                     donor->position.steps);
    donor->position = outcome.after = sh_replica_position(donor->replica);
    donor->summed = false;
    if (donor->sender != NULL)
        sh_replica_sender_passed(donor->sender, &outcome);
    arrive(world, donor);
}

/* Restarts the stage, or another one with the same weights. */
static void restart(struct world *world, struct donor *donor, uint32_t phase, bool tell)
{
    donor->replica->phase = donor->position.phase = phase;
    if (phase == SH_PHASE_VALIDATION)
        sh_best_forget(&donor->replica->best);
    donor->summed = false;
    if (donor->sender != NULL && tell)
        sh_replica_sender_restarted(donor->sender);
    arrive(world, donor);
}

static void end_attempt(struct world *world, struct donor *donor)
{
    uint32_t tensor;
    const sh_verdict verdict = sh_sum_verdict(donor->replica->sum, &tensor);
    assert_int_not_equal(verdict, SH_VERDICT_NOT_FINITE);
    if (verdict == SH_VERDICT_REDO) {
        world->redone++;
        pass(world, donor, SH_PASSED_REDO, donor->position.phase + 1, 1);
        return;
    }
    const double clip = clip_of(world, donor);
    apply_step(world, donor, clip);
    pass(world, donor, SH_PASSED_APPLY, validates_at(donor->replica->steps) ? 0 : 1, clip);
}

/* Makes one action; sometimes aborts the stage. */
static void advance(struct world *world, struct donor *donor)
{
    const sh_sum_layout *layout = sh_sum_layout_of(donor->replica->sum);
    if (sh_random_below(&world->random, 16) == 0) {
        const bool again = donor->position.phase == 1 && validates_at(donor->position.steps) &&
                           sh_random_below(&world->random, 2) > 0;
        world->aborted++;
        restart(world, donor, again ? 0 : donor->position.phase, true);
    } else if (donor->position.phase == 0 && world->skips) {
        restart(world, donor, 1, false); /* without notice */
    } else if (donor->position.phase == 0) {
        pass(world, donor, SH_PASSED_VALIDATE, 1, 1);
    } else if (!donor->summed) {
        compute_sum(world, donor);
    } else if (donor->told < layout->bucket_count && sh_random_below(&world->random, 8) > 0) {
        const sh_sum_bucket *told = &layout->buckets[donor->told++];
        if (donor->sender != NULL)
            sh_replica_sender_span(donor->sender, told->first_element, told->elements,
                                   totals_of(donor, told->first_element));
    } else {
        end_attempt(world, donor);
    }
}

static bool is_at_end(const struct donor *donor)
{
    return donor->position.steps == STEPS && donor->position.phase == 1;
}

static void begin_to_give(struct world *world, uint32_t index)
{
    struct donor *donor = &world->donors[index];
    arrive(world, donor);
    assert_ok(sh_replica_sender_new(
        &donor->sender, &(sh_replica_sender_options){.replica = donor->replica,
                                                     .transfer = 7,
                                                     .stripe = index,
                                                     .stripes = world->donor_count,
                                                     .chunk_elements = world->is->chunk_elements,
                                                     .window_bytes = 8192,
                                                     .limit_bytes = (size_t)1 << 26}));
}

static void check_complete(struct world *world)
{
    if (!sh_replica_receiver_complete(world->receiver))
        return;
    const sh_position position = sh_replica_receiver_position(world->receiver);
    if (world->seen_complete > 0 && sh_position_same(world->last_complete, position))
        return;
    world->seen_complete++;
    world->last_complete = position;
    const print *known = known_at(world, position);
    assert_non_null(known);
    assert_string_equal(print_of(world->taken).hex, known->hex);
}

/* The head or the body of a frame. False if none is queued. */
static bool deliver(struct world *world, uint32_t index)
{
    struct donor *donor = &world->donors[index];
    if (!donor->in_flight) {
        unsigned char wire[SH_FRAME_BYTES];
        assert_ok(sh_replica_sender_next(donor->sender, &donor->head, &donor->body));
        if (donor->body == NULL)
            return false;
        sh_frame_encode(wire, &donor->head);
        assert_ok(sh_frame_decode(&donor->head, wire));
        assert_ok(sh_replica_receiver_frame(world->receiver, index, &donor->head, &donor->sink));
        assert_int_equal(donor->sink.adds, 0);
        assert_int_equal(donor->sink.bytes, donor->head.bytes);
        assert_false(sh_replica_receiver_complete(world->receiver));
        donor->in_flight = true;
        return true;
    }
    memcpy(donor->sink.data, donor->body, donor->sink.bytes);
    assert_ok(sh_replica_receiver_done(world->receiver, index, &donor->head));
    sh_replica_sender_done(donor->sender);
    donor->in_flight = false;
    check_complete(world);
    return true;
}

static bool is_over(struct world *world)
{
    for (uint32_t i = 0; i < world->donor_count; i++) {
        const struct donor *donor = &world->donors[i];
        if (!is_at_end(donor) || donor->sender == NULL || donor->in_flight ||
            sh_replica_sender_queued_bytes(donor->sender) > 0)
            return false;
    }
    return sh_replica_receiver_left_bytes(world->receiver) == 0;
}

static void run_world(struct world *world)
{
    const uint32_t haste = 1 + sh_random_below(&world->random, 40);
    while (!is_over(world)) {
        const uint32_t index = sh_random_below(&world->random, world->donor_count);
        struct donor *donor = &world->donors[index];
        if (sh_random_below(&world->random, 40) < haste && !is_at_end(donor))
            advance(world, donor);
        if (donor->sender == NULL) {
            if (sh_random_below(&world->random, 10) == 0)
                begin_to_give(world, index);
            continue;
        }
        if (sh_random_below(&world->random, 2) > 0)
            sh_replica_sender_fill(donor->sender);
        for (uint32_t n = sh_random_below(&world->random, 16); n > 0; n--)
            deliver(world, index);
    }
}

static void the_receiver_ends_as_the_donors(void **state)
{
    (void)state;
    uint32_t redone = 0, aborted = 0, followed = 0;
    for (size_t i = 0; i < CASES; i++) {
        const bool large = strncmp(cases[i].model, "resnet", 6) == 0;
        for (uint32_t donors = 1; donors <= DONORS_MAX; donors++) {
            if (large && donors != 2)
                continue;
            for (uint64_t seed = 1; seed <= (cases[i].problem.height > 4 ? 2 : 40); seed++) {
                struct world *world = new_world(&cases[i], donors, seed * 100 + donors);
                run_world(world);
                if (!sh_replica_receiver_complete(world->receiver))
                    fail_msg("case %zu, %u donors, seed %d: not complete", i, donors, (int)seed);
                assert_int_equal(sh_replica_receiver_left_bytes(world->receiver), 0);
                assert_true(sh_position_same(sh_replica_receiver_position(world->receiver),
                                             (sh_position){STEPS, 1}));
                assert_string_equal(print_of(world->taken).hex,
                                    print_of(world->donors[0].replica).hex);
                redone += world->redone;
                aborted += world->aborted;
                followed += world->seen_complete - 1;
                free_world(world);
            }
        }
    }
    assert_true(redone > 100 && aborted > 100 && followed > 100);
}

static void deliver_all(struct world *world, uint32_t index)
{
    do
        sh_replica_sender_fill(world->donors[index].sender);
    while (deliver(world, index));
}

/* All donors pause, as when all devices have halted, then continue one by one. */
static void donors_may_stand_still(void **state)
{
    (void)state;
    struct world *world = new_world(&cases[1], 3, 5);
    for (uint32_t i = 0; i < 3; i++) {
        while (world->donors[i].position.steps < 1)
            advance(world, &world->donors[i]);
        begin_to_give(world, i);
    }
    assert_true(
        sh_position_same(sh_replica_receiver_position(world->receiver), (sh_position){0, 0}));
    for (uint32_t i = 0; i < 3; i++) {
        assert_false(sh_replica_receiver_complete(world->receiver));
        assert_true(sh_replica_receiver_left_bytes(world->receiver) > 0);
        deliver_all(world, i);
    }
    assert_true(sh_replica_receiver_complete(world->receiver));
    assert_int_equal(sh_replica_receiver_left_bytes(world->receiver), 0);
    assert_true(
        sh_position_same(sh_replica_receiver_position(world->receiver), (sh_position){1, 1}));
    assert_string_equal(print_of(world->taken).hex, print_of(world->donors[2].replica).hex);

    for (uint32_t i = 0; i < 3; i++) {
        while (world->donors[i].position.steps < 2)
            advance(world, &world->donors[i]);
        deliver_all(world, i);
        assert_int_equal(sh_replica_receiver_complete(world->receiver), i == 2);
        assert_int_equal(sh_replica_receiver_position(world->receiver).steps, i < 2 ? 1 : 2);
    }
    assert_string_equal(print_of(world->taken).hex, print_of(world->donors[0].replica).hex);
    free_world(world);
}

static void donors_that_differ_are_found(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct world *world = new_world(&cases[2], 2, 5);
        struct donor *donor = &world->donors[1];
        if (i == 0)
            donor->replica->epoch.samples = 8;
        else
            donor->replica->best.value = 8;
        begin_to_give(world, 0);
        assert_ok(sh_replica_sender_new(&donor->sender,
                                        &(sh_replica_sender_options){.replica = donor->replica,
                                                                     .transfer = 7,
                                                                     .stripe = 1,
                                                                     .stripes = 2,
                                                                     .chunk_elements = 5}));
        assert_true(deliver(world, 0) && deliver(world, 0) && deliver(world, 1));
        memcpy(donor->sink.data, donor->body, donor->sink.bytes);
        assert_fails(sh_replica_receiver_done(world->receiver, 1, &donor->head), SH_MISMATCH,
                     "the state from donor 1: differs from donor 0 at step 0");
        free_world(world);
    }
}

static void donors_keep_to_their_stripes(void **state)
{
    (void)state;
    struct world *world = new_world(&cases[2], 2, 5);
    sh_sink sink;
    for (uint32_t i = 0; i < 2; i++) {
        begin_to_give(world, i);
        deliver_all(world, i);
    }
    const sh_frame ours = {.kind = SH_FRAME_SUM, .bytes = 20, .view = 7, .attempt = 1};
    assert_fails(sh_replica_receiver_frame(world->receiver, 1, &ours, &sink), SH_FORMAT,
                 "the state from donor 1: a sum of chunk 0, which is not in this stream yet");
    assert_ok(sh_replica_receiver_frame(world->receiver, 0, &ours, &sink));
    free_world(world);
}

/* ---- damaged frames -------------------------------------------------------------------------- */

struct frame {
    sh_frame head;
    unsigned char *body;
};

enum { FRAMES_MAX = 64, BODY_MAX = 4096 };

struct record {
    struct frame frames[FRAMES_MAX];
    uint32_t count;
};

static void keep_frames(struct record *record, sh_replica_sender *sender)
{
    for (;;) {
        struct frame *to = &record->frames[record->count];
        const void *body;
        assert_ok(sh_replica_sender_next(sender, &to->head, &body));
        if (body == NULL)
            return;
        assert_in_range(to->head.bytes, 1, BODY_MAX);
        to->body = calloc(1, BODY_MAX);
        memcpy(to->body, body, to->head.bytes);
        sh_replica_sender_done(sender);
        record->count++;
        assert_true(record->count < FRAMES_MAX);
    }
}

/*
 * The stream for mlp:12-9-4 (157 weights) with adam and fc2 frozen (40 weights): a tail; the frozen
 * chunk 0; chunk 1 with 100 elements and chunk 2 with 17, of three arrays each; sums; the tail of a
 * redo; sums; the tail of an applied step; the tail of a validation. frames[]:
 *
 *     0 T   1 W0   2 W1 3 A1 4 B1   5 W2 6 A2 7 B2   8 S1 9 S2   10 T   11 S1 12 S2   13 T   14 T
 */
static const course_case damaged = {
    "mlp:12-9-4", {1, 4, 3, 4, SH_TARGET_CLASS}, "adam", "fc2.*", "constant", 0, 0.1f, 100, 32,
    NULL};

static struct world *record_stream(struct record *record)
{
    struct world *world = new_world(&damaged, 1, 9);
    struct donor *donor = &world->donors[0];
    *record = (struct record){.count = 0};
    donor->replica->steps = 5; /* the next step ends an epoch */
    donor->position.steps = 5;
    begin_to_give(world, 0);
    sh_replica_sender_fill(donor->sender);
    compute_sum(world, donor);
    sh_replica_sender_span(donor->sender, 0, donor->replica->summed_count, totals_of(donor, 0));
    pass(world, donor, SH_PASSED_REDO, 2, 1);
    sh_replica_sender_span(donor->sender, 0, donor->replica->summed_count, totals_of(donor, 0));
    apply_step(world, donor, 0.5);
    pass(world, donor, SH_PASSED_APPLY, 0, 0.5);
    pass(world, donor, SH_PASSED_VALIDATE, 1, 1);
    keep_frames(record, donor->sender);
    assert_int_equal(record->count, 15);
    return world;
}

static sh_frame spoil(const struct damage *damage, const struct record *record,
                      unsigned char body[BODY_MAX])
{
    const struct frame *from = &record->frames[damage->of == INSTEAD ? damage->value : damage->at];
    sh_frame head = from->head;
    memcpy(body, from->body, BODY_MAX);
    switch (damage->of) {
    case VIEW:
        head.view = damage->value;
        break;
    case STEP:
        head.step = damage->value;
        break;
    case ATTEMPT:
        head.attempt = (uint16_t)damage->value;
        break;
    case BUCKET:
        head.bucket = (uint16_t)damage->value;
        break;
    case HOP:
        head.hop = (uint16_t)damage->value;
        break;
    case BYTES:
        head.bytes = damage->value;
        break;
    case KIND:
        head.kind = (uint16_t)damage->value;
        break;
    case BYTE:
        body[damage->value >> 8] = (unsigned char)damage->value;
        break;
    case REAL: /* a NaN */
        memcpy(body + damage->value, (const unsigned char[]){0, 0, 0xc0, 0x7f}, 4);
        break;
    case FAR: /* bits that the head lacks */
        body[12] = body[20] = (unsigned char)damage->value;
        break;
    case INSTEAD:
        break;
    }
    return head;
}

static sh_status feed(sh_replica_receiver *receiver, const sh_frame *head,
                      const unsigned char *body)
{
    sh_sink sink;
    SH_TRY(sh_replica_receiver_frame(receiver, 0, head, &sink));
    assert_int_equal(sink.bytes, head->bytes);
    memcpy(sink.data, body, sink.bytes);
    return sh_replica_receiver_done(receiver, 0, head);
}

static sh_replica_receiver *new_receiver(struct world *world, const sh_job *job,
                                         const sh_schedule *schedule)
{
    sh_replica_receiver *receiver;
    sh_replica_free(world->taken);
    assert_ok(sh_replica_new(&world->taken, &world->job, &world->is->problem));
    assert_ok(sh_replica_receiver_new(
        &receiver, &(sh_replica_receiver_options){.replica = world->taken,
                                                  .job = job,
                                                  .schedule = schedule,
                                                  .transfer = 7,
                                                  .streams = 1,
                                                  .chunk_elements = world->is->chunk_elements}));
    return receiver;
}

static void damaged_frames_are_refused(void **state)
{
    (void)state;
    struct record record;
    struct world *world = record_stream(&record);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        unsigned char body[BODY_MAX];
        sh_replica_receiver *receiver = new_receiver(world, &world->job, &world->schedule);
        for (uint32_t f = 0; f < damages[i].at; f++)
            assert_ok(feed(receiver, &record.frames[f].head, record.frames[f].body));
        const sh_frame head = spoil(&damages[i], &record, body);
        assert_fails(feed(receiver, &head, body), damages[i].code, damages[i].message);
        sh_replica_receiver_free(receiver);
    }

    /* The undamaged stream; then for a job without clipping, and for a shorter job. */
    sh_replica_receiver *receiver = new_receiver(world, &world->job, &world->schedule);
    for (uint32_t f = 0; f < record.count; f++) {
        assert_int_equal(sh_replica_receiver_complete(receiver), f > 7);
        assert_ok(feed(receiver, &record.frames[f].head, record.frames[f].body));
    }
    assert_string_equal(print_of(world->taken).hex, print_of(world->donors[0].replica).hex);
    sh_replica_receiver_free(receiver);
    sh_job other = world->job;
    sh_schedule shorter = world->schedule;
    other.clip_norm = 0;
    shorter.total_steps = 5;
    for (int which = 0; which < 2; which++) {
        receiver = which == 0 ? new_receiver(world, &other, &world->schedule)
                              : new_receiver(world, &world->job, &shorter);
        for (uint32_t f = 0; f < 13; f++)
            assert_ok(feed(receiver, &record.frames[f].head, record.frames[f].body));
        if (which == 0)
            assert_fails(feed(receiver, &record.frames[13].head, record.frames[13].body),
                         SH_CORRUPT, "a clipping factor of 0.5 in a job without clipping");
        else
            assert_fails(feed(receiver, &record.frames[13].head, record.frames[13].body), SH_FORMAT,
                         "step 6 of a job of 5 steps");
        sh_replica_receiver_free(receiver);
    }
    for (uint32_t f = 0; f < record.count; f++)
        free(record.frames[f].body);
    free_world(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_receiver_ends_as_the_donors),
        cmocka_unit_test(donors_may_stand_still),
        cmocka_unit_test(donors_that_differ_are_found),
        cmocka_unit_test(donors_keep_to_their_stripes),
        cmocka_unit_test(damaged_frames_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
