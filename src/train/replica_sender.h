/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends one stripe of a replica's state to a joining device while the replica keeps training
 * (train/transfer.h defines the frames).
 *
 *     sh_replica_sender_fill(sender);                           // again after frames were sent
 *     sh_replica_sender_span(sender, first, elements, totals);  // a bucket's sum is complete
 *     sh_replica_sender_passed(sender, &outcome);               // the stage is complete
 *     SH_TRY(sh_replica_sender_next(sender, &head, &body));     // a frame to send
 *     sh_replica_sender_done(sender);                           // it was sent: its body is freed
 *
 * Threads: any; guarded by a lock of its own, under which no other lock is waited for. Calls that
 * read the replica (new, fill, passed, restarted) also require sh_replica_lock, which the trainer
 * holds from the first change at a stage's end until all observers were called.
 *
 * Memory is bounded: queued chunks up to a window of bytes; beyond it, sums and tails up to the
 * limit. A queue over the limit ends the transfer, because the receiver is too slow. A failed
 * transfer never fails the training; sh_replica_sender_next reports it.
 */
#ifndef SHOAL_TRAIN_REPLICA_SENDER_H
#define SHOAL_TRAIN_REPLICA_SENDER_H

#include "train/trainer.h"
#include "train/transfer.h"

#define SH_REPLICA_SENDER_WINDOW_BYTES ((size_t)256 * 1024)

typedef struct sh_replica_sender sh_replica_sender;

typedef struct sh_replica_sender_options {
    const sh_replica *replica; /* borrowed until sh_replica_sender_free */
    uint32_t transfer;         /* number of the transfer, in every head */
    uint32_t stripe, stripes;  /* at most SH_TRANSFER_STREAMS_MAX */
    uint32_t chunk_elements;   /* as the receiver's; 0: SH_CHUNK_ELEMENTS */
    size_t window_bytes;       /* 0: SH_REPLICA_SENDER_WINDOW_BYTES */
    bool spoils;               /* for tests: flips a bit (train/bit_flip.h) */
    size_t limit_bytes;        /* 0: the window plus the sums of two stages, or 8 MiB of them */
} sh_replica_sender_options;

/*
 * The first frame is the TAIL of the current position. SH_INVALID: the limit is less than the
 * window and a chunk with its sum. SH_LIMIT: the model is too large.
 */
sh_status sh_replica_sender_new(sh_replica_sender **sender,
                                const sh_replica_sender_options *options) SHOAL_CHECKED;

/* No frame of this sender may be in use. */
void sh_replica_sender_free(sh_replica_sender *sender);

/* Appends chunks of the current state while fewer bytes are queued than the window. */
void sh_replica_sender_fill(sh_replica_sender *sender);

/*
 * The stage's reduced sum of these elements (whole buckets) is complete: appends it for the chunks
 * sent so far. `totals`, the sum from the first element, is borrowed until sh_replica_sender_passed
 * or sh_replica_sender_restarted. A repeated call has no effect. For sh_engine_watcher.on_span.
 */
void sh_replica_sender_span(sh_replica_sender *sender, size_t first_element, size_t elements,
                            const void *totals);

/*
 * A stage is complete, the replica is updated and the total is still valid: appends the sums of
 * buckets not passed to sh_replica_sender_span, then the TAIL. For sh_trainer_options.on_passed.
 */
void sh_replica_sender_passed(sh_replica_sender *sender, const sh_stage_outcome *outcome);

/* The current stage was aborted, or the replica's phase was set: discards the stage's sums. The
 * totals may be overwritten afterwards. */
void sh_replica_sender_restarted(sh_replica_sender *sender);

/*
 * The next frame. `*body` is NULL if none is queued; else it is borrowed until its
 * sh_replica_sender_done. SH_LIMIT: the receiver is too slow; SH_NO_MEMORY. After a failure there
 * are no more frames.
 */
sh_status sh_replica_sender_next(sh_replica_sender *sender, sh_frame *head,
                                 const void **body) SHOAL_CHECKED;

/* Releases the oldest frame of sh_replica_sender_next. */
void sh_replica_sender_done(sh_replica_sender *sender);

/* Bytes of bodies that are queued or in use. */
size_t sh_replica_sender_queued_bytes(sh_replica_sender *sender);

#endif
