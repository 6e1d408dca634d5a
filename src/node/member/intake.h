/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Receives a replica from others: a receiver (train/replica_receiver) and a channel to each donor.
 *
 *     SH_TRY(sh_intake_start(&intake, &options));
 *     ... on_position, each time the replica is complete ...
 *     sh_intake_stop(intake);
 *
 * Threads: loop only. Until stop the replica belongs to the loop's thread.
 */
#ifndef SHOAL_NODE_INTAKE_H
#define SHOAL_NODE_INTAKE_H

#include "net/channel.h"
#include "node/mail/orders.h"
#include "train/replica_receiver.h"
#include "train/workbench.h"

typedef struct sh_intake sh_intake;

typedef struct sh_intake_options {
    sh_loop *loop;
    const sh_workbench *bench;   /* borrowed until stop */
    const sh_transfer *transfer; /* copied, like the routes */
    const sh_route *routes;      /* to each donor */
    void (*on_position)(void *context, uint64_t transfer, sh_position position);
    /* From time to time: the estimated time until the replica is first complete. */
    void (*on_left)(void *context, uint64_t transfer, uint32_t left_ms);
    /* The transfer failed: call sh_intake_stop later, not from inside. */
    void (*on_failed)(void *context, uint64_t transfer);
    void *context;
} sh_intake_options;

sh_status sh_intake_start(sh_intake **intake, const sh_intake_options *options) SHOAL_CHECKED;

/* Bytes sent and received so far. */
sh_channel_stats sh_intake_stats(const sh_intake *intake);

/* Closes the channels and frees the intake; the replica is unchanged. NULL is allowed. */
void sh_intake_stop(sh_intake *intake);

#endif
