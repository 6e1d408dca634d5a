/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums integers across devices.
 *
 *     SH_TRY(sh_engine_begin(engine, spans, count));   // every device, same spans, same order
 *     ... sh_engine_ready(engine, 0) as soon as this device's part of span 0 is complete ...
 *     SH_TRY(sh_engine_wait(engine));                  // now `total` of every span is the sum
 *
 * Additions are modulo 2 to the number of a word's bits, so order and topology do not matter. Each
 * device makes the same calls in the same order.
 *
 * A failed round leaves every `own` unchanged and `total` undefined. The engine cannot be used
 * again, and must be closed before anyone writes to either.
 *
 * Threads: begin and wait: one thread, the step's. ready: any thread, once per span and round.
 */
#ifndef SHOAL_REDUCE_ENGINE_H
#define SHOAL_REDUCE_ENGINE_H

#include "net/channel.h"
#include "reduce/words.h"

#define SH_ENGINE_MAX_SPANS 256

/* Notified as soon as a span's total is complete here. All zero: no watcher. */
typedef struct sh_engine_watcher {
    /* Called on any thread (ring and servers: their loop's) before the round's wait returns. Must
     * not block. */
    void (*on_span)(void *context, uint32_t index, const sh_span *span);
    void *context; /* borrowed until another watcher is set or the engine is closed */
} sh_engine_watcher;

/*
 * A word that one device adds to word 0 of the round's last span as late as possible. Its `own` has
 * 0 there.
 */
typedef struct sh_engine_decider {
    /* Returns true with *word set, or, unless `last`, false: it is called again when all other
     * spans are complete, for which the other devices then wait. Called on any thread (ring and
     * servers: their loop's), even for a failed round until close. Must not block. */
    bool (*decide)(void *context, bool last, uint64_t *word);
    void *context; /* borrowed until the engine is closed */
} sh_engine_decider;

typedef struct sh_engine sh_engine;
struct sh_exchange;

/* begin, ready, wait and close are required with other devices; NULL does nothing. */
typedef struct sh_engine_ops {
    const char *name;

    /* Does not block. */
    sh_status (*begin)(sh_engine *engine, const sh_span *spans, uint32_t count);

    /* Does not block. */
    void (*ready)(sh_engine *engine, uint32_t span);

    /* Optional. Waits for more than `have` words of a gathered span, in whole parts. */
    sh_status (*gathered)(sh_engine *engine, size_t have, size_t *words);

    /* SH_PEER_LOST, or the status of an abort. */
    sh_status (*wait)(sh_engine *engine);

    /* Optional. From the next round on; `watcher` is copied. */
    void (*watch)(sh_engine *engine, const sh_engine_watcher *watcher);

    /* Optional. From the next round on; `decider` is copied. False: not on this device. */
    bool (*decide)(sh_engine *engine, const sh_engine_decider *decider);

    /* Optional (reduce/exchange.h); lives as long as the engine. */
    struct sh_exchange *(*exchange)(sh_engine *engine);

    /* Optional. Any thread. This round and all later ones fail: SH_ABORTED if another engine
     * follows. Until close, links remain open and totals may be written. */
    void (*abort)(sh_engine *engine, sh_status status, const char *reason);

    /* The next six are required for an engine with links (reduce/engines.h), and NULL in others.
     * Connects to a rank; a later failure ends the rounds. Loop only. */
    sh_status (*connect)(sh_engine *engine, uint32_t rank, const sh_channel_target *target);

    /* Takes over `channel`. SH_REFUSED: the rank has one already. Loop only. */
    sh_status (*take)(sh_engine *engine, uint32_t rank, sh_channel *channel);

    /* Includes closed links. Any thread. */
    sh_channel_stats (*stats)(sh_engine *engine);

    /* The largest sh_channel_stuck_ms of a link, and its *rank; or 0. Loop only. */
    uint32_t (*stuck_ms)(sh_engine *engine, uint32_t *rank);

    bool (*waits)(sh_engine *engine); /* sh_round_waits. Any thread */
    void (*call)(sh_engine *engine);  /* sh_round_call. Any thread */
    void (*close)(sh_engine *engine);
} sh_engine_ops;

/* First member of every engine's own struct. */
struct sh_engine {
    const sh_engine_ops *ops;
    uint32_t devices; /* 1: `own` and `total` of every span are the same block */
};

static inline sh_status sh_engine_begin(sh_engine *engine, const sh_span *spans, uint32_t count)
{
    return engine->ops->begin == NULL ? SH_OK : engine->ops->begin(engine, spans, count);
}

static inline void sh_engine_ready(sh_engine *engine, uint32_t span)
{
    if (engine->ops->ready != NULL)
        engine->ops->ready(engine, span);
}

static inline sh_status sh_engine_wait(sh_engine *engine)
{
    return engine->ops->wait == NULL ? SH_OK : engine->ops->wait(engine);
}

/* Returns false if unsupported: totals are complete when wait returns. Step's thread, between
 * rounds. */
static inline bool sh_engine_watch(sh_engine *engine, const sh_engine_watcher *watcher)
{
    if (engine->ops->watch == NULL)
        return false;
    engine->ops->watch(engine, watcher);
    return true;
}

/* Returns false if unsupported: the word must be in the own part. Step's thread, between rounds. */
static inline bool sh_engine_decide(sh_engine *engine, const sh_engine_decider *decider)
{
    return engine->ops->decide != NULL && engine->ops->decide(engine, decider);
}

static inline void sh_engine_abort(sh_engine *engine, sh_status status, const char *reason)
{
    engine->ops->abort(engine, status, reason);
}

static inline void sh_engine_close(sh_engine *engine)
{
    if (engine != NULL && engine->ops->close != NULL)
        engine->ops->close(engine);
}

/* For a single device. Static; closing does nothing. */
sh_engine *sh_engine_solo(void);

#endif
