/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links and rounds (reduce/round.h) of an engine, common to all engines with links: the first
 * member of the engine's struct. A broken link fails the round.
 *
 *     SH_TRY(sh_links_init(&ring->links, &ops, &options, &events, count));
 *     ring->links.items[0].rank = 3;                      // for each wanted link
 *     ring->links.wanted++;
 *     SH_TRY(sh_links_connect(&ring->links, 0, &target)); // or sh_links_take
 *     ... ring->links.items[0].channel ...
 *     sh_links_close(&ring->links);
 *
 * Threads: loop only, except init, stats, wait, call and close.
 */
#ifndef SHOAL_REDUCE_LINKS_H
#define SHOAL_REDUCE_LINKS_H

#include "reduce/engines.h"
#include "reduce/round.h"

typedef struct sh_links sh_links;

typedef struct sh_link {
    sh_links *of;
    uint32_t rank;    /* at the other end */
    const char *name; /* in messages, static; NULL: "with rank 3" */
    sh_channel *channel;
    bool open;
} sh_link;

struct sh_links {
    sh_round round; /* first member */
    sh_engine_options options;
    sh_channel_events events;
    void (*on_open)(sh_link *link);
    uint32_t count;
    uint32_t wanted, open;
    sh_channel_stats closed;
    sh_link *items; /* the engine defines their order */
};

typedef struct sh_links_events {
    /* See reduce/round.h. Paused links are resumed after these. */
    void (*on_begin)(sh_round *round);
    void (*on_ready)(sh_round *round, uint32_t span);
    void (*on_last)(sh_round *round);

    void (*on_open)(sh_link *link);
    sh_flow (*on_frame)(void *link, sh_channel *channel, const sh_frame *head, sh_sink *sink);
    void (*on_done)(void *link, sh_channel *channel, const sh_frame *head);
    void (*on_sent)(void *link, sh_channel *channel, const sh_frame *head);
} sh_links_events;

/* No link is wanted at first: set the rank of each wanted item and count it in `wanted`. `links`
 * must not move until closed. */
sh_status sh_links_init(sh_links *links, const sh_engine_ops *ops, const sh_engine_options *options,
                        const sh_links_events *events, uint32_t count) SHOAL_CHECKED;

/* A later failure fails the round. */
sh_status sh_links_connect(sh_links *links, uint32_t index,
                           const sh_channel_target *target) SHOAL_CHECKED;

/* Takes over `channel`. SH_REFUSED: the link has one already. */
sh_status sh_links_take(sh_links *links, uint32_t index, sh_channel *channel) SHOAL_CHECKED;

/* Sends a frame of the links' view. SH_PEER_LOST: the link is gone. */
sh_status sh_links_send(sh_links *links, uint32_t index, sh_frame head,
                        const void *body) SHOAL_CHECKED;

void sh_links_resume(sh_links *links);

sh_channel_stats sh_links_stats(sh_engine *engine);

uint32_t sh_links_stuck_ms(sh_engine *engine, uint32_t *rank);
bool sh_links_wait(sh_engine *engine);
void sh_links_call(sh_engine *engine);

/* Closes all links after everything posted to the loop. Not on the loop's thread. */
void sh_links_close(sh_links *links);

#endif
