/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What adds integers up across devices. The seam behind which stand `solo` (one device), `ring`,
 * `servers` and `mpi`.
 *
 *     SH_TRY(sh_engine_begin(engine, spans, count));   // every device, same spans, same order
 *     ... sh_engine_ready(engine, 0) as soon as this device's part of span 0 is complete ...
 *     SH_TRY(sh_engine_wait(engine));                  // now `total` of every span is the sum
 *
 * Additions are modulo 2 to the number of a word's bits, so order and topology do not matter.
 * Rounds follow each other; each device makes the same calls in the same order.
 *
 * A round that fails leaves every `own` as it was and anything in `total`. The engine is then of no
 * more use, and may still write into `total` and read `own` until it is closed: close it before
 * either is written to.
 *
 * Threads: begin and wait: one thread, the step's. ready: any thread, once a span and round.
 */
#ifndef SHOAL_REDUCE_ENGINE_H
#define SHOAL_REDUCE_ENGINE_H

#include "net/channel.h"
#include "reduce/words.h"

#define SH_ENGINE_MAX_SPANS 256

/* Who is told as soon as a span's total is complete on this device. Zero: nobody. */
typedef struct sh_engine_watcher {
    /* Span number `index` of the round. Any thread, the ring and the servers: their loop's; before
     * the round's wait returns. Must not block. */
    void (*on_span)(void *context, uint32_t index, const sh_span *span);
    void *context; /* borrowed until another watcher is set or the engine is closed */
} sh_engine_watcher;

/*
 * A word that one device adds to word 0 of the round's last span, as late as it can be: where it
 * rests on what may come to be known until the end. Its `own` has 0 there.
 */
typedef struct sh_engine_decider {
    /* True: *word is it, and may be 0. False, only where this is not the `last` chance: to be asked
     * once more when all other spans are complete, for which the others wait then. Any thread, the
     * ring and the servers: their loop's; also of a round that has failed, until the engine is
     * closed. Must not block. */
    bool (*decide)(void *context, bool last, uint64_t *word);
    void *context; /* borrowed until the engine is closed */
} sh_engine_decider;

typedef struct sh_engine sh_engine;
struct sh_exchange;

/* begin, ready, wait and close are required where there are other devices; NULL does nothing. */
typedef struct sh_engine_ops {
    const char *name;

    /* Starts a round; does not block. */
    sh_status (*begin)(sh_engine *engine, const sh_span *spans, uint32_t count);

    /* This device's part of a span is complete. Does not block. */
    void (*ready)(sh_engine *engine, uint32_t span);

    /* Optional: it gathers. Waits for more than `have` words of such a span, whole parts. */
    sh_status (*gathered)(sh_engine *engine, size_t have, size_t *words);

    /* Blocks until all totals are complete, or fails: SH_PEER_LOST, or as it was aborted. */
    sh_status (*wait)(sh_engine *engine);

    /* Optional. From the next round on, `watcher` (copied) is told of complete spans. */
    void (*watch)(sh_engine *engine, const sh_engine_watcher *watcher);

    /* Optional. From the next round on, `decider` (copied) is asked. False: not on this device. */
    bool (*decide)(sh_engine *engine, const sh_engine_decider *decider);

    /* Optional. For devices that train apart (reduce/exchange.h); lives as long as the engine. */
    struct sh_exchange *(*exchange)(sh_engine *engine);

    /* Optional. Any thread. Ends this round and all later ones with this failure: SH_ABORTED where
     * another engine follows. Links stay open and totals may be written until it is closed. */
    void (*abort)(sh_engine *engine, sh_status status, const char *reason);

    /* The next six: required of an engine with links (reduce/engines.h), NULL in others. Links to
     * a rank. What goes wrong later ends the rounds. Loop only. */
    sh_status (*connect)(sh_engine *engine, uint32_t rank, const sh_channel_target *target);

    /* Takes the channel that a rank has opened to this one. SH_REFUSED: there is one. Loop only. */
    sh_status (*take)(sh_engine *engine, uint32_t rank, sh_channel *channel);

    /* Bytes on the wire of all links, also of those that are gone. Any thread. */
    sh_channel_stats (*stats)(sh_engine *engine);

    /* sh_channel_stuck_ms of the link that stands still the longest, to *rank; or 0. Loop only. */
    uint32_t (*stuck_ms)(sh_engine *engine, uint32_t *rank);

    bool (*waits)(sh_engine *engine); /* sh_round_waits. Any thread */
    void (*call)(sh_engine *engine);  /* sh_round_call. Any thread */
    /* Ends and frees it; a round that is open is lost. */
    void (*close)(sh_engine *engine);
} sh_engine_ops;

/* The head of every engine; an engine's own struct begins with it. */
struct sh_engine {
    const sh_engine_ops *ops;
    uint32_t devices; /* that it adds up; 1: `own` and `total` of every span are one block */
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

/* False: it tells nobody, and totals are complete when wait returns. The step's, between rounds. */
static inline bool sh_engine_watch(sh_engine *engine, const sh_engine_watcher *watcher)
{
    if (engine->ops->watch == NULL)
        return false;
    engine->ops->watch(engine, watcher);
    return true;
}

/* False: it cannot be asked so late, the word has to be in its own part. The step's, likewise. */
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

/* Of a device that is alone: its part is the sum. Static; closing does nothing. */
sh_engine *sh_engine_solo(void);

#endif
