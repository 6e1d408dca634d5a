/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The job's data for a device that lacks them: fetched from others while it trains, checked, and
 * kept in the cache folder.
 *
 *     SH_TRY(sh_delivery_start(&delivery, &options));       // SH_MAIL_DATA tells how that went
 *     SH_TRY(sh_delivery_open(&dataset, delivery, fingerprint));
 *     ... open a workbench with it ...
 *     SH_TRY(sh_delivery_begin(delivery));                  // what is read comes
 *     ... read samples: those that are not here yet are waited for ...
 *     sh_delivery_complete(delivery);                       // and the rest, little by little
 *     sh_delivery_stop(delivery);                           // nobody waits any more
 *     sh_dataset_close(dataset);
 *     sh_delivery_free(delivery);
 *
 * The first source, the coordinator, says what the data are, and has proved by its key that it is
 * the coordinator. Blocks, which the manifest's root proves, can come from anybody.
 *
 * Threads: one caller, not the loop's, but for what says "loop only".
 */
#ifndef SHOAL_NODE_DELIVERY_H
#define SHOAL_NODE_DELIVERY_H

#include "data/dataset.h"
#include "node/delivery/supply.h"
#include "node/mail/mailbox.h"

#define SH_DELIVERY_WINDOW 4 /* blocks that are asked of one source at a time */
#define SH_DELIVERY_SPARE 2  /* the same for those that nobody reads soon */

typedef struct sh_delivery sh_delivery;

typedef struct sh_delivery_options {
    sh_loop *loop;
    sh_mailbox *mailbox;       /* gets SH_MAIL_DATA once, and SH_MAIL_NOTE */
    const sh_sources *sources; /* copied */
    uint64_t limit_bytes;      /* of the cache, on disk; 0: none */
} sh_delivery_options;

/* Asks the first source what the data are. Owned: sh_delivery_stop and _free it. */
sh_status sh_delivery_start(sh_delivery **delivery,
                            const sh_delivery_options *options) SHOAL_CHECKED;

/* After SH_MAIL_DATA with SH_OK: opens the data set, which nobody may read before
 * sh_delivery_begin.
 * `*dataset` is owned; if it is closed before that, free the delivery. SH_MISMATCH (the manifest is
 * of other data), and as sh_manifest_parse and sh_mirror_open fail. */
sh_status sh_delivery_open(sh_dataset **dataset, sh_delivery *delivery,
                           const char *fingerprint) SHOAL_CHECKED;

sh_status sh_delivery_begin(sh_delivery *delivery) SHOAL_CHECKED;

/* From now on also fetches what nobody has read. Before, the wire is left to the replica that this
 * device takes. After begin; once more is fine. */
void sh_delivery_complete(sh_delivery *delivery);

/* The job is over, or the coordinator is lost: waiting for a sample, now or later, fails with this
 * status, which is not SH_OK. Any thread. */
void sh_delivery_fail(sh_delivery *delivery, sh_status status, const char *reason);

/* Whether all is here. After begin. */
bool sh_delivery_is_whole(sh_delivery *delivery);

/* Bytes on the wire so far; of NULL none. Loop only. */
sh_channel_stats sh_delivery_stats(const sh_delivery *delivery);

/* Fetches nothing more; who waits for a sample fails with SH_STOPPED. NULL is fine. */
void sh_delivery_stop(sh_delivery *delivery);

/* After sh_delivery_stop, and after the data set was closed. NULL is fine. */
void sh_delivery_free(sh_delivery *delivery);

#endif
