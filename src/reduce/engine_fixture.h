/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: engines connected over the loopback. Each rank has its own loop, listener and step's
 * thread.
 *
 *     world w = {.kind = &sh_engine_ring, .devices = 3, .spans = 1, .lengths = {70001},
 *                .rounds = 3, .deserter = UINT32_MAX};
 *     run_world(&w);
 *     end_world(&w);
 *
 * Threads: one test's.
 */
#ifndef SHOAL_REDUCE_ENGINE_FIXTURE_H
#define SHOAL_REDUCE_ENGINE_FIXTURE_H

#include <endian.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/test.h"
#include "net/key.h"
#include "net/listener.h"
#include "reduce/engines.h"

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
    sh_engine *engine;
    pthread_t thread;
    sh_status status;
    char message[SH_MESSAGE_BYTES];
    void *narrow[MAX_SPANS]; /* own words of a span, then its total */
    uint64_t *wide;          /* of the U64 span, likewise */
    uint32_t asked;
    bool decides;
    bool told[MAX_SPANS + 1];     /* by the watcher; the loop's until the round ends */
    sh_span spans[MAX_SPANS + 1]; /* a failed round reads them until close */
} rank;

struct world {
    const sh_engine_kind *kind;
    bool (*decides)(const rank *self); /* whether it has a decider; NULL: rank 0 has */
    uint32_t devices;
    bool serves[MAX_DEVICES];
    size_t lengths[MAX_SPANS]; /* the U64 span has lengths[0] + 3 words */
    uint32_t spans;
    unsigned char key[SH_KEY_BYTES];
    uint32_t rounds;
    uint32_t deserter; /* rank that leaves in the last round, or UINT32_MAX */
    uint32_t late;     /* 1 + rank with only span 0 ready until the others are ready; or 0 */
    pthread_mutex_t lock;
    pthread_cond_t come;
    uint32_t come_count;       /* rounds that the other ranks made ready; guarded by lock */
    void *(*main)(void *rank); /* NULL: rank_main */
    rank ranks[MAX_DEVICES];
};

/* ---- links ----------------------------------------------------------------------------------- */

static inline void name_link(char identity[32], uint32_t from)
{
    snprintf(identity, 32, "link/%u", from);
}

static inline void accept_other(void *context, sh_channel *channel, const char *identity)
{
    rank *self = context;
    const world *w = self->of;
    unsigned from;
    assert_int_equal(sscanf(identity, "link/%u", &from), 1);
    assert_true(w->kind->links(w->serves, w->devices, from, self->index));
    assert_ok(self->engine->ops->take(self->engine, from, channel));
}

static inline void open_door(void *context)
{
    rank *self = context;
    char identity[32];
    assert_ok(sh_listener_open(
        &self->listener, self->loop,
        &(sh_listener_options){.host = "127.0.0.1", .on_accept = accept_other, .context = self}));
    for (uint32_t i = 0; i < self->of->devices; i++) {
        name_link(identity, i);
        assert_ok(sh_listener_allow(self->listener, identity, self->of->key));
    }
    self->port = sh_listener_port(self->listener);
}

static inline void link_up(void *context)
{
    const rank *self = context;
    const world *w = self->of;
    char identity[32];
    name_link(identity, self->index);
    for (uint32_t to = 0; to < w->devices; to++) {
        const sh_channel_target target = {
            .host = "127.0.0.1", .port = w->ranks[to].port, .identity = identity, .key = w->key};
        if (to != self->index && w->kind->links(w->serves, w->devices, self->index, to))
            assert_ok(self->engine->ops->connect(self->engine, to, &target));
    }
}

static inline sh_channel_stats bytes_of(const rank *self)
{
    return self->engine->ops->stats(self->engine);
}

static inline void shut_door(void *context)
{
    rank *self = context;
    sh_listener_close(self->listener);
}

/* ---- servers --------------------------------------------------------------------------------- */

static inline bool first_serves(const rank *self)
{
    return self->index == 0 && self->of->serves[0];
}

