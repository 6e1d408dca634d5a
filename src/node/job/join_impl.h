/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files of a joining device. join.c has its main part; join_prepare.c fetches data
 * and network and compiles, and calls nothing of join.c.
 *
 *     SH_TRY(sh_joining_expect(self, SH_MAIL_WELCOME, &mail));
 *     SH_TRY(sh_joining_prepare(self, mail.data));
 *
 * Threads: the step's thread.
 */
#ifndef SHOAL_NODE_JOB_JOIN_IMPL_H
#define SHOAL_NODE_JOB_JOIN_IMPL_H

#include "node/job/hang_guard.h"
#include "node/job/progress_events.h"
#include "node/member/member.h"
#include "shoal/join.h"

typedef struct joining {
    const sh_join_options *options;
    char name[SH_NAME_BYTES];
    unsigned char origin[SH_MESSAGE_ORIGIN_BYTES];
    unsigned char key[SH_KEY_BYTES]; /* secret, to lead with */
    sh_token token;
    sh_mailbox *mailbox;
    sh_loop *loop;
    sh_member *member;          /* remains after the connection, to answer inquiries */
    sh_failover_state failover; /* of the last lost coordinator */
    sh_endpoint moved;          /* of the coordinator; port 0: unknown */
    bool whole;                 /* the replica is whole, while not taking part */
    uint32_t times_led;
    sh_network *network;   /* of an imported model, else NULL; kept like the session */
    sh_session *session;   /* kept when the coordinator is lost */
    sh_delivery *delivery; /* NULL: the data are local */
    char first_grain[SH_DIGEST_TEXT];
    bool said_leave, started;
    bool known;    /* it was welcomed: the job exists */
    bool welcomed; /* in the current or last connection */
    bool over;     /* the coordinator said so, or the connection ended */
    bool lost;     /* the connection ended, or another device coordinates */
    bool on_standby;
    bool late; /* the job completed without this device */
    sh_hang_guard *guard;
    sh_progress_pace pace;
    double seen_rate; /* samples per second */
    sh_join_result result;
} joining;

void sh_joining_observe(const joining *self, const sh_event *event);

/* NULL: this device ends with the one that started it. */
const sh_stop *sh_joining_stop(const joining *self);

/* Whether mail ends this device's part in the job or the connection; the status and message of that
 * end. */
bool sh_joining_is_end(const sh_mail *mail);
sh_status sh_joining_ended(joining *self, const sh_mail *mail);

/* Waits for WELCOME, NETWORK or DATA. Fails if the job ends. */
sh_status sh_joining_expect(joining *self, sh_mail_kind kind, sh_mail *mail) SHOAL_CHECKED;

/* Opens data and compiles, unless already done. An incomplete fetch begins again, because it lost
 * its sources with the coordinator; fetched blocks are in the cache. */
sh_status sh_joining_prepare(joining *self, const sh_welcome *welcome) SHOAL_CHECKED;

/* NULL is allowed. */
void sh_joining_close_session(joining *self);

#endif
