/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rounds of an engine that works on the loop's thread: requests of the step's thread and the
 * lanes on one side, the loop's work on the other, and the end of a round. sh_round is the first
 * member of the engine's links (reduce/links.h), and so of the engine.
 *
 *     {.begin = sh_round_begin, .ready = sh_round_ready, ...}     // of the engine's sh_engine_ops
 *     ... on_begin, on_ready, on_look ...                         // the engine's work, on the loop
 *     sh_round_complete(&engine->round, span);                    // its total is the sum
 *     sh_round_leave(&engine->round, span);                       // and nothing is outstanding
 *
 * Threads: stated per function. "Loop only" as in net/loop.h; so are the events.
 */
#ifndef SHOAL_REDUCE_ROUND_H
#define SHOAL_REDUCE_ROUND_H

#include <pthread.h>

#include "net/loop.h"
#include "reduce/engine.h"

typedef struct sh_round sh_round;

typedef struct sh_round_events {
    void (*on_begin)(sh_round *round); /* the one before has ended */
    void (*on_ready)(sh_round *round, uint32_t span);
    void (*on_look)(sh_round *round); /* after one or several of these: paused work may continue */
    void (*on_last)(sh_round *round); /* only the last span is left: sh_round_settle may succeed */
} sh_round_events;

/* Members of the loop may be read on the loop's thread. */
struct sh_round {
    sh_engine engine; /* first */
    sh_loop *loop;
    sh_round_events events;

    /* The loop's. */
    uint32_t number; /* of the open or last round, from 1 */
    const sh_span *spans;
    uint32_t span_count;
    uint32_t spans_left;
    sh_engine_watcher watching; /* of the round, as is the decider */
    sh_engine_decider deciding;
    bool asked;
    bool decided; /* the word is in the last span, or there is no decider */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t ended; /* the round ended or failed */
    uint32_t begun;       /* rounds, by the step's thread */
    uint32_t finished;    /* rounds, by the loop */
    bool waiting;         /* as sh_round_waits */
    size_t gathered;      /* words */
    const sh_span *begun_spans;
    uint32_t begun_count;
    bool announced[SH_ENGINE_MAX_SPANS]; /* ready, not yet seen by the loop */
    bool posted;                         /* a look is on its way */
    sh_engine_watcher watcher;           /* of the next round, as is the decider */
    sh_engine_decider decider;
    sh_status failure;
    char reason[SH_MESSAGE_BYTES];
};

/* `engine` and `events` are copied, the loop is borrowed until release. Any thread. */
void sh_round_init(sh_round *round, const sh_engine *engine, sh_loop *loop,
                   const sh_round_events *events);

/* Requires that no look is posted: call after a sh_loop_call. Not the loop's thread. */
void sh_round_release(sh_round *round);

/* For the engine's ops; the engine decides who may be asked in the last one. */
sh_status sh_round_begin(sh_engine *engine, const sh_span *spans, uint32_t count) SHOAL_CHECKED;
void sh_round_ready(sh_engine *engine, uint32_t span);
sh_status sh_round_gathered(sh_engine *engine, size_t have, size_t *words) SHOAL_CHECKED;
sh_status sh_round_wait(sh_engine *engine) SHOAL_CHECKED;
void sh_round_watch(sh_engine *engine, const sh_engine_watcher *watcher);
void sh_round_abort(sh_engine *engine, sh_status status, const char *reason);
void sh_round_decide(sh_round *round, const sh_engine_decider *decider);

/* Under the lock. sh_round_wake wakes all threads that wait. */
void sh_round_await(sh_round *round);
void sh_round_wake(sh_round *round);

/* Returns whether a thread waits and was not woken; one that was woken and does not continue hangs.
 * Any thread. */
bool sh_round_waits(sh_round *round);

/* Wakes the waiting thread, which continues to wait unless it hangs. Any thread. */
void sh_round_call(sh_round *round);

/* All later rounds fail too; only the first failure counts. Any thread. */
void sh_round_fail(sh_round *round, sh_status status, const char *reason);

/*
 * Returns whether word 0 of a span may leave this device. That of the last span must be decided:
 * calls the decider, at the first chance and once all other spans are left, and adds its word to
 * the total. Loop only.
 */
bool sh_round_settle(sh_round *round, uint32_t span);

/* Loop only. */
void sh_round_add_gathered(sh_round *round, size_t words);

/* Notifies the watcher, unless word 0 is undecided. Loop only. */
void sh_round_complete(const sh_round *round, uint32_t span);

/* The span is complete, and everything that others need of it was sent; the last span ends the
 * round. Loop only. */
void sh_round_leave(sh_round *round);

#endif
