/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of a device that joins share. join.c tells its story; join_prepare.c brings data
 * and network and compiles, and calls nothing of the other.
 *
 *     SH_TRY(sh_joining_expect(self, SH_MAIL_WELCOME, &mail));
 *     SH_TRY(sh_joining_prepare(self, mail.data));
 *
 * Threads: the step's.
 */
#ifndef SHOAL_NODE_JOB_JOIN_IMPL_H
#define SHOAL_NODE_JOB_JOIN_IMPL_H

#include "node/job/progress_events.h"
#include "node/job/vigil.h"
#include "node/member/member.h"
#include "shoal/join.h"

typedef struct joining {
    const sh_join_options *options;
    char name[SH_NAME_BYTES];
    unsigned char origin[SH_MESSAGE_ORIGIN_BYTES];
    unsigned char key[SH_KEY_BYTES]; /* secret: by which it could lead */
    sh_token token;
    sh_mailbox *mailbox;
    sh_loop *loop;
    sh_member *member;   /* stays for a while after the connection, for those who ask at its door */
    sh_legacy legacy;    /* of the coordinator that was lost last */
    sh_door moved;       /* the coordinator is there; port 0: nobody said so */
    bool whole;          /* the replica, where no part in the job is under way */
    sh_network *network; /* of an imported model; else NULL; as the bench */
    sh_workbench *bench; /* kept when the coordinator is lost */
    sh_delivery *delivery; /* of the data of the bench; NULL where they are here */
    char first_grain[SH_DIGEST_TEXT];
    bool said_leave, started;
    bool known;    /* it has been welcomed, so there is such a job */
    bool welcomed; /* in the connection at hand, or the last one */
    bool over;     /* the coordinator said so, or the connection to it ended */
    bool lost;     /* the latter, or another device coordinates */
    bool rests;    /* it stands by */
    bool late;     /* the job ended well, before this device could take part */
    sh_vigil *vigil;
    sh_progress_pace pace;
    double seen_rate; /* samples a second, of late */
    sh_join_result result;
} joining;

void sh_joining_observe(const joining *self, const sh_event *event);

/* What may stop it; NULL: nothing, it follows the device that started it. */
const sh_stop *sh_joining_stop(const joining *self);

/* Whether a mail says that this device's part in the job, or in this connection, is over; and how,
 * as a status with its message. */
bool sh_joining_is_end(const sh_mail *mail);
sh_status sh_joining_ended(joining *self, const sh_mail *mail);

/* Waits for the mail of one kind: WELCOME, NETWORK or DATA. The end of the job is a failure here.
 */
sh_status sh_joining_expect(joining *self, sh_mail_kind kind, sh_mail *mail) SHOAL_CHECKED;

/* Opens data and compiles, unless that was done before. Data that were being fetched have lost
 * their sources with the coordinator; what has come is in the cache. */
sh_status sh_joining_prepare(joining *self, const sh_welcome *welcome) SHOAL_CHECKED;

/* NULL is fine. */
void sh_joining_close_bench(joining *self);

#endif
