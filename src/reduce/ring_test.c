/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rings of real devices on the loopback: each rank has a loop, a listener and a step's thread of
 * its own. Every number of devices, every awkward length, several rounds in flight after each
 * other.
 */
#include "reduce/ring.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "net/key.h"
#include "net/listener.h"

#define MAX_DEVICES 9
#define MAX_SPANS 4
#define ROUNDS 3

typedef struct world world;

typedef struct rank {
    world *of;
    uint32_t index, round;
    sh_loop *loop;
    sh_listener *listener;
    uint16_t port;
    sh_ring *ring;
    pthread_t thread;
    sh_status status;
    char message[SH_MESSAGE_BYTES];
    uint32_t *narrow[MAX_SPANS]; /* own words of the I32 spans, the total behind them */
    uint64_t *wide;              /* of the U64 span, likewise */
    uint32_t asked;              /* the decider, in the round */
    bool told[MAX_SPANS + 1]; /* of the round's spans, by the watcher; the loop's until the end */
    sh_span
        spans[MAX_SPANS + 1]; /* of the round; a failed one reads them until the ring is closed */
} rank;

struct world {
    uint32_t devices;
    size_t lengths[MAX_SPANS]; /* of the I32 spans; the U64 span has lengths[0] + 3 words */
    uint32_t spans;
    unsigned char key[SH_KEY_BYTES];
    uint32_t rounds;
    uint32_t deserter; /* rank that leaves in the last round, or UINT32_MAX */
    rank ranks[MAX_DEVICES];
};

static void accept_previous(void *context, sh_channel *channel, const char *identity)
{
    rank *self = context;
    (void)identity;
    assert_ok(sh_ring_take_previous(self->ring, channel));
}

static void open_door(void *context)
{
    rank *self = context;
    assert_ok(sh_listener_open(&self->listener, self->loop,
                               &(sh_listener_options){.host = "127.0.0.1",
                                                      .on_accept = accept_previous,
                                                      .context = self}));
    assert_ok(sh_listener_allow(self->listener, "link", self->of->key));
    self->port = sh_listener_port(self->listener);
}

static void link_up(void *context)
{
    rank *self = context;
    const rank *next = &self->of->ranks[(self->index + 1) % self->of->devices];
    assert_ok(sh_ring_connect(self->ring, &(sh_channel_target){.host = "127.0.0.1",
                                                               .port = next->port,
                                                               .identity = "link",
                                                               .key = self->of->key}));
}

static void shut_door(void *context)
{
    rank *self = context;
    sh_listener_close(self->listener);
}

/* Word `i` of a span as this rank contributes it: mixed, so that no two errors make up for each
 * other, and large, so that sums wrap around. */
static uint64_t word_of(uint32_t rank_index, uint32_t round, uint32_t span, size_t i)
{
    const uint64_t which = (rank_index * 16u + round) * 16u + span + 1;
    const uint64_t word = which * 0x9e3779b97f4a7c15u + (i + 1) * 0xc2b2ae3d27d4eb4fu;
    return (word ^ word >> 29) * 0xbf58476d1ce4e5b9u;
}

/* Word `i` of the U64 span in the own part: rank 0's first one comes by its decider. */
static uint64_t wide_of(const rank *self, uint32_t round, size_t i)
{
    return self->index == 0 && i == 0 ? 0 : word_of(self->index, round, self->of->spans, i);
}

static uint64_t sum_of(const world *w, uint32_t round, uint32_t span, size_t i)
{
    uint64_t sum = 0;
    for (uint32_t r = 0; r < w->devices; r++)
        sum += word_of(r, round, span, i);
    return sum;
}

static void check_round(const rank *self, uint32_t round)
{
    const world *w = self->of;
    for (uint32_t s = 0; s < w->spans; s++)
        for (size_t i = 0; i < w->lengths[s]; i++)
            if (self->narrow[s][w->lengths[s] + i] != (uint32_t)sum_of(w, round, s, i))
                fail_msg("%u devices, span %u of %zu words, word %zu", w->devices, s, w->lengths[s],
                         i);
    for (size_t i = 0; i < w->lengths[0] + 3; i++)
        assert_true(self->wide[w->lengths[0] + 3 + i] == sum_of(w, round, w->spans, i));
}

