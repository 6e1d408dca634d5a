/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums integers across devices. The common interface of `solo` (one device), `ring`, `servers` and
 * `mpi`.
 *
 *     SH_TRY(sh_engine_begin(engine, spans, count));   // every device, same spans, same order
 *     ... sh_engine_ready(engine, 0) as soon as this device's part of span 0 is complete ...
 *     SH_TRY(sh_engine_wait(engine));                  // now `total` of every span is the sum
 *
 * Additions are modulo 2 to the number of a word's bits, so order and topology do not matter.
 * Rounds follow each other; each device makes the same calls in the same order.
 *
 * A failed round leaves every `own` unchanged and `total` undefined. The engine cannot be used
 * again; until it is closed it may still write `total` and read `own`, so close it before writing
 * to either.
 *
 * Threads: begin and wait: one thread, the step's. ready: any thread, once per span and round.
 */
#ifndef SHOAL_REDUCE_ENGINE_H
#define SHOAL_REDUCE_ENGINE_H

#include "net/channel.h"
#include "reduce/words.h"

#define SH_ENGINE_MAX_SPANS 256

/* Notified as soon as a span's total is complete on this device. All zero: no watcher. */
typedef struct sh_engine_watcher {
    /* Span `index` of the round. Called on any thread (ring and servers: their loop's) before the
     * round's wait returns. Must not block. */
    void (*on_span)(void *context, uint32_t index, const sh_span *span);
    void *context; /* borrowed until another watcher is set or the engine is closed */
} sh_engine_watcher;

/*
 * A word that one device adds to word 0 of the round's last span as late as possible, because it
 * depends on late events. Its `own` has 0 there.
 */
typedef struct sh_engine_decider {
    /* True: *word is set and may be 0. False, allowed only if not `last`: call again when all other
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

    /* Starts a round; does not block. */
    sh_status (*begin)(sh_engine *engine, const sh_span *spans, uint32_t count);

    /* This device's part of a span is complete. Does not block. */
    void (*ready)(sh_engine *engine, uint32_t span);

    /* Optional. Waits for more than `have` words of a gathered span, in whole parts. */
    sh_status (*gathered)(sh_engine *engine, size_t have, size_t *words);

    /* Blocks until all totals are complete. SH_PEER_LOST, or the status of an abort. */
    sh_status (*wait)(sh_engine *engine);

    /* Optional. From the next round on, `watcher` (copied) is notified of complete spans. */
    void (*watch)(sh_engine *engine, const sh_engine_watcher *watcher);

    /* Optional. From the next round on, `decider` (copied) is called. False: not on this device. */
    bool (*decide)(sh_engine *engine, const sh_engine_decider *decider);

    /* Optional. For strategies in laps (reduce/exchange.h); lives as long as the engine. */
    struct sh_exchange *(*exchange)(sh_engine *engine);

    /* Optional. Any thread. Ends this round and all later ones with this failure: SH_ABORTED if
     * another engine follows. Until close, links remain open and totals may be written. */
    void (*abort)(sh_engine *engine, sh_status status, const char *reason);

    /* The next six are required for an engine with links (reduce/engines.h), and NULL in others.
     * Connects to a rank; a later failure ends the rounds. Loop only. */
    sh_status (*connect)(sh_engine *engine, uint32_t rank, const sh_channel_target *target);

    /* Takes over a channel that a rank opened. SH_REFUSED: there is one already. Loop only. */
    sh_status (*take)(sh_engine *engine, uint32_t rank, sh_channel *channel);

    /* Bytes sent and received on all links, including closed ones. Any thread. */
    sh_channel_stats (*stats)(sh_engine *engine);

    /* The largest sh_channel_stuck_ms of a link, and its *rank; or 0. Loop only. */
    uint32_t (*stuck_ms)(sh_engine *engine, uint32_t *rank);

    bool (*waits)(sh_engine *engine); /* sh_round_waits. Any thread */
    void (*call)(sh_engine *engine);  /* sh_round_call. Any thread */
    /* Ends and frees the engine; an open round is lost. */
    void (*close)(sh_engine *engine);
} sh_engine_ops;

/* The first member of every engine's own struct. */
struct sh_engine {
    const sh_engine_ops *ops;
    uint32_t devices; /* that it sums over; 1: `own` and `total` of every span are the same block */
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

/* False: unsupported; totals are complete when wait returns. Step's thread, between rounds. */
static inline bool sh_engine_watch(sh_engine *engine, const sh_engine_watcher *watcher)
{
    if (engine->ops->watch == NULL)
        return false;
    engine->ops->watch(engine, watcher);
    return true;
}

/* False: unsupported; the word must be in the own part. Step's thread, between rounds. */
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

/* For a single device: its part is the sum. Static; closing does nothing. */
sh_engine *sh_engine_solo(void);

#endif
