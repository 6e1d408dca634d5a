/* SPDX-License-Identifier: Apache-2.0 */
#include "train/transfer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"

static sh_replica *replica_of(const char *model, const sh_problem *problem, const char *optimizer,
                              const char *freeze)
{
    sh_job job;
    sh_replica *replica;
    sh_job_init(&job);
    snprintf(job.model, sizeof job.model, "%s", model);
    snprintf(job.data, sizeof job.data, "digits");
    snprintf(job.optimizer, sizeof job.optimizer, "%s", optimizer);
    snprintf(job.freeze, sizeof job.freeze, "%s", freeze);
    assert_ok(sh_job_complete(&job));
    assert_ok(sh_replica_new(&replica, &job, problem));
    return replica;
}

static const sh_problem digits = {1, 28, 28, 10, SH_TARGET_CLASS},
                        photos = {3, 32, 32, 10, SH_TARGET_CLASS};

static bool within_a_bucket(const sh_replica *replica, const sh_chunk *chunk)
{
    const sh_sum_layout *layout = sh_sum_layout_of(replica->sum);
    for (uint32_t i = 0; i < layout->bucket_count; i++)
        if (chunk->first_element >= layout->buckets[i].first_element &&
            chunk->first_element + chunk->elements <=
                layout->buckets[i].first_element + layout->buckets[i].elements)
            return true;
    return false;
}

static void check_chunks(const sh_replica *replica, const sh_chunks *chunks, uint32_t most)
{
    unsigned char *covered = calloc(replica->weight_count, 1);
    bool frozen_are_over = false;
    for (uint32_t i = 0; i < chunks->count; i++) {
        const sh_chunk *chunk = &chunks->items[i];
        assert_in_range(chunk->elements, 1, most);
        assert_int_equal(chunk->frozen, chunk->first_element >= replica->summed_count);
        assert_int_equal(chunk->arrays, chunk->frozen ? 1 : 1 + replica->slot_count);
        assert_true(chunk->frozen || within_a_bucket(replica, chunk));
        frozen_are_over = frozen_are_over || !chunk->frozen;
        assert_false(chunk->frozen && frozen_are_over);
        for (size_t e = 0; e < chunk->elements; e++)
            assert_int_equal(covered[chunk->first_element + e]++, 0);
    }
    for (size_t e = 0; e < replica->weight_count; e++)
        assert_int_equal(covered[e], 1);
    free(covered);
}

/* Stripes are consecutive and exceed their part by a chunk at most. */
static void check_stripes(const sh_chunks *chunks, uint32_t stripes, uint32_t most)
{
    uint32_t next = 0, first, end;
    uint64_t total = 0;
    for (uint32_t i = 0; i < chunks->count; i++)
        total += (uint64_t)chunks->items[i].elements * chunks->items[i].arrays;
    for (uint32_t s = 0; s < stripes; s++) {
        uint64_t words = 0;
        sh_chunks_stripe(chunks, s, stripes, &first, &end);
        assert_int_equal(first, next);
        assert_true(end >= first);
        for (uint32_t i = first; i < end; i++)
            words += (uint64_t)chunks->items[i].elements * chunks->items[i].arrays;
        assert_true(words <= total / stripes + 3 * most + 1);
        next = end;
    }
    assert_int_equal(next, chunks->count);
}

