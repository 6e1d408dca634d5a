/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What devices that train at their own pace tell each other, over the links of reduce/servers: the
 * asynchronous parameter server, in laps between two points at which all are equal again.
 *
 *     SH_TRY(sh_exchange_begin(exchange, &lap));             // every device
 *     while (sh_exchange_take(exchange, false, &update) == SH_OK && update != SH_EXCHANGE_OVER) {
 *         ... compute update number `update` with lap.weights ...
 *         SH_TRY(sh_exchange_settle(exchange));              // the one before is with all servers
 *         ... write lap.numbers and lap.words ...
 *         SH_TRY(sh_exchange_push(exchange));                // goes on by itself
 *     }
 *     ... arrays are the same on all devices, and so is `state` ...
 *
 * The elements of the arrays are cut into a shard for each server. It applies each update to its
 * shard as it comes, and gives the shard to whoever is about to begin one: so a device computes
 * with all its own updates, and with a bound of K with those that it may not be ahead of by more
 * (Ho et al. 2013, "read-my-writes"). The first server deals the updates
 * (reduce/dispenser.h); when all are in all shards it says so, with its device's state, and each
 * server sends its shards of all arrays to everybody.
 *
 * A lap that fails leaves anything in what it was given but `words`; close the engine then, before
 * any of it is touched.
 *
 * Threads: the step's; what is different says so. Where begin, take, settle or push has returned
 * and the next has not been called, nobody but the caller touches weights, numbers and words.
 */
#ifndef SHOAL_REDUCE_EXCHANGE_H
#define SHOAL_REDUCE_EXCHANGE_H

#include "reduce/links.h"

#define SH_EXCHANGE_OVER UINT32_MAX
#define SH_EXCHANGE_UPDATES_MAX 65535u /* of a lap */

typedef struct sh_exchange sh_exchange;

/* All is borrowed until sh_exchange_free. */
typedef struct sh_exchange_options {
    sh_links *links; /* by rank; not looked at before a lap */
    uint32_t rank, devices;
    const bool *serves;     /* of each rank */
    const uint32_t *shards; /* of each rank that serves: its number */
    uint32_t server_count;
} sh_exchange_options;

/* All is borrowed until the lap is over, or the engine closed. Sizes are alike on all devices. */
typedef struct sh_exchange_lap {
    uint32_t updates, bound; /* as sh_dispenser_init has them; updates at least 1 */
    size_t elements;
    float *const *arrays; /* of that many elements, alike on all devices: the weights first */
    uint32_t array_count;
    float *weights; /* a copy of the newest ones, as of the last take */

    /* An update: `words` are its integers, `word_offset` where in them an element begins, in bytes
     * and at most 4 times the element; `numbers` what else servers need to know. */
    const void *words;
    size_t (*word_offset)(const void *context, size_t element);
    void *numbers;
    size_t numbers_bytes;

    /* Applies an update to [first, end) of the arrays, with words from there on. Loop only. */
    void (*apply)(void *context, size_t first, size_t end, const void *numbers, const void *words);

    void *state; /* of the device; at the end that of the one that deals */
    size_t state_bytes;
    void *context;
} sh_exchange_lap;

/* That of an engine; NULL where it has none. */
static inline sh_exchange *sh_exchange_of(sh_engine *engine)
{
    return engine->ops->exchange == NULL ? NULL : engine->ops->exchange(engine);
}

/* Without a lap. For the engine that has the links, which frees it. */
sh_status sh_exchange_new(sh_exchange **exchange, const sh_exchange_options *options) SHOAL_CHECKED;
void sh_exchange_free(sh_exchange *exchange); /* NULL is fine */

/* SH_NO_MEMORY for what comes from others. */
sh_status sh_exchange_begin(sh_exchange *exchange, const sh_exchange_lap *lap) SHOAL_CHECKED;

/* Waits for an update, or the end of the lap: SH_EXCHANGE_OVER. `stop` asks for an end soon. As an
 * engine's wait it fails with SH_PEER_LOST, or as it was aborted; so do the next two. */
sh_status sh_exchange_take(sh_exchange *exchange, bool stop, uint32_t *update) SHOAL_CHECKED;

/* Waits until the last update is in all shards. */
sh_status sh_exchange_settle(sh_exchange *exchange) SHOAL_CHECKED;

/* Sends an update; the last one is settled. */
sh_status sh_exchange_push(sh_exchange *exchange) SHOAL_CHECKED;

/* Updates of the lap that is over. */
uint32_t sh_exchange_count(const sh_exchange *exchange);

/* For the engine, loop only: frames of kind SH_FRAME_UPDATE by the link with a rank, as
 * sh_channel_events has them. */
sh_flow sh_exchange_on_frame(sh_exchange *exchange, uint32_t from, const sh_frame *head,
                             sh_sink *sink);
void sh_exchange_on_done(sh_exchange *exchange, uint32_t from, const sh_frame *head);
void sh_exchange_on_sent(sh_exchange *exchange);

#endif
