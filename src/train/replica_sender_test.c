/* SPDX-License-Identifier: Apache-2.0 */
#include "train/replica_sender.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"

enum { ELEMENTS = 1000 };

static const sh_problem problem = {1, 10, 10, 10, SH_TARGET_CLASS};

/* 2,229 weights: chunks of 1000, 1000 and 229. */
static sh_replica *new_replica(const char *optimizer, const char *freeze)
{
    sh_job job;
    sh_replica *replica;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "mlp:100-19-10-10");
    snprintf(job.data, sizeof job.data, "digits");
    snprintf(job.optimizer, sizeof job.optimizer, "%s", optimizer);
    snprintf(job.freeze, sizeof job.freeze, "%s", freeze);
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_replica_new(&replica, &job, &problem));
    return replica;
}

static sh_replica_sender *new_sender(const sh_replica *replica, uint32_t stripe, uint32_t stripes)
{
    sh_replica_sender *sender;
    assert_ok(
        sh_replica_sender_new(&sender, &(sh_replica_sender_options){.replica = replica,
                                                                    .transfer = 7,
                                                                    .stripe = stripe,
                                                                    .stripes = stripes,
                                                                    .chunk_elements = ELEMENTS}));
    return sender;
}

/* All queued frames as a text such as "T5.1 W0 A0 S0": kinds with chunks, and tails with the
 * position of the completed stage. */
static const char *frames_of(sh_replica_sender *sender)
{
    static char text[1024];
    size_t used = 0;
    for (;;) {
        sh_frame head;
        const void *body;
        assert_ok(sh_replica_sender_next(sender, &head, &body));
        if (body == NULL)
            break;
        assert_ok(sh_frame_check(&head));
        assert_int_equal(head.view, 7);
        char *to = text + used;
        const size_t room = sizeof text - used;
        const char *space = used > 0 ? " " : "";
        int count = 0;
        if (head.kind == SH_FRAME_TAIL)
            count =
                snprintf(to, room, "%sT%u.%u", space, (unsigned)head.step, (unsigned)head.attempt);
        else
            count =
                snprintf(to, room, "%s%c%u", space,
                         head.kind == SH_FRAME_SUM ? 'S' : "WAB"[head.hop], (unsigned)head.bucket);
        used += (size_t)count;
        sh_replica_sender_done(sender);
    }
    text[used] = '\0';
    return text;
}

static void tell_all(sh_replica_sender *sender, sh_replica *replica)
{
    sh_replica_sender_span(sender, 0, replica->summed_count,
                           sh_sum_total(replica->sum).accumulator);
}

static void pass(sh_replica_sender *sender, sh_replica *replica, sh_passed passed, uint32_t phase)
{
    sh_stage_outcome outcome = {.before = sh_replica_position(replica), .clip = 1};
    outcome.passed = passed;
    replica->steps += passed == SH_PASSED_APPLY ? 1 : passed == SH_PASSED_LAP ? 64 : 0;
    replica->phase = phase;
    outcome.after = sh_replica_position(replica);
    sh_replica_sender_passed(sender, &outcome);
}

static void gives_tail_chunks_sums_tail(void **state)
{
    (void)state;
    sh_replica *replica = new_replica("adam", "fc1.bias,fc3.*");
    replica->steps = 5;
    sh_replica_sender *sender = new_sender(replica, 0, 1);
    assert_string_equal(frames_of(sender), "T5.1");
    sh_replica_sender_fill(sender);
    assert_int_equal(sh_replica_sender_queued_bytes(sender),
                     (3 * replica->summed_count + 129) * sizeof(float));
    assert_string_equal(frames_of(sender), "W0 W1 A1 B1 W2 A2 B2 W3 A3 B3");
    tell_all(sender, replica);
    tell_all(sender, replica);
    assert_string_equal(frames_of(sender), "S1 S2 S3"); /* not for frozen chunks, and only once */
    pass(sender, replica, SH_PASSED_REDO, 2);
    tell_all(sender, replica);
    pass(sender, replica, SH_PASSED_APPLY, 0);
    assert_string_equal(frames_of(sender), "T5.1 S1 S2 S3 T5.2");
    pass(sender, replica, SH_PASSED_VALIDATE, 1);
    assert_string_equal(frames_of(sender), "T6.0");
    assert_int_equal(sh_replica_sender_queued_bytes(sender), 0);
    sh_replica_sender_free(sender);
    sh_replica_free(replica);
}

/* A chunk after its bucket's sum, sums known only from the outcome, and sums that an abort
 * invalidates. */
