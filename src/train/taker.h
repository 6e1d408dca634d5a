/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a replica's state over from several donors that go on training, and follows them
 * (train/transfer.h has the frames): chunks are stored, and on each TAIL the same update is applied
 * to what has come.
 *
 *     SH_TRY(sh_taker_new(&taker, &(sh_taker_options){.replica = replica, .job = &job,
 *                                     .schedule = &schedule, .transfer = 7, .streams = 3}));
 *     SH_TRY(sh_taker_frame(taker, stream, &head, &sink));      // a head came: where to the body?
 *     SH_TRY(sh_taker_done(taker, stream, &head));              // it is there
 *     if (sh_taker_complete(taker))
 *         ... the replica is as all donors' were at sh_taker_position(taker) ...
 *
 * The streams are independent: one may be stages ahead of another. Where all have come to the same
 * position with all chunks, the replica is complete; it is not any more as soon as one goes on.
 * To stop following, free the taker while it is complete.
 *
 * Frames are outside bytes: what does not fit exactly is refused. After a failure the replica holds
 * anything, and only another hand-over from the start can fill it.
 *
 * Threads: caller locks (the loop's). From sh_taker_new to sh_taker_free, the replica is the
 * taker's alone, with its sum.
 */
#ifndef SHOAL_TRAIN_TAKER_H
#define SHOAL_TRAIN_TAKER_H

#include "net/sink.h"
#include "train/rate.h"
#include "train/transfer.h"

typedef struct sh_taker sh_taker;

typedef struct sh_taker_options {
    sh_replica *replica;         /* of the donors' job; borrowed until sh_taker_free */
    const sh_job *job;           /* its learning rate; copied */
    const sh_schedule *schedule; /* its steps; copied */
    uint32_t transfer;           /* number of the hand-over, in every head */
    uint32_t streams;            /* donors, at most SH_TRANSFER_STREAMS_MAX */
    uint32_t chunk_elements;     /* as the givers have it; 0: SH_CHUNK_ELEMENTS */
} sh_taker_options;

/* Owned: sh_taker_free. SH_LIMIT: a model that is too large. */
sh_status sh_taker_new(sh_taker **taker, const sh_taker_options *options) SHOAL_CHECKED;

/* No body is on its way into a sink any more. NULL is fine. */
void sh_taker_free(sh_taker *taker);

/*
 * Where the body of a frame goes: into the replica, its accumulator, or the taker; borrowed until
 * sh_taker_done for it. SH_FORMAT says what does not fit.
 */
sh_status sh_taker_frame(sh_taker *taker, uint32_t stream, const sh_frame *head,
                         sh_sink *sink) SHOAL_CHECKED;

/*
 * The body of the stream's last frame is in its sink. SH_FORMAT, SH_CORRUPT: a TAIL that cannot be.
 * SH_MISMATCH: two donors were at one position and not equal.
 */
sh_status sh_taker_done(sh_taker *taker, uint32_t stream, const sh_frame *head) SHOAL_CHECKED;

/* Whether the replica is whole: of one position, and nothing is on its way. */
bool sh_taker_complete(const sh_taker *taker);

/* Of the stream that is furthest behind; {0, 0} before all have begun. */
sh_position sh_taker_position(const sh_taker *taker);

/* Bytes of chunks that have not come yet; for telling how far it is. */
size_t sh_taker_left_bytes(const sh_taker *taker);

#endif
