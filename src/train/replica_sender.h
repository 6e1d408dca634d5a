/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives one stripe of a replica's state to a device that takes it over, while the replica goes on
 * training (train/transfer.h has the frames).
 *
 *     SH_TRY(sh_replica_sender_new(&sender, &options));
 *     sh_replica_sender_fill(sender);                             // again whenever frames were
 * sent sh_replica_sender_span(sender, first, elements, totals);    // a bucket's sum is complete
 *     sh_replica_sender_passed(sender, &outcome);                 // the stage has passed
 *     SH_TRY(sh_replica_sender_next(sender, &head, &body));       // a frame to send
 *     sh_replica_sender_done(sender);                             // it was sent: its body is freed
 *
 * Threads: any, by a lock of its own, under which it waits for no other. Where the replica is read
 * (new, fill, passed, restarted) the caller also holds sh_replica_lock, as the trainer does from
 * the first change at a stage's end until all have been told that it has passed.
 *
 * Memory is bounded: chunks wait for up to a window of bytes, sums and tails beyond it, and what
 * would pass the limit ends the hand-over instead: the receiver is too slow. No failure of it is
 * one of the training: sh_replica_sender_next tells.
 */
#ifndef SHOAL_TRAIN_REPLICA_SENDER_H
#define SHOAL_TRAIN_REPLICA_SENDER_H

#include "train/trainer.h"
#include "train/transfer.h"

#define SH_REPLICA_SENDER_WINDOW_BYTES ((size_t)256 * 1024)

typedef struct sh_replica_sender sh_replica_sender;

typedef struct sh_replica_sender_options {
    const sh_replica *replica; /* borrowed until sh_replica_sender_free */
    uint32_t transfer;         /* number of the hand-over */
    uint32_t stripe, stripes;  /* at most SH_TRANSFER_STREAMS_MAX */
    uint32_t chunk_elements;   /* as the receiver has it; 0: SH_CHUNK_ELEMENTS */
    size_t window_bytes;       /* 0: SH_REPLICA_SENDER_WINDOW_BYTES */
    bool spoils;               /* for tests: a bit of the first chunk is wrong (train/flip.h) */
    size_t limit_bytes;        /* 0: the window and the sums of two stages, or 8 MiB of them */
} sh_replica_sender_options;

/*
 * Begins with the TAIL of the present position. Owned: sh_replica_sender_free. SH_INVALID: a limit
 * that the window and a chunk with its sum do not fit; SH_LIMIT: a model that is too large.
 */
sh_status sh_replica_sender_new(sh_replica_sender **sender,
                                const sh_replica_sender_options *options) SHOAL_CHECKED;

/* Frames that were handed out must not be in use any more. NULL is fine. */
void sh_replica_sender_free(sh_replica_sender *sender);

/* Appends chunks as they stand, while fewer bytes wait than the window has. */
void sh_replica_sender_fill(sh_replica_sender *sender);

/*
 * The stage's reduced sum of these elements, whole buckets, is complete: appends it for what has
 * been given of them. `totals`, that of the first element, is borrowed until
 * sh_replica_sender_passed or sh_replica_sender_restarted. Telling twice does nothing. For
 * sh_engine_watcher.on_span.
 */
void sh_replica_sender_span(sh_replica_sender *sender, size_t first_element, size_t elements,
                            const void *totals);

/*
 * A stage is over, the replica is where it led, and its total is still there: appends the sums of
 * buckets that sh_replica_sender_span has not told of, and the TAIL. For
 * sh_trainer_options.on_passed.
 */
void sh_replica_sender_passed(sh_replica_sender *sender, const sh_stage_outcome *outcome);

/* The stage under way was broken off, or the replica's phase was set: what was told of its sums is
 * void, and the totals may be overwritten afterwards. */
void sh_replica_sender_restarted(sh_replica_sender *sender);

/*
 * The next frame in order; `*body` is NULL where none waits, and borrowed until
 * sh_replica_sender_done for it. SH_LIMIT: the receiver is too slow; SH_NO_MEMORY. After a failure
 * no more frames come.
 */
sh_status sh_replica_sender_next(sh_replica_sender *sender, sh_frame *head,
                                 const void **body) SHOAL_CHECKED;

/* The oldest of the frames that were handed out and not done is done. */
void sh_replica_sender_done(sh_replica_sender *sender);

/* Bytes of bodies that wait or are handed out. */
size_t sh_replica_sender_queued_bytes(sh_replica_sender *sender);

#endif
