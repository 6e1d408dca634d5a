/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fetches the job's data from other devices during training, checks them and keeps them in the
 * cache folder.
 *
 * The manifest comes from the first source, the coordinator, which proves its role by its key.
 * Blocks can come from any device, because the manifest's root proves them.
 *
 *     SH_TRY(sh_delivery_start(&delivery, &options));       // SH_MAIL_DATA reports the result
 *     SH_TRY(sh_delivery_open(&dataset, delivery, fingerprint));
 *     ... open a session with it ...
 *     SH_TRY(sh_delivery_begin(delivery));                  // fetches blocks on demand
 *     ... read samples; a read waits for its blocks ...
 *     sh_delivery_complete(delivery);                       // fetches the rest in the background
 *     sh_delivery_stop(delivery);                           // ends all waits
 *     sh_dataset_close(dataset);
 *     sh_delivery_free(delivery);
 *
 * Threads: one caller, not on the loop's thread, unless "loop only".
 */
#ifndef SHOAL_NODE_DELIVERY_H
#define SHOAL_NODE_DELIVERY_H

#include "data/dataset.h"
#include "node/delivery/supply.h"
#include "node/protocol/mailbox.h"

#define SH_DELIVERY_WINDOW 4 /* outstanding blocks per source */
#define SH_DELIVERY_SPARE 2  /* with fewer outstanding, unread blocks may be requested */

typedef struct sh_delivery sh_delivery;

typedef struct sh_delivery_options {
    sh_loop *loop;
    sh_mailbox *mailbox;       /* receives the result as SH_MAIL_DATA, and SH_MAIL_NOTE */
    const sh_sources *sources; /* copied */
    uint64_t limit_bytes;      /* of the cache; 0: no limit */
} sh_delivery_options;

/* `*delivery` is owned: sh_delivery_stop and sh_delivery_free. */
sh_status sh_delivery_start(sh_delivery **delivery,
                            const sh_delivery_options *options) SHOAL_CHECKED;

/* After SH_MAIL_DATA with SH_OK: opens the data set, which must not be read before
 * sh_delivery_begin. `*dataset` is owned; if it is closed before that, free the delivery.
 * SH_MISMATCH: other data. Else fails as sh_manifest_parse and sh_mirror_open do. */
sh_status sh_delivery_open(sh_dataset **dataset, sh_delivery *delivery,
                           const char *fingerprint) SHOAL_CHECKED;

/* Fetches blocks on demand from now on; a read waits for its blocks. */
sh_status sh_delivery_begin(sh_delivery *delivery) SHOAL_CHECKED;

/* Also fetches unread blocks, in the background; before, the replica that this device receives has
 * the network. After sh_delivery_begin; may be repeated. */
void sh_delivery_complete(sh_delivery *delivery);

/* The job is over or the coordinator is lost: all waits for samples fail with `status`, which is
 * not SH_OK. Any thread. */
void sh_delivery_fail(sh_delivery *delivery, sh_status status, const char *reason);

/* After sh_delivery_begin. */
bool sh_delivery_is_whole(sh_delivery *delivery);

/* Zero for NULL. Loop only. */
sh_channel_stats sh_delivery_stats(const sh_delivery *delivery);

/* Waits for samples fail with SH_STOPPED. NULL is allowed. */
void sh_delivery_stop(sh_delivery *delivery);

/* After sh_delivery_stop and closing the data set. */
void sh_delivery_free(sh_delivery *delivery);

#endif
