/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives a replica from others: a receiver (train/replica_receiver) and a channel to each donor.
 *
 *     SH_TRY(sh_replica_fetch_start(&fetch, &options));
 *     ... on_position, each time the replica is complete ...
 *     sh_replica_fetch_stop(fetch);
 *
 * Threads: loop only. Until stop the replica belongs to the loop's thread.
 */
#ifndef SHOAL_NODE_REPLICA_FETCH_H
#define SHOAL_NODE_REPLICA_FETCH_H

#include "net/channel.h"
#include "node/protocol/orders.h"
#include "train/replica_receiver.h"
#include "train/session.h"

typedef struct sh_replica_fetch sh_replica_fetch;

typedef struct sh_replica_fetch_options {
    sh_loop *loop;
    const sh_session *session;   /* borrowed until stop */
    const sh_transfer *transfer; /* copied, like the routes */
    const sh_route *routes;      /* to each donor */
    void (*on_position)(void *context, uint64_t transfer, sh_position position);
    /* Repeated: the estimated time until the replica is first complete. */
    void (*on_left)(void *context, uint64_t transfer, uint32_t left_ms);
    /* Call sh_replica_fetch_stop later, not from inside. */
    void (*on_failed)(void *context, uint64_t transfer);
    void *context;
} sh_replica_fetch_options;

sh_status sh_replica_fetch_start(sh_replica_fetch **fetch,
                                 const sh_replica_fetch_options *options) SHOAL_CHECKED;

sh_channel_stats sh_replica_fetch_stats(const sh_replica_fetch *fetch);

/* The replica is unchanged. NULL is allowed. */
void sh_replica_fetch_stop(sh_replica_fetch *fetch);

#endif