static inline world world_of(uint32_t devices, uint32_t mask)
{
    world w = {.kind = &sh_engine_servers, .decides = first_serves, .devices = devices};
    for (uint32_t i = 0; i < devices; i++)
        w.serves[i] = (mask >> i & 1) != 0;
    return w;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Without the last span, which has SH_WORD_U64. */
static const sh_word span_kinds[MAX_SPANS] = {SH_WORD_I32, SH_WORD_I16, SH_WORD_I8, SH_WORD_I16};

static inline uint64_t read_word(const void *block, size_t i, sh_word kind)
{
    const size_t bytes = sh_words_bytes(kind);
    uint64_t word = 0;
    memcpy(&word, (const unsigned char *)block + i * bytes, bytes);
    return le64toh(word);
}

static inline uint64_t cut(uint64_t value, sh_word kind)
{
    return value & UINT64_MAX >> (64 - 8 * sh_words_bytes(kind));
}

static inline void write_word(void *block, size_t i, sh_word kind, uint64_t value)
{
    const size_t bytes = sh_words_bytes(kind);
    value = htole64(value);
    memcpy((unsigned char *)block + i * bytes, &value, bytes);
}

/* Words are mixed, so errors do not cancel, and large, so sums wrap around. */
static inline uint64_t word_of(uint32_t rank_index, uint32_t round, uint32_t span, size_t i)
{
    const uint64_t which = (rank_index * 16u + round) * 16u + span + 1;
    const uint64_t word = which * 0x9e3779b97f4a7c15u + (i + 1) * 0xc2b2ae3d27d4eb4fu;
    return (word ^ word >> 29) * 0xbf58476d1ce4e5b9u;
}

static inline uint64_t wide_of(const rank *self, uint32_t round, size_t i)
{
    return self->decides && i == 0 ? 0 : word_of(self->index, round, self->of->spans, i);
}

static inline uint64_t sum_of(const world *w, uint32_t round, uint32_t span, size_t i)
{
    uint64_t sum = 0;
    for (uint32_t r = 0; r < w->devices; r++)
        sum += word_of(r, round, span, i);
    return sum;
}

static inline void check_round(const rank *self, uint32_t round)
{
    const world *w = self->of;
    for (uint32_t s = 0; s < w->spans; s++)
        for (size_t i = 0; i < w->lengths[s]; i++)
            if (read_word(self->narrow[s], w->lengths[s] + i, span_kinds[s]) !=
                cut(sum_of(w, round, s, i), span_kinds[s]))
                fail_msg("%u devices, span %u of %zu words, word %zu", w->devices, s, w->lengths[s],
                         i);
    for (size_t i = 0; i < w->lengths[0] + 3; i++)
        assert_true(self->wide[w->lengths[0] + 3 + i] == sum_of(w, round, w->spans, i));
}

static inline void check_own(const rank *self, uint32_t round)
{
    const world *w = self->of;
    for (uint32_t s = 0; s < w->spans; s++)
        for (size_t i = 0; i < w->lengths[s]; i++)
            assert_int_equal(read_word(self->narrow[s], i, span_kinds[s]),
                             cut(word_of(self->index, round, s, i), span_kinds[s]));
    for (size_t i = 0; i < w->lengths[0] + 3; i++)
        assert_true(self->wide[i] == wide_of(self, round, i));
}

static inline void note_span(void *context, uint32_t index, const sh_span *span)
{
    rank *self = context;
    const world *w = self->of;
    const uint32_t round = self->round;
    assert_ptr_equal(span->own, self->spans[index].own);
    assert_false(self->told[index]);
    self->told[index] = true;
    for (size_t i = 0; i < span->count; i++)
        assert_true(read_word(span->total, i, span->word) ==
                    cut(sum_of(w, round, index, i), span->word));
}

static inline bool decide_late(void *context, bool last, uint64_t *word)
{
    rank *self = context;
    assert_true(self->decides);
    assert_true(self->asked++ == 0 || last);
    for (uint32_t s = 0; s < self->of->spans && last; s++)
        assert_true(self->told[s]);
    if (!last && self->round % 2 == 0)
        return false;
    *word = word_of(self->index, self->round, self->of->spans, 0);
    return true;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static inline void wait_for_others(world *w, uint32_t round)
{
    pthread_mutex_lock(&w->lock);
    while (w->come_count < (w->devices - 1) * (round + 1))
        pthread_cond_wait(&w->come, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

static inline void have_come(world *w)
{
    pthread_mutex_lock(&w->lock);
    w->come_count++;
    pthread_cond_broadcast(&w->come);
    pthread_mutex_unlock(&w->lock);
}

static inline sh_status run_round(rank *self, uint32_t round)
{
    const world *w = self->of;
    sh_span *spans = self->spans;
    self->round = round;
    self->asked = 0;
    memset(self->told, 0, sizeof self->told);
    for (uint32_t s = 0; s < w->spans; s++) {
        for (size_t i = 0; i < w->lengths[s]; i++)
            write_word(self->narrow[s], i, span_kinds[s], word_of(self->index, round, s, i));
        spans[s] = (sh_span){.own = self->narrow[s],
                             .total = (unsigned char *)self->narrow[s] +
                                      w->lengths[s] * sh_words_bytes(span_kinds[s]),
                             .count = w->lengths[s],
                             .word = span_kinds[s]};
    }
    for (size_t i = 0; i < w->lengths[0] + 3; i++)
        self->wide[i] = wide_of(self, round, i);
    spans[w->spans] = (sh_span){.own = self->wide,
                                .total = self->wide + w->lengths[0] + 3,
                                .count = w->lengths[0] + 3,
                                .word = SH_WORD_U64};
    SH_TRY(sh_engine_begin(self->engine, spans, w->spans + 1));
    const bool late = self->index + 1 == w->late;
    for (uint32_t s = 0; s <= w->spans; s++) {
        if (s == 1 && late)
            wait_for_others(self->of, round);
        sh_engine_ready(self->engine, s);
    }
    if (!late)
        have_come(self->of);
    SH_TRY(sh_engine_wait(self->engine));
    check_round(self, round);
    for (uint32_t s = 0; s <= w->spans; s++)
        assert_true(self->told[s]);
    assert_in_range(self->asked, self->decides, self->decides ? 2 : 0);
    return SH_OK;
}

static inline void *rank_main(void *argument)
{
    rank *self = argument;
    self->status = SH_OK;
    for (uint32_t round = 0; round < self->of->rounds && self->status == SH_OK; round++) {
        if (round + 1 == self->of->rounds && self->index == self->of->deserter) {
            sh_engine_close(self->engine);
            self->engine = NULL;
            return NULL;
        }
        self->status = run_round(self, round);
        snprintf(self->message, sizeof self->message, "%s", sh_message());
    }
    return NULL;
}

/* ---- life ------------------------------------------------------------------------------------ */

static inline void start_rank(world *w, uint32_t index)
{
    rank *self = &w->ranks[index];
    *self = (rank){.of = w, .index = index};
    for (uint32_t s = 0; s < w->spans; s++)
        self->narrow[s] = calloc(2 * w->lengths[s] + 1, sh_words_bytes(span_kinds[s]));
    self->wide = calloc(2 * (w->lengths[0] + 3), sizeof *self->wide);
    assert_ok(sh_loop_start(&self->loop));
    assert_ok(w->kind->make(&self->engine, &(sh_engine_options){.loop = self->loop,
                                                                .view = 7,
                                                                .rank = index,
                                                                .devices = w->devices,
                                                                .serves = w->serves}));
    self->decides = w->decides != NULL ? w->decides(self) : index == 0;
    assert_int_equal(self->engine->devices, w->devices);
    assert_true(
        sh_engine_watch(self->engine, &(sh_engine_watcher){.on_span = note_span, .context = self}));
    assert_int_equal(sh_engine_decide(self->engine,
                                      &(sh_engine_decider){.decide = decide_late, .context = self}),
                     self->decides);
    sh_loop_call(self->loop, open_door, self);
}

static inline void stop_rank(rank *self)
{
    sh_loop_call(self->loop, shut_door, self); /* first: it passes channels to the engine */
    sh_engine_close(self->engine);
    sh_loop_stop(self->loop);
    for (uint32_t s = 0; s < self->of->spans; s++)
        free(self->narrow[s]);
    free(self->wide);
}

static inline void run_world(world *w)
{
    assert_ok(sh_key_make(w->key));
    w->come_count = 0;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->come, NULL);
    for (uint32_t i = 0; i < w->devices; i++)
        start_rank(w, i);
    for (uint32_t i = 0; i < w->devices; i++) {
        pthread_create(&w->ranks[i].thread, NULL, w->main != NULL ? w->main : rank_main,
                       &w->ranks[i]);
        sh_loop_call(w->ranks[i].loop, link_up, &w->ranks[i]);
    }
    for (uint32_t i = 0; i < w->devices; i++)
        pthread_join(w->ranks[i].thread, NULL);
}

static inline void end_world(world *w)
{
    for (uint32_t i = 0; i < w->devices; i++)
        stop_rank(&w->ranks[i]);
    pthread_cond_destroy(&w->come);
    pthread_mutex_destroy(&w->lock);
}

static inline void check_all_sizes(world *w)
{
    const size_t n = w->devices;
    const size_t lengths[][MAX_SPANS] = {
        {0, 1, n - 1, n}, {n + 1, 0, 70001, 5}, {40000, 3, 2, 1}, {3, 70001, n, 0}};
    w->spans = MAX_SPANS;
    w->rounds = ROUNDS;
    w->deserter = UINT32_MAX;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        memcpy(w->lengths, lengths[i], sizeof w->lengths);
        run_world(w);
        for (uint32_t r = 0; r < w->devices; r++)
            if (w->ranks[r].status != SH_OK)
                fail_msg("rank %u of %u: %s", r, w->devices, w->ranks[r].message);
        end_world(w);
    }
}

static inline void *abort_soon(void *argument)
{
    sh_engine_abort(argument, SH_ABORTED, "enough");
    return NULL;
}

static inline void check_abort(world *w)
{
    pthread_t thread;
    uint32_t words[20] = {0};
    const sh_span span = {.own = words, .total = words + 10, .count = 10, .word = SH_WORD_I32};
    w->rounds = 0;
    w->deserter = UINT32_MAX;
    run_world(w);
    sh_engine *engine = w->ranks[0].engine;
    assert_ok(sh_engine_begin(engine, &span, 1));
    sh_engine_ready(engine, 0);
    pthread_create(&thread, NULL, abort_soon, engine);
    assert_fails(sh_engine_wait(engine), SH_ABORTED, "enough");
    pthread_join(thread, NULL);
    end_world(w);
}

#endif
