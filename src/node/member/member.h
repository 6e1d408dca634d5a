/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's connection to the coordinator of a job that it joins, and its door for other devices.
 *
 *     SH_TRY(sh_member_connect(&member, &options));
 *     ... the mailbox gets WELCOME ...
 *     sh_member_ready(member, bench, first_grain, NULL);
 *     ... the step's thread does what sh_member_agent says, until END comes ...
 *     sh_member_close(member);
 *
 * Threads: one caller, not the loop's. Inside, everything happens on the loop's thread.
 */
#ifndef SHOAL_NODE_MEMBER_H
#define SHOAL_NODE_MEMBER_H

#include "node/delivery/delivery.h"
#include "node/mail/mailbox.h"
#include "node/member/agent.h"
#include "node/member/legacy.h"
#include "node/record/telemetry.h"
#include "shoal/train.h"

typedef struct sh_member_options {
    sh_loop *loop;
    sh_mailbox *mailbox;
    const sh_token *token; /* borrowed for sh_member_connect */
    const char *name;
    const unsigned char *origin; /* SH_MESSAGE_ORIGIN_BYTES: the same for all connections of this
                                    process; borrowed until close */
    const unsigned char *key; /* SH_KEY_BYTES: the secret one by which it could lead; borrowed until
                                 close */
    uint32_t term;            /* the lowest that the coordinator may have */
    uint16_t port;            /* of its own door; 0: any that is free */
    uint16_t last_port;       /* that it had, and has again if it is free; 0: none */
    bool may_lead;            /* it goes on as the coordinator where that is lost */
    bool local;
} sh_member_options;

/* What SH_MAIL_WELCOME carries. */
typedef struct sh_welcome {
    sh_job job;
    char fingerprint[SH_DIGEST_TEXT]; /* of the data */
    sh_sources sources;               /* of the data */
} sh_welcome;

typedef struct sh_member sh_member;

/* Connects and says hello. What follows comes by mail: WELCOME; MOVED where another device is the
 * coordinator; END, or LOST where the connection ended, or nothing was heard, without that. */
sh_status sh_member_connect(sh_member **member, const sh_member_options *options) SHOAL_CHECKED;

/* This device is prepared for the job of the welcome. Its replica is `whole` and stands after its
 * last step, or it will take one from others. It gives its data to others unless they are still
 * being fetched (`delivery`, else NULL). All are borrowed until sh_member_close. */
void sh_member_ready(sh_member *member, sh_workbench *bench, const char *first_grain,
                     sh_delivery *delivery, bool whole);

/* A step was applied here: from sh_member_ready on, the coordinator hears of it. */
void sh_member_step(sh_member *member, const sh_step_times *times);

/* Tells the coordinator that this device cannot go on, and why. */
void sh_member_fail(sh_member *member, const char *reason);

/* This device's place in the job; borrowed until close. */
sh_agent *sh_member_agent(const sh_member *member);

/* What this device knows for the time after the coordinator; the caller wipes it. */
void sh_member_legacy(sh_member *member, sh_legacy *legacy);

/* Writes what is queued, closes everything and frees it. NULL is fine. */
void sh_member_close(sh_member *member);

#endif