/* However a round has gone, its own part is what it was. */
static void check_own(const rank *self, uint32_t round)
{
    const world *w = self->of;
    for (uint32_t s = 0; s < w->spans; s++)
        for (size_t i = 0; i < w->lengths[s]; i++)
            assert_int_equal(self->narrow[s][i], (uint32_t)word_of(self->index, round, s, i));
    for (size_t i = 0; i < w->lengths[0] + 3; i++)
        assert_true(self->wide[i] == wide_of(self, round, i));
}

/* The watcher: each span once, and by then it is complete. */
static void note_span(void *context, uint32_t index, const sh_span *span)
{
    rank *self = context;
    const world *w = self->of;
    const uint32_t round = self->round;
    assert_ptr_equal(span->own, self->spans[index].own);
    assert_false(self->told[index]);
    self->told[index] = true;
    for (size_t i = 0; i < span->count; i++)
        if (span->word == SH_WORD_I32)
            assert_int_equal(((uint32_t *)span->total)[i], (uint32_t)sum_of(w, round, index, i));
        else
            assert_true(((uint64_t *)span->total)[i] == sum_of(w, round, index, i));
}

/* At once in every other round, else as late as can be: when all other spans are complete. */
static bool decide(void *context, bool last, uint64_t *word)
{
    rank *self = context;
    assert_int_equal(self->index, 0);
    assert_true(self->asked++ == 0 || last);
    for (uint32_t s = 0; s < self->of->spans && last; s++)
        assert_true(self->told[s]);
    if (!last && self->round % 2 == 0)
        return false;
    *word = word_of(self->index, self->round, self->of->spans, 0);
    return true;
}

static sh_status run_round(rank *self, uint32_t round)
{
    const world *w = self->of;
    sh_span *spans = self->spans;
    self->round = round;
    self->asked = 0;
    memset(self->told, 0, sizeof self->told);
    sh_engine *engine = sh_ring_engine(self->ring);
    for (uint32_t s = 0; s < w->spans; s++) {
        for (size_t i = 0; i < w->lengths[s]; i++)
            self->narrow[s][i] = (uint32_t)word_of(self->index, round, s, i);
        spans[s] =
            (sh_span){self->narrow[s], self->narrow[s] + w->lengths[s], w->lengths[s], SH_WORD_I32};
    }
    for (size_t i = 0; i < w->lengths[0] + 3; i++)
        self->wide[i] = wide_of(self, round, i);
    spans[w->spans] =
        (sh_span){self->wide, self->wide + w->lengths[0] + 3, w->lengths[0] + 3, SH_WORD_U64};
    SH_TRY(sh_engine_begin(engine, spans, w->spans + 1));
    for (uint32_t s = 0; s <= w->spans; s++)
        sh_engine_ready(engine, s);
    SH_TRY(sh_engine_wait(engine));
    check_round(self, round);
    for (uint32_t s = 0; s <= w->spans; s++)
        assert_true(self->told[s]);
    assert_in_range(self->asked, self->index == 0, self->index == 0 ? 2 : 0);
    return SH_OK;
}

static void *rank_main(void *argument)
{
    rank *self = argument;
    self->status = SH_OK;
    for (uint32_t round = 0; round < self->of->rounds && self->status == SH_OK; round++) {
        if (round + 1 == self->of->rounds && self->index == self->of->deserter) {
            sh_engine_close(sh_ring_engine(self->ring));
            self->ring = NULL;
            return NULL;
        }
        self->status = run_round(self, round);
        snprintf(self->message, sizeof self->message, "%s", sh_message());
    }
    return NULL;
}

static void start_rank(world *w, uint32_t index)
{
    rank *self = &w->ranks[index];
    *self = (rank){.of = w, .index = index};
    for (uint32_t s = 0; s < w->spans; s++)
        self->narrow[s] = calloc(2 * w->lengths[s] + 1, sizeof *self->narrow[s]);
    self->wide = calloc(2 * (w->lengths[0] + 3), sizeof *self->wide);
    assert_ok(sh_loop_start(&self->loop));
    assert_ok(sh_ring_new(
        &self->ring,
        &(sh_ring_options){.loop = self->loop, .view = 7, .rank = index, .devices = w->devices}));
    assert_int_equal(sh_ring_engine(self->ring)->devices, w->devices);
    assert_true(sh_engine_watch(sh_ring_engine(self->ring),
                                &(sh_engine_watcher){.on_span = note_span, .context = self}));
    assert_int_equal(sh_engine_decide(sh_ring_engine(self->ring),
                                      &(sh_engine_decider){.decide = decide, .context = self}),
                     index == 0);
    sh_loop_call(self->loop, open_door, self);
}