static void chunks_and_stripes_cover_all_once(void **state)
{
    (void)state;
    static const struct {
        const char *model, *optimizer, *freeze;
        const sh_problem *problem;
        uint32_t most;
    } cases[] = {
        {"lenet", "sgd", "", &digits, 0},           {"lenet", "sgd", "", &digits, 1000},
        {"mlp:784-3-10", "adam", "", &digits, 7},   {"resnet:20", "adam", "conv1.*", &photos, 0},
        {"lenet", "adam", "fc1.*", &digits, 65536}, {"lenet", "adam", "conv*", &digits, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sh_chunks chunks;
        const uint32_t most = cases[i].most > 0 ? cases[i].most : SH_CHUNK_ELEMENTS;
        sh_replica *replica =
            replica_of(cases[i].model, cases[i].problem, cases[i].optimizer, cases[i].freeze);
        if (replica->weight_count / most > UINT16_MAX) {
            assert_fails(sh_chunks_init(&chunks, replica, cases[i].most), SH_LIMIT,
                         "a model of 431080 weights cannot be handed over live: at most 65536");
        } else {
            assert_ok(sh_chunks_init(&chunks, replica, cases[i].most));
            check_chunks(replica, &chunks, most);
            for (uint32_t stripes = 1; stripes <= SH_TRANSFER_STREAMS_MAX; stripes++)
                check_stripes(&chunks, stripes, most);
            sh_chunks_release(&chunks);
        }
        sh_replica_free(replica);
    }
    sh_chunks chunks;
    sh_replica *replica = replica_of("mlp:784-3-10", &digits, "sgd", "");
    assert_fails(sh_chunks_init(&chunks, replica, 65537), SH_INVALID, "at most 65536");
    sh_replica_free(replica);
}

static void only_what_can_follow_leads(void **state)
{
    (void)state;
    static const struct {
        sh_passed passed;
        sh_position before, after;
        bool leads;
    } cases[] = {
        {SH_PASSED_NOTHING, {5, 1}, {5, 1}, true},
        {SH_PASSED_NOTHING, {5, 1}, {5, 2}, false},
        {SH_PASSED_APPLY, {5, 1}, {6, 1}, true},
        {SH_PASSED_APPLY, {5, 4}, {6, 0}, true},
        {SH_PASSED_APPLY, {5, 1}, {6, 2}, false},
        {SH_PASSED_APPLY, {5, 0}, {6, 1}, false},
        {SH_PASSED_APPLY, {5, 1}, {7, 1}, false},
        {SH_PASSED_APPLY, {UINT64_MAX, 1}, {0, 1}, false},
        {SH_PASSED_REDO, {5, 1}, {5, 2}, true},
        {SH_PASSED_REDO, {5, 0}, {5, 1}, false},
        {SH_PASSED_REDO, {5, 1}, {5, 3}, false},
        {SH_PASSED_REDO, {5, 65535}, {5, 65536}, false},
        {SH_PASSED_VALIDATE, {5, 0}, {5, 1}, true},
        {SH_PASSED_VALIDATE, {5, 1}, {5, 2}, false},
        {SH_PASSED_ABORT, {5, 3}, {5, 3}, true},
        {SH_PASSED_ABORT, {5, 1}, {5, 0}, true},
        {SH_PASSED_ABORT, {5, 2}, {5, 0}, false},
        {SH_PASSED_ABORT, {5, 1}, {4, 1}, false},
        {(sh_passed)0, {5, 1}, {5, 1}, false},
        {SH_PASSED_LAP, {5, 1}, {69, 1}, true},
        {SH_PASSED_LAP, {5, 1}, {6, 0}, true},
        {SH_PASSED_LAP, {5, 0}, {6, 1}, false},
        {SH_PASSED_LAP, {5, 1}, {5, 1}, false},
        {SH_PASSED_LAP, {5, 1}, {6, 2}, false},
        {(sh_passed)7, {5, 1}, {5, 1}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(sh_passed_leads(cases[i].passed, cases[i].before, cases[i].after),
                         cases[i].leads);
}

static sh_tail tail_with(float envelopes[3], int32_t exponents[3])
{
    return (sh_tail){
        .passed = SH_PASSED_APPLY,
        .before = {0x100000002, 3},
        .after = {0x100000003, 0},
        .clip = 0.75,
        .epoch = {2.5, 640, 99},
        .best = {1.5, 640, 1.75, 2, 1.25, 0x100000003},
        .envelopes = envelopes,
        .exponents = exponents,
    };
}

static void a_tail_comes_back(void **state)
{
    (void)state;
    float envelopes[3] = {1, 0.5f, 0}, back_envelopes[3];
    int32_t exponents[3] = {-97, 40, 125}, back_exponents[3];
    unsigned char body[SH_TAIL_HEAD_BYTES + 24], again[sizeof body];
    const sh_tail tail = tail_with(envelopes, exponents);
    sh_tail back = {.envelopes = back_envelopes, .exponents = back_exponents};
    assert_int_equal(sh_tail_bytes(3), sizeof body);
    sh_tail_encode(body, &tail, 3);
    /* Offsets as in the header. */
    static const unsigned char head[32] = {2, 0, 0, 0, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0,
                                           3, 0, 0, 0, 1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0};
    assert_memory_equal(body, head, sizeof head);
    assert_int_equal(body[39], 0x3f); /* of 0.75, 0x3fe8... */
    assert_int_equal(body[48] + 256 * body[49], 640);
    assert_int_equal(body[SH_TAIL_HEAD_BYTES + 12], 0x9f); /* of -97 */
    assert_int_equal(body[72] + 256 * body[73], 640);
    assert_int_equal(body[88], 2);
    assert_int_equal(body[108], 1); /* of 0x1... */
    assert_ok(sh_tail_decode(&back, body, 3));
    assert_true(sh_best_same(&back.best, &tail.best));
    sh_tail_encode(again, &back, 3);
    assert_memory_equal(again, body, sizeof body);
    assert_true(sh_position_same(back.after, tail.after));
    assert_memory_equal(back_exponents, exponents, sizeof exponents);
}

static void tails_that_nobody_sends_are_refused(void **state)
{
    (void)state;
    static const struct {
        int at;
        unsigned char value;
        sh_status code;
        const char *message;
    } cases[] = {
        {0, 0, SH_FORMAT, "with unknown outcome 0"},
        {0, 7, SH_FORMAT, "with unknown outcome 7"},
        {1, 1, SH_FORMAT, "with unknown outcome 258"},
        {4, 4, SH_FORMAT, "a tail of 4 tensors, but the model has 3"},
        {20, 7, SH_FORMAT, "does not lead from step 4294967298, phase 3 to step 30064771075"},
        {28, 9, SH_FORMAT, "does not lead"},
        {0, SH_PASSED_REDO, SH_FORMAT, "does not lead"},
        {39, 0xbf, SH_CORRUPT, "a clipping factor of -0.75"},
        {39, 0x7f, SH_CORRUPT, "a clipping factor of "},
        {47, 0x7f, SH_CORRUPT, "an epoch's loss that is not a number"},
        {71, 0x7f, SH_CORRUPT, "a best validation that cannot be at step 4294967299"},
        {79, 1, SH_CORRUPT, "a best validation that cannot be"},
        {104, 2, SH_CORRUPT, "a best validation that cannot be"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float envelopes[3] = {0};
        int32_t exponents[3] = {0};
        unsigned char body[SH_TAIL_HEAD_BYTES + 24];
        sh_tail tail = tail_with(envelopes, exponents);
        sh_tail_encode(body, &tail, 3);
        body[cases[i].at] = cases[i].value;
        if (cases[i].value == 0x7f && cases[i].at != 39) /* NaN */
            body[cases[i].at - 1] = 0xf8;
        assert_fails(sh_tail_decode(&tail, body, 3), cases[i].code, cases[i].message);
    }
    float envelopes[3] = {0};
    int32_t exponents[3] = {0};
    unsigned char body[SH_TAIL_HEAD_BYTES + 24];
    sh_tail tail = tail_with(envelopes, exponents);
    tail.passed = SH_PASSED_REDO;
    tail.after = (sh_position){0x100000002, 4};
    sh_tail_encode(body, &tail, 3);
    assert_fails(sh_tail_decode(&tail, body, 3), SH_CORRUPT, "a clipping factor of 0.75");
    tail.clip = (double)NAN;
    tail.passed = SH_PASSED_APPLY;
    tail.after = (sh_position){0x100000003, 1};
    sh_tail_encode(body, &tail, 3);
    assert_fails(sh_tail_decode(&tail, body, 3), SH_CORRUPT, "a clipping factor of nan");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_and_stripes_cover_all_once),
        cmocka_unit_test(only_what_can_follow_leads),
        cmocka_unit_test(a_tail_comes_back),
        cmocka_unit_test(tails_that_nobody_sends_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