static void a_late_chunk_gets_its_sum(void **state)
{
    (void)state;
    sh_replica *replica = new_replica("sgd", "");
    sh_replica_sender *sender = new_sender(replica, 0, 1);
    tell_all(sender, replica);
    assert_string_equal(frames_of(sender), "T0.1");
    sh_replica_sender_restarted(sender);
    sh_replica_sender_fill(sender);
    assert_string_equal(frames_of(sender), "T0.1 W0 A0 W1 A1 W2 A2");
    sh_replica_sender_free(sender);

    sender = new_sender(replica, 1, 3);
    tell_all(sender, replica);
    sh_replica_sender_fill(sender);
    assert_string_equal(frames_of(sender), "T0.1 W1 A1 S1");
    pass(sender, replica, SH_PASSED_APPLY, 1);
    pass(sender, replica, SH_PASSED_APPLY, 1);
    assert_string_equal(frames_of(sender), "T0.1 S1 T1.1");
    sh_replica_sender_free(sender);
    sh_replica_free(replica);
}

static void after_a_lap_the_stripe_begins_anew(void **state)
{
    (void)state;
    sh_replica *replica = new_replica("sgd", "");
    sh_replica_sender *sender = new_sender(replica, 1, 3);
    sh_replica_sender_fill(sender);
    pass(sender, replica, SH_PASSED_LAP, 1);
    assert_string_equal(frames_of(sender), "T0.1 W1 A1 T0.1");
    sh_replica_sender_fill(sender);
    pass(sender, replica, SH_PASSED_LAP, 0);
    pass(sender, replica, SH_PASSED_VALIDATE, 1);
    sh_replica_sender_fill(sender);
    assert_string_equal(frames_of(sender), "W1 A1 T64.1 T128.0 W1 A1");
    sh_replica_sender_free(sender);
    sh_replica_free(replica);
}

/* A validation that the trainer skips without notice, and one that starts again. */
static void a_phase_that_is_set_is_followed(void **state)
{
    (void)state;
    sh_replica *replica = new_replica("sgd", "");
    replica->phase = SH_PHASE_VALIDATION;
    sh_replica_sender *sender = new_sender(replica, 1, 3);
    sh_replica_sender_fill(sender);
    replica->phase = SH_PHASE_FIRST;
    tell_all(sender, replica);
    assert_string_equal(frames_of(sender), "T0.0 W1 A1");
    pass(sender, replica, SH_PASSED_APPLY, 0);
    assert_string_equal(frames_of(sender), "T0.0 S1 T0.1");
    replica->phase = SH_PHASE_FIRST;
    sh_replica_sender_restarted(sender);
    tell_all(sender, replica);
    assert_string_equal(frames_of(sender), "T1.0 S1");
    replica->phase = SH_PHASE_VALIDATION;
    sh_replica_sender_restarted(sender);
    assert_string_equal(frames_of(sender), "T1.1");
    sh_replica_sender_free(sender);
    sh_replica_free(replica);
}

static void bodies_are_copies(void **state)
{
    (void)state;
    sh_frame head;
    const void *body;
    sh_replica *replica = new_replica("sgd", "");
    sh_replica_sender *sender = new_sender(replica, 0, 1);
    int32_t *totals = sh_sum_total(replica->sum).accumulator;
    replica->weights[0] = 3;
    totals[0] = -4;
    sh_replica_sender_fill(sender);
    tell_all(sender, replica);
    replica->weights[0] = 9;
    totals[0] = 9;
    assert_ok(sh_replica_sender_next(sender, &head, &body));
    assert_ok(sh_replica_sender_next(sender, &head, &body));
    assert_true(((const float *)body)[0] == 3);
    for (int i = 0; i < 6; i++)
        assert_ok(sh_replica_sender_next(sender, &head, &body));
    assert_int_equal(head.kind, SH_FRAME_SUM);
    assert_int_equal(((const int32_t *)body)[0], -4);
    sh_replica_sender_free(sender);
    sh_replica_free(replica);
}

static void chunks_keep_to_the_window(void **state)
{
    (void)state;
    sh_replica_sender *sender;
    sh_frame head;
    const void *body;
    sh_replica *replica = new_replica("sgd", "");
    sh_replica_sender_options options = {.replica = replica,
                                         .stripes = 1,
                                         .chunk_elements = ELEMENTS,
                                         .window_bytes = 1,
                                         .limit_bytes = 1};
    assert_fails(sh_replica_sender_new(&sender, &options), SH_INVALID,
                 "a sender with at most 1 bytes");
    options.limit_bytes = 0;
    assert_ok(sh_replica_sender_new(&sender, &options));
    const size_t tail = sh_tail_bytes(replica->summed);
    sh_replica_sender_fill(sender);
    assert_int_equal(sh_replica_sender_queued_bytes(sender), tail);
    assert_ok(sh_replica_sender_next(sender, &head, &body));
    sh_replica_sender_fill(sender);
    assert_int_equal(sh_replica_sender_queued_bytes(sender), tail);
    sh_replica_sender_done(sender);
    sh_replica_sender_fill(sender);
    sh_replica_sender_fill(sender);
    assert_int_equal(sh_replica_sender_queued_bytes(sender), 2 * ELEMENTS * sizeof(float));
    sh_replica_sender_free(sender);
    sh_replica_free(replica);
}

