/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of an engine: what is the same for all engines of a round (reduce/round.h) that have
 * any. A link that breaks fails the round.
 *
 *     SH_TRY(sh_links_init(&links, &round, &options, &events, count));
 *     links.items[0].rank = 3;                            // for each link that there is to be
 *     links.wanted++;
 *     SH_TRY(sh_links_connect(&links, 0, &target));       // or sh_links_take
 *     ... links.items[0].channel ...
 *     sh_links_close(&links);
 *     sh_links_release(&links);
 *
 * Threads: loop only, but init, stats, close and release.
 */
#ifndef SHOAL_REDUCE_LINKS_H
#define SHOAL_REDUCE_LINKS_H

#include "reduce/engines.h"
#include "reduce/round.h"

typedef struct sh_links sh_links;

/* Context of the channel's events. */
typedef struct sh_link {
    sh_links *of;
    uint32_t rank;    /* at the other end */
    const char *name; /* in messages, static; NULL: "with rank 3" */
    sh_channel *channel;
    bool open;
} sh_link;

struct sh_links {
    sh_round *round;
    sh_engine_options options;
    sh_channel_events events;
    void (*on_open)(sh_link *link);
    uint32_t count;        /* of items */
    uint32_t wanted, open; /* links that there are to be, and are */
    sh_channel_stats closed;
    sh_link *items; /* the engine says which is which */
};

typedef struct sh_links_events {
    void (*on_open)(sh_link *link); /* one is up */
    sh_flow (*on_frame)(void *link, sh_channel *channel, const sh_frame *head, sh_sink *sink);
    void (*on_done)(void *link, sh_channel *channel, const sh_frame *head);
    void (*on_sent)(void *link, sh_channel *channel, const sh_frame *head);
} sh_links_events;

/* No link is open, none wanted. Round and links stay where they are until release. */
sh_status sh_links_init(sh_links *links, sh_round *round, const sh_engine_options *options,
                        const sh_links_events *events, uint32_t count) SHOAL_CHECKED;

/* Links to another device. What goes wrong later fails the round. */
sh_status sh_links_connect(sh_links *links, uint32_t index,
                           const sh_channel_target *target) SHOAL_CHECKED;

/* Takes the channel that another device has opened. SH_REFUSED: there is one. */
sh_status sh_links_take(sh_links *links, uint32_t index, sh_channel *channel) SHOAL_CHECKED;

/* Sends a frame of the links' view. SH_PEER_LOST: the link is gone. */
sh_status sh_links_send(sh_links *links, uint32_t index, sh_frame head,
                        const void *body) SHOAL_CHECKED;

/* What was paused is asked again. */
void sh_links_resume(sh_links *links);

/* Bytes on the wire of all links. Any thread. */
sh_channel_stats sh_links_stats(sh_links *links);

/* Closes all, behind all that was posted to the loop. Not the loop's thread. */
void sh_links_close(sh_links *links);

void sh_links_release(sh_links *links);

#endif
