/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A replica that this device takes from others: a receiver (train/replica_receiver) and a channel
 * to each donor.
 *
 *     SH_TRY(sh_intake_start(&intake, &options));
 *     ... on_position, each time that the replica is whole ...
 *     sh_intake_stop(intake);
 *
 * Threads: loop only. Meanwhile the replica is the loop's.
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
    const sh_transfer *transfer; /* copied, as the routes */
    const sh_route *routes;      /* to each donor */
    void (*on_position)(void *context, uint64_t transfer, sh_position position);
    /* About when the replica will be whole for the first time; now and then. */
    void (*on_left)(void *context, uint64_t transfer, uint32_t left_ms);
    /* It cannot go on; sh_intake_stop it later, not from inside. */
    void (*on_failed)(void *context, uint64_t transfer);
    void *context;
} sh_intake_options;

sh_status sh_intake_start(sh_intake **intake, const sh_intake_options *options) SHOAL_CHECKED;

/* Bytes on the wire so far. */
sh_channel_stats sh_intake_stats(const sh_intake *intake);

/* Closes the channels; the replica stays as it is. NULL is fine. */
void sh_intake_stop(sh_intake *intake);

#endif
