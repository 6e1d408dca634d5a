/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a replica's state over from several donors that go on training, and follows them
 * (train/transfer.h has the frames): chunks are stored, and on each TAIL the same update is applied
 * to what has come.
 *
 *     SH_TRY(sh_replica_receiver_new(&receiver, &(sh_replica_receiver_options){.replica = replica,
 * .job = &job, .schedule = &schedule, .transfer = 7, .streams = 3}));
 *     SH_TRY(sh_replica_receiver_frame(receiver, stream, &head, &sink));      // a head came: where
 * to the body? SH_TRY(sh_replica_receiver_done(receiver, stream, &head));              // it is
 * there if (sh_replica_receiver_complete(receiver))
 *         ... the replica is as all donors' were at sh_replica_receiver_position(receiver) ...
 *
 * The streams are independent: one may be stages ahead of another. Where all have come to the same
 * position with all chunks, the replica is complete; it is not any more as soon as one goes on.
 * To stop following, free the receiver while it is complete.
 *
 * Frames are outside bytes: what does not fit exactly is refused. After a failure the replica holds
 * anything, and only another hand-over from the start can fill it.
 *
 * Threads: caller locks (the loop's). From sh_replica_receiver_new to sh_replica_receiver_free, the
 * replica is the receiver's alone, with its sum.
 */
#ifndef SHOAL_TRAIN_REPLICA_RECEIVER_H
#define SHOAL_TRAIN_REPLICA_RECEIVER_H

#include "net/sink.h"
#include "train/rate.h"
#include "train/transfer.h"

typedef struct sh_replica_receiver sh_replica_receiver;

typedef struct sh_replica_receiver_options {
    sh_replica *replica;         /* of the donors' job; borrowed until sh_replica_receiver_free */
    const sh_job *job;           /* its learning rate; copied */
    const sh_schedule *schedule; /* its steps; copied */
    uint32_t transfer;           /* number of the hand-over, in every head */
    uint32_t streams;            /* donors, at most SH_TRANSFER_STREAMS_MAX */
    uint32_t chunk_elements;     /* as the senders have it; 0: SH_CHUNK_ELEMENTS */
} sh_replica_receiver_options;

/* Owned: sh_replica_receiver_free. SH_LIMIT: a model that is too large. */
sh_status sh_replica_receiver_new(sh_replica_receiver **receiver,
                                  const sh_replica_receiver_options *options) SHOAL_CHECKED;

/* No body is on its way into a sink any more. NULL is fine. */
void sh_replica_receiver_free(sh_replica_receiver *receiver);

/*
 * Where the body of a frame goes: into the replica, its accumulator, or the receiver; borrowed
 * until sh_replica_receiver_done for it. SH_FORMAT says what does not fit.
 */
sh_status sh_replica_receiver_frame(sh_replica_receiver *receiver, uint32_t stream,
                                    const sh_frame *head, sh_sink *sink) SHOAL_CHECKED;

/*
 * The body of the stream's last frame is in its sink. SH_FORMAT, SH_CORRUPT: a TAIL that cannot be.
 * SH_MISMATCH: two donors were at one position and not equal.
 */
sh_status sh_replica_receiver_done(sh_replica_receiver *receiver, uint32_t stream,
                                   const sh_frame *head) SHOAL_CHECKED;

/* Whether the replica is whole: of one position, and nothing is on its way. */
bool sh_replica_receiver_complete(const sh_replica_receiver *receiver);

/* Of the stream that is furthest behind; {0, 0} before all have begun. */
sh_position sh_replica_receiver_position(const sh_replica_receiver *receiver);

/* Bytes of chunks that have not come yet; for telling how far it is. */
size_t sh_replica_receiver_left_bytes(const sh_replica_receiver *receiver);

#endif