static void stop_rank(rank *self)
{
    sh_loop_call(self->loop, shut_door, self); /* first: who comes in is given to the ring */
    if (self->ring != NULL)
        sh_engine_close(sh_ring_engine(self->ring));
    sh_loop_stop(self->loop);
    for (uint32_t s = 0; s < self->of->spans; s++)
        free(self->narrow[s]);
    free(self->wide);
}

static void run_world(world *w)
{
    assert_ok(sh_key_make(w->key));
    for (uint32_t i = 0; i < w->devices; i++)
        start_rank(w, i);
    for (uint32_t i = 0; i < w->devices; i++) {
        pthread_create(&w->ranks[i].thread, NULL, rank_main, &w->ranks[i]); /* before the links */
        sh_loop_call(w->ranks[i].loop, link_up, &w->ranks[i]);
    }
    for (uint32_t i = 0; i < w->devices; i++)
        pthread_join(w->ranks[i].thread, NULL);
}

static void end_world(world *w)
{
    for (uint32_t i = 0; i < w->devices; i++)
        stop_rank(&w->ranks[i]);
}

static void sums_are_exact_for_every_size(void **state)
{
    (void)state;
    for (uint32_t devices = 2; devices <= MAX_DEVICES; devices++) {
        const size_t n = devices;
        const size_t lengths[][MAX_SPANS] = {
            {0, 1, n - 1, n}, {n + 1, 0, 70001, 5}, {40000, 3, 2, 1}};
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            world w = {
                .devices = devices, .spans = MAX_SPANS, .rounds = ROUNDS, .deserter = UINT32_MAX};
            memcpy(w.lengths, lengths[i], sizeof w.lengths);
            run_world(&w);
            for (uint32_t r = 0; r < devices; r++)
                if (w.ranks[r].status != SH_OK)
                    fail_msg("rank %u of %u: %s", r, devices, w.ranks[r].message);
            end_world(&w);
        }
    }
}

/* Twice (N - 1) / N of the payload, and little more, goes over each link. */
static void bytes_on_the_wire_are_near_the_least(void **state)
{
    (void)state;
    world w = {.devices = 4, .spans = 1, .lengths = {400000}, .rounds = 1, .deserter = UINT32_MAX};
    run_world(&w);
    const sh_channel_stats stats = sh_ring_stats(w.ranks[0].ring);
    const double least = 2.0 * 3 / 4 * (400000 * 4 + 400003 * 8);
    assert_true((double)stats.sent_bytes > least);
    assert_true((double)stats.sent_bytes < 1.01 * least + 4096);
    end_world(&w);
}

static void a_lost_device_ends_the_round_for_its_neighbours(void **state)
{
    (void)state;
    world w = {.devices = 2, .spans = 1, .lengths = {1000}, .rounds = 2, .deserter = 1};
    run_world(&w);
    assert_int_equal(w.ranks[0].status, SH_PEER_LOST);
    assert_non_null(strstr(w.ranks[0].message, "the link "));
    for (uint32_t r = 0; r < 2; r++) /* rank 1 has not begun the last round */
        check_own(&w.ranks[r], w.rounds - 1 - r);
    end_world(&w);
}

static void *abort_soon(void *argument)
{
    sh_ring_abort(argument, SH_ABORTED, "enough");
    return NULL;
}

static void an_abort_ends_the_wait(void **state)
{
    (void)state;
    world w = {.devices = 2, .spans = 1, .lengths = {10}, .rounds = 0, .deserter = UINT32_MAX};
    pthread_t thread;
    uint32_t words[20] = {0};
    const sh_span span = {words, words + 10, 10, SH_WORD_I32};
    run_world(&w); /* nobody takes part, so no round can end */
    sh_engine *engine = sh_ring_engine(w.ranks[0].ring);
    assert_ok(sh_engine_begin(engine, &span, 1));
    sh_engine_ready(engine, 0);
    pthread_create(&thread, NULL, abort_soon, w.ranks[0].ring);
    assert_fails(sh_engine_wait(engine), SH_ABORTED, "enough");
    pthread_join(thread, NULL);
    end_world(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_exact_for_every_size),
        cmocka_unit_test(bytes_on_the_wire_are_near_the_least),
        cmocka_unit_test(a_lost_device_ends_the_round_for_its_neighbours),
        cmocka_unit_test(an_abort_ends_the_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
