/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The coordinator's connections: the door that devices come in by, a control channel to each, and
 * the cluster's state machine, whose actions it carries out. It decides nothing itself.
 *
 *     SH_TRY(sh_coordinator_open(&coordinator, &options));
 *     print(sh_coordinator_token(coordinator));
 *     sh_coordinator_ready(coordinator);          // device 0, which is this process, is prepared
 *     ... the mailbox gets JOINED, NOTE, VIEW, START, and END ...
 *     sh_coordinator_close(coordinator);
 *
 * Threads: one caller, not the loop's. Inside, everything happens on the loop's thread.
 */
#ifndef SHOAL_NODE_COORDINATOR_H
#define SHOAL_NODE_COORDINATOR_H

#include "node/mailbox.h"
#include "reduce/ring.h"
#include "shoal/train.h"
#include "train/snapshot.h"

typedef struct sh_coordinator_options {
    sh_loop *loop;
    sh_mailbox *mailbox;
    const sh_job *job;
    const char *name;        /* of this device */
    const char *fingerprint; /* of the data */
    const char *family;      /* arithmetic of this device */
    uint32_t min_devices;
    uint32_t grains;                 /* of a full step */
    const char *listen;              /* "[ADDRESS]:PORT"; NULL: a free port of the loopback */
    const sh_snapshot_block *blocks; /* the replica's state; unchanged until SH_MAIL_START */
    uint32_t block_count;
} sh_coordinator_options;

typedef struct sh_coordinator sh_coordinator;

/* Opens the door. The options' pointers are borrowed until sh_coordinator_close. */
sh_status sh_coordinator_open(sh_coordinator **coordinator,
                              const sh_coordinator_options *options) SHOAL_CHECKED;

/* The token for devices elsewhere, and for those on this machine; borrowed until close. */
const char *sh_coordinator_token(const sh_coordinator *coordinator);
const char *sh_coordinator_local_token(const sh_coordinator *coordinator);

/* Device 0 is prepared. */
void sh_coordinator_ready(sh_coordinator *coordinator);

/*
 * Device 0 has made its ring for the view: links that come in under its identity go to `ring`, and
 * the ring is aborted when a device is lost. Borrowed until sh_coordinator_close.
 */
void sh_coordinator_opened(sh_coordinator *coordinator, sh_ring *ring, const sh_view *view);

/* Device 0 has done its part. */
void sh_coordinator_reported(sh_coordinator *coordinator);

/* Gives up: tells all devices why. */
void sh_coordinator_fail(sh_coordinator *coordinator, const char *reason);

/*
 * What the devices of the view have reported, in order of rank, but for rank 0; zeros where nothing
 * came. `reports` is owned: free().
 */
sh_status sh_coordinator_reports(sh_coordinator *coordinator, sh_device_report **reports,
                                 size_t *count, bool *reproducible) SHOAL_CHECKED;

/* Bytes on the wire of all control channels. */
sh_channel_stats sh_coordinator_stats(sh_coordinator *coordinator);

/* Writes what is queued, closes everything and frees it. NULL is fine. */
void sh_coordinator_close(sh_coordinator *coordinator);

#endif
