/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring all-reduce over secure channels: each device sends to the next rank and receives from the
 * one before, 2 (N - 1) segments a span, which is as few bytes as any algorithm can do with
 * (Patarasuk, Yuan 2009). Spans travel as they become ready, several at a time.
 *
 *     SH_TRY(sh_ring_new(&ring, &options));
 *     sh_ring_connect(ring, &next);                    // loop only; and from the listener's
 * callback sh_ring_take_previous(ring, channel);            // loop only
 *     SH_TRY(sh_engine_begin(sh_ring_engine(ring), spans, count));
 *     ...
 *     sh_engine_close(sh_ring_engine(ring));
 *
 * Rounds may begin before the links are up; they wait.
 *
 * Threads: as reduce/engine.h, and as each function says.
 */
#ifndef SHOAL_REDUCE_RING_H
#define SHOAL_REDUCE_RING_H

#include "net/channel.h"
#include "reduce/engine.h"

typedef struct sh_ring sh_ring;

typedef struct sh_ring_options {
    sh_loop *loop; /* borrowed until the engine is closed */
    uint32_t view; /* marks the frames: those of another view are refused */
    uint32_t rank;
    uint32_t devices; /* at least 2 */

    /* Optional; loop only. Both links are up; the link to the next device, or that from the
     * previous one, broke or did not come about. */
    void (*on_linked)(void *context);
    void (*on_broken)(void *context, bool next);
    void *context; /* borrowed until the engine is closed */
} sh_ring_options;

/* A ring without links. Owned: close its engine. Any thread. */
sh_status sh_ring_new(sh_ring **ring, const sh_ring_options *options) SHOAL_CHECKED;

/* The ring as an engine; lives as long as the ring. */
sh_engine *sh_ring_engine(sh_ring *ring);

/* Links to the next rank. What goes wrong later ends the rounds. Loop only. */
sh_status sh_ring_connect(sh_ring *ring, const sh_channel_target *next) SHOAL_CHECKED;

/* Takes the channel that the previous rank has opened to us. SH_REFUSED: there is one. Loop only.
 */
sh_status sh_ring_take_previous(sh_ring *ring, sh_channel *channel) SHOAL_CHECKED;

/*
 * Ends the open round, and all later ones, with this failure: SH_ABORTED where the devices will go
 * on with another ring. Links stay open, and totals may be written, until it is closed. Any thread.
 */
void sh_ring_abort(sh_ring *ring, sh_status status, const char *reason);

/* Bytes on the wire of both links. Any thread. */
sh_channel_stats sh_ring_stats(sh_ring *ring);

#endif
