/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's connection to the coordinator of a job that it joins, and its own door for the device
 * before it in the ring.
 *
 *     SH_TRY(sh_member_connect(&member, &options));
 *     ... the mailbox gets WELCOME ...
 *     sh_member_receive(member, blocks, count);      // then STATE
 *     sh_member_ready(member, fingerprint, family);  // then VIEW, START, END
 *     sh_member_close(member);
 *
 * Threads: one caller, not the loop's. Inside, everything happens on the loop's thread.
 */
#ifndef SHOAL_NODE_MEMBER_H
#define SHOAL_NODE_MEMBER_H

#include "node/mailbox.h"
#include "reduce/ring.h"
#include "shoal/train.h"
#include "train/snapshot.h"

typedef struct sh_member_options {
    sh_loop *loop;
    sh_mailbox *mailbox;
    const sh_token *token; /* borrowed for sh_member_connect */
    const char *name;
    uint32_t lanes;
    bool local;
} sh_member_options;

/* What SH_MAIL_WELCOME carries. */
typedef struct sh_welcome {
    sh_job job;
    char fingerprint[SH_DIGEST_TEXT]; /* of the data */
    uint64_t state_bytes;
} sh_welcome;

typedef struct sh_device_member sh_device_member;

/* Connects and says hello. What follows comes by mail; the end of the connection too, as
 * SH_MAIL_END. */
sh_status sh_member_connect(sh_device_member **member,
                            const sh_member_options *options) SHOAL_CHECKED;

/* Where the state goes that follows the welcome. Borrowed until SH_MAIL_STATE or the end. */
void sh_member_receive(sh_device_member *member, const sh_snapshot_block *blocks, uint32_t count);

void sh_member_ready(sh_device_member *member, const char *fingerprint, const char *family);

/* Opens the door of the view for `ring`, which is borrowed until sh_member_close, and says so. */
sh_status sh_member_opened(sh_device_member *member, sh_ring *ring,
                           const sh_view *view) SHOAL_CHECKED;

void sh_member_report(sh_device_member *member, const sh_device_report *report,
                      const char *weights_hash);

/* Asks to leave (`reason` empty), or says why this device cannot go on. */
void sh_member_leave(sh_device_member *member, const char *reason);

sh_channel_stats sh_member_stats(sh_device_member *member);

/* Writes what is queued, closes everything and frees it. NULL is fine. */
void sh_member_close(sh_device_member *member);

#endif