static void a_receiver_that_is_too_slow_is_dropped(void **state)
{
    (void)state;
    sh_replica_sender *sender;
    sh_frame head;
    const void *body;
    sh_replica *replica = new_replica("sgd", "");
    const size_t limit = 40000;
    assert_ok(
        sh_replica_sender_new(&sender, &(sh_replica_sender_options){.replica = replica,
                                                                    .stripes = 1,
                                                                    .chunk_elements = ELEMENTS,
                                                                    .window_bytes = 20000,
                                                                    .limit_bytes = limit}));
    assert_ok(sh_replica_sender_next(sender, &head, &body));
    sh_replica_sender_fill(sender);
    size_t before = 0;
    while (sh_replica_sender_queued_bytes(sender) > head.bytes) {
        before = sh_replica_sender_queued_bytes(sender);
        assert_true(before <= limit);
        tell_all(sender, replica);
        pass(sender, replica, SH_PASSED_APPLY, 1);
    }
    assert_true(before + replica->summed_count * sizeof(int32_t) + head.bytes > limit);
    const void *none = NULL;
    assert_fails(sh_replica_sender_next(sender, &head, &none), SH_LIMIT,
                 "receives the state is too slow: more than 40000 bytes wait");
    tell_all(sender, replica);
    pass(sender, replica, SH_PASSED_APPLY, 1);
    sh_replica_sender_fill(sender);
    assert_int_equal(*(const unsigned char *)body, SH_PASSED_NOTHING);
    sh_replica_sender_done(sender);
    assert_int_equal(sh_replica_sender_queued_bytes(sender), 0);
    assert_fails(sh_replica_sender_next(sender, &head, &none), SH_LIMIT, "too slow");
    sh_replica_sender_free(sender);
    sh_replica_free(replica);
}

typedef struct two_threads {
    sh_replica *replica;
    sh_replica_sender *sender;
    uint32_t stages;
} two_threads;

static void *train(void *context)
{
    two_threads *both = context;
    for (uint32_t i = 0; i < both->stages; i++) {
        tell_all(both->sender, both->replica);
        sh_replica_lock(both->replica);
        both->replica->weights[0] += 1;
        pass(both->sender, both->replica, SH_PASSED_APPLY, 1);
        sh_replica_unlock(both->replica);
    }
    return NULL;
}

/* For the thread sanitizer: the step's thread and the loop's. */
static void two_threads_may_work_on_one(void **state)
{
    (void)state;
    pthread_t thread;
    uint32_t tails = 0;
    two_threads both = {.replica = new_replica("adam", ""), .stages = 50};
    assert_ok(
        sh_replica_sender_new(&both.sender, &(sh_replica_sender_options){.replica = both.replica,
                                                                         .stripes = 1,
                                                                         .chunk_elements = 50,
                                                                         .window_bytes = 1000,
                                                                         .limit_bytes = 10000000}));
    assert_int_equal(pthread_create(&thread, NULL, train, &both), 0);
    while (tails < both.stages + 1) {
        sh_frame head;
        const void *body;
        sh_replica_lock(both.replica);
        sh_replica_sender_fill(both.sender);
        sh_replica_unlock(both.replica);
        assert_ok(sh_replica_sender_next(both.sender, &head, &body));
        if (body == NULL)
            continue;
        tails += head.kind == SH_FRAME_TAIL;
        sh_replica_sender_done(both.sender);
    }
    pthread_join(thread, NULL);
    sh_replica_sender_free(both.sender);
    sh_replica_free(both.replica);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gives_tail_chunks_sums_tail),
        cmocka_unit_test(a_late_chunk_gets_its_sum),
        cmocka_unit_test(after_a_lap_the_stripe_begins_anew),
        cmocka_unit_test(a_phase_that_is_set_is_followed),
        cmocka_unit_test(bodies_are_copies),
        cmocka_unit_test(chunks_keep_to_the_window),
        cmocka_unit_test(a_receiver_that_is_too_slow_is_dropped),
        cmocka_unit_test(two_threads_may_work_on_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
