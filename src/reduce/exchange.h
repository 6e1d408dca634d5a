/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The asynchronous parameter server over the links of reduce/servers: devices exchange updates at
 * their own pace, in laps; at the end of each lap all are equal again.
 *
 *     SH_TRY(sh_exchange_begin(exchange, &lap));             // every device
 *     while (sh_exchange_take(exchange, false, &update) == SH_OK && update != SH_EXCHANGE_OVER) {
 *         ... compute update number `update` with lap.weights ...
 *         SH_TRY(sh_exchange_settle(exchange));              // the previous one is applied
 *         ... write lap.numbers and lap.words ...
 *         SH_TRY(sh_exchange_push(exchange));                // does not wait
 *     }
 *
 * The arrays are cut into a shard per server. A server applies each update to its shard on arrival,
 * and sends the shard to each device that is about to begin an update. So a device computes with
 * all its own updates, and with those of others that a bound requires (Ho et al. 2013,
 * "read-my-writes"). The first server deals the updates (reduce/dispatcher.h). Once all are
 * applied, it announces the end, with its device's state, and each server sends its shard of all
 * arrays to all devices.
 *
 * A failed lap leaves everything undefined, except `words`; close the engine before using any of
 * it.
 *
 * Threads: the step's, unless stated. From take to the next take, only the caller accesses weights;
 * from settle (or begin) to push, only the caller accesses numbers and words.
 */
#ifndef SHOAL_REDUCE_EXCHANGE_H
#define SHOAL_REDUCE_EXCHANGE_H

#include "reduce/links.h"

#define SH_EXCHANGE_OVER UINT32_MAX
#define SH_EXCHANGE_UPDATES_MAX 65535u /* of a lap */

typedef struct sh_exchange sh_exchange;

/* Borrowed until sh_exchange_free. */
typedef struct sh_exchange_options {
    sh_links *links; /* by rank; not used before a lap */
    uint32_t rank, devices;
    const bool *serves;     /* of each rank */
    const uint32_t *shards; /* number of each serving rank's shard */
    uint32_t server_count;
} sh_exchange_options;

/* Borrowed until the lap is over or the engine is closed. Sizes are equal on all devices. */
typedef struct sh_exchange_lap {
    uint32_t updates, bound; /* see sh_dispatcher_init; updates at least 1 */
    size_t elements;
    float *const *arrays; /* of `elements` each, equal on all devices; weights first */
    uint32_t array_count;
    float *weights; /* a copy of the weights, as of the last take */

    /* `words` are an update's integers; `word_offset` is an element's byte offset in them, at most
     * 4 times the element; `numbers` is what else servers need. */
    const void *words;
    size_t (*word_offset)(const void *context, size_t element);
    void *numbers;
    size_t numbers_bytes;

    /* Applies an update to [first, end) of the arrays; `words` begins with `first`. Loop only. */
    void (*apply)(void *context, size_t first, size_t end, const void *numbers, const void *words);

    void *state; /* of the device; at the end, that of the first server */
    size_t state_bytes;
    void *context;
} sh_exchange_lap;

/* Returns NULL if the engine has no exchange. */
static inline sh_exchange *sh_exchange_of(sh_engine *engine)
{
    return engine->ops->exchange == NULL ? NULL : engine->ops->exchange(engine);
}

/* Without a lap. Owned by the engine that has the links. */
sh_status sh_exchange_new(sh_exchange **exchange, const sh_exchange_options *options) SHOAL_CHECKED;
void sh_exchange_free(sh_exchange *exchange);

/* SH_NO_MEMORY: no room for other devices' updates. */
sh_status sh_exchange_begin(sh_exchange *exchange, const sh_exchange_lap *lap) SHOAL_CHECKED;

/* Waits for an update, or the end of the lap: SH_EXCHANGE_OVER. `stop` requests an early end.
 * SH_PEER_LOST, or the status of an abort. */
sh_status sh_exchange_take(sh_exchange *exchange, bool stop, uint32_t *update) SHOAL_CHECKED;

/* Waits until the last update is applied in all shards. Fails like take. */
sh_status sh_exchange_settle(sh_exchange *exchange) SHOAL_CHECKED;

/* The last update must be settled. */
sh_status sh_exchange_push(sh_exchange *exchange) SHOAL_CHECKED;

/* The updates of the finished lap. */
uint32_t sh_exchange_count(const sh_exchange *exchange);

/* For the engine, loop only, for frames of kind SH_FRAME_UPDATE: see sh_channel_events. */
sh_flow sh_exchange_on_frame(sh_exchange *exchange, uint32_t from, const sh_frame *head,
                             sh_sink *sink);
void sh_exchange_on_done(sh_exchange *exchange, uint32_t from, const sh_frame *head);
void sh_exchange_on_sent(sh_exchange *exchange);

#endif
