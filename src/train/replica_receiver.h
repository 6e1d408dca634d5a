/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives a replica's state from several donors that keep training, and follows them
 * (train/transfer.h defines the frames): stores chunks and, on each TAIL, applies the donors'
 * update to the part received so far.
 *
 *     SH_TRY(sh_replica_receiver_frame(receiver, stream, &head, &sink));
 *     ... write the frame's body to `sink` ...
 *     SH_TRY(sh_replica_receiver_done(receiver, stream, &head));
 *     if (sh_replica_receiver_complete(receiver))
 *         ... the replica equals the donors' at sh_replica_receiver_position(receiver) ...
 *
 * Streams are independent: one may be stages ahead of another. The replica is complete when all
 * streams are at the same position with all chunks, until one of them advances. To stop following,
 * free the receiver while the replica is complete.
 *
 * Frames are untrusted: anything that does not fit exactly is refused. After a failure the content
 * of the replica is undefined, and only a new transfer can fill it.
 *
 * Threads: caller locks (the loop's). Until sh_replica_receiver_free the receiver alone uses the
 * replica and its sum.
 */
#ifndef SHOAL_TRAIN_REPLICA_RECEIVER_H
#define SHOAL_TRAIN_REPLICA_RECEIVER_H

#include "net/sink.h"
#include "train/rate.h"
#include "train/transfer.h"

typedef struct sh_replica_receiver sh_replica_receiver;

typedef struct sh_replica_receiver_options {
    sh_replica *replica;         /* borrowed until sh_replica_receiver_free */
    const sh_job *job;           /* copied; for its learning rate */
    const sh_schedule *schedule; /* copied */
    uint32_t transfer;           /* number of the transfer, in every head */
    uint32_t streams;            /* donors, at most SH_TRANSFER_STREAMS_MAX */
    uint32_t chunk_elements;     /* as the senders'; 0: SH_CHUNK_ELEMENTS */
} sh_replica_receiver_options;

/* SH_LIMIT: the model is too large. */
sh_status sh_replica_receiver_new(sh_replica_receiver **receiver,
                                  const sh_replica_receiver_options *options) SHOAL_CHECKED;

/* No body may still be written to a sink. */
void sh_replica_receiver_free(sh_replica_receiver *receiver);

/*
 * Checks a head and sets `*sink` to the destination of its body, borrowed until its
 * sh_replica_receiver_done. SH_FORMAT says what does not fit.
 */
sh_status sh_replica_receiver_frame(sh_replica_receiver *receiver, uint32_t stream,
                                    const sh_frame *head, sh_sink *sink) SHOAL_CHECKED;

/*
 * The frame's body is in its sink. SH_FORMAT, SH_CORRUPT: an invalid TAIL. SH_MISMATCH: two donors
 * differ at the same position.
 */
sh_status sh_replica_receiver_done(sh_replica_receiver *receiver, uint32_t stream,
                                   const sh_frame *head) SHOAL_CHECKED;

/* Whether the replica is complete, with no frame outstanding. */
bool sh_replica_receiver_complete(const sh_replica_receiver *receiver);

/* The position of the slowest stream; {0, 0} before all have started. */
sh_position sh_replica_receiver_position(const sh_replica_receiver *receiver);

/* Bytes of chunks still missing. */
size_t sh_replica_receiver_left_bytes(const sh_replica_receiver *receiver);

#endif
