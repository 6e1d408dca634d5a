/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A joining device's connection to the coordinator, and its listener for other devices.
 *
 *     SH_TRY(sh_member_connect(&member, &options));
 *     ... the mailbox gets WELCOME ...
 *     sh_member_ready(member, session, first_grain, NULL);
 *     ... the step's thread works on the tasks of sh_member_agent until END arrives ...
 *     sh_member_close(member);
 *
 * Threads: one caller, not on the loop's thread, which does the work.
 */
#ifndef SHOAL_NODE_MEMBER_H
#define SHOAL_NODE_MEMBER_H

#include "node/delivery/delivery.h"
#include "node/member/agent.h"
#include "node/member/failover_state.h"
#include "node/protocol/mailbox.h"
#include "node/record/telemetry.h"
#include "shoal/train.h"

typedef struct sh_member_options {
    sh_loop *loop;
    sh_mailbox *mailbox;
    const sh_token *token; /* with one address; borrowed for sh_member_connect */
    const char *name;
    const unsigned char
        *origin; /* SH_MESSAGE_ORIGIN_BYTES: identifies this process; borrowed until close */
    const unsigned char *key; /* SH_KEY_BYTES: secret, to lead with; borrowed until close */
    uint32_t term;            /* the lowest accepted term of the coordinator */
    uint16_t port;            /* of its own door; 0: any free port */
    uint16_t last_port;       /* its previous port, reused if free; 0: none */
    bool may_lead;
    bool local;
} sh_member_options;

/* The data of SH_MAIL_WELCOME. */
typedef struct sh_welcome {
    sh_job job;
    char fingerprint[SH_DIGEST_TEXT]; /* of the data */
    sh_sources sources;               /* of the data */
} sh_welcome;

typedef struct sh_member sh_member;

/* Connects and sends hello. Results arrive by mail: WELCOME; MOVED if another device is the
 * coordinator; END; LOST if the connection ended or was silent before END. */
sh_status sh_member_connect(sh_member **member, const sh_member_options *options) SHOAL_CHECKED;

/* This device is ready for the job of the welcome. `whole`: its replica is complete and stands
 * after its last step; else others send it. Serves its data to others unless `delivery` still
 * fetches them; NULL: the data are local. Pointers are borrowed until sh_member_close. */
void sh_member_ready(sh_member *member, sh_session *session, const char *first_grain,
                     sh_delivery *delivery, bool whole);

/* Ignored before sh_member_ready. */
void sh_member_step(sh_member *member, const sh_step_times *times);

/* Tells the coordinator that this device cannot continue. */
void sh_member_fail(sh_member *member, const char *reason);

/* Borrowed until close. */
sh_agent *sh_member_agent(const sh_member *member);

/* What this device needs if the coordinator is lost; the caller wipes it. */
void sh_member_failover_state(sh_member *member, sh_failover_state *failover);

/* Where a coordinator listens that looked for other coordinators here. It has not proved its role.
 * False: none did; `*endpoint` is unchanged. */
bool sh_member_caller(sh_member *member, sh_endpoint *endpoint);

/* Sends what is queued and closes all connections. NULL is allowed. */
void sh_member_close(sh_member *member);

#endif
