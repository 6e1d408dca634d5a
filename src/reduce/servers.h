/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All-reduce by servers over secure channels: some or all devices serve, each a shard of every
 * span. A device sends its part of a shard to the server of it, which adds the parts up and sends
 * the sum to all (the synchronous form of the sharded parameter server; Li et al. 2014). Two hops
 * whatever the number of devices, where a ring has 2 (N - 1); as many bytes as a ring where all
 * serve, more at each server where few do.
 *
 *     SH_TRY(sh_servers_new(&servers, &options));
 *     SH_TRY(sh_servers_connect(servers, 3, &target));     // loop only; as sh_servers_links says
 *     SH_TRY(sh_servers_take(servers, 0, channel));        // from the listener's callback
 *     SH_TRY(sh_engine_begin(sh_servers_engine(servers), spans, count));
 *     ...
 *     sh_engine_close(sh_servers_engine(servers));
 *
 * Rounds may begin before the links are up; they wait.
 *
 * Threads: as reduce/engine.h, and as each function says.
 */
#ifndef SHOAL_REDUCE_SERVERS_H
#define SHOAL_REDUCE_SERVERS_H

#include "net/channel.h"
#include "reduce/round.h"

typedef struct sh_servers sh_servers;

typedef struct sh_servers_options {
    sh_loop *loop; /* borrowed until the engine is closed */
    uint32_t view; /* marks the frames: those of another view are refused */
    uint32_t rank;
    uint32_t devices;   /* at least 2 */
    const bool *serves; /* of each rank, alike on all devices, one at least; copied */

    /* Optional; loop only. All links are up; the link with a rank broke or did not come about. */
    void (*on_linked)(void *context);
    void (*on_broken)(void *context, uint32_t rank);
    void *context; /* borrowed until the engine is closed */
} sh_servers_options;

/* Whether two ranks have a link: where one of them serves. The lower one connects. */
bool sh_servers_links(const bool *serves, uint32_t one, uint32_t other);

/* Servers without links. Owned: close the engine. Any thread. */
sh_status sh_servers_new(sh_servers **servers, const sh_servers_options *options) SHOAL_CHECKED;

/* The engine; lives as long as the servers. */
sh_engine *sh_servers_engine(sh_servers *servers);

/* Links to a higher rank. What goes wrong later ends the rounds. Loop only. */
sh_status sh_servers_connect(sh_servers *servers, uint32_t rank,
                             const sh_channel_target *target) SHOAL_CHECKED;

/* Takes the channel that a lower rank has opened to us. SH_REFUSED: there is one. Loop only. */
sh_status sh_servers_take(sh_servers *servers, uint32_t rank, sh_channel *channel) SHOAL_CHECKED;

/*
 * Ends the open round, and all later ones, with this failure: SH_ABORTED where the devices will go
 * on with other links. Links stay open, and totals may be written, until it is closed. Any thread.
 */
void sh_servers_abort(sh_servers *servers, sh_status status, const char *reason);

/* Bytes on the wire of all links. Any thread. */
sh_channel_stats sh_servers_stats(sh_servers *servers);

/* For reduce/exchange, which has the links too; loop only but the first two. */
sh_round *sh_servers_round(sh_servers *servers);
uint32_t sh_servers_rank(const sh_servers *servers);
bool sh_servers_serves(const sh_servers *servers, uint32_t rank);
uint32_t sh_servers_shard(const sh_servers *servers, uint32_t rank); /* number of a server */
sh_status sh_servers_send(sh_servers *servers, uint32_t to, sh_frame head,
                          const void *body) SHOAL_CHECKED;
void sh_servers_resume(sh_servers *servers); /* what was paused is asked again */

#endif
