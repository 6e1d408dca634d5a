/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roles of a device in a job, and the change between them: leading, as `shoal train` begins,
 * and following, as `shoal join` begins. A follower can succeed a lost coordinator; a leader
 * follows another leader that is ahead.
 *
 *     status = sh_lead(&summary, &moved, &options);     // node/job/train.c
 *     if (moved.port != 0)
 *         status = sh_follow(&result, &options, &moved); // node/job/join.c
 *
 * Threads: the step's thread.
 */
#ifndef SHOAL_NODE_JOB_LEAD_H
#define SHOAL_NODE_JOB_LEAD_H

#include "node/member/failover_state.h"
#include "shoal/join.h"
#include "train/session.h"

/* Borrowed for the call. */
typedef struct sh_lead_options {
    const sh_failover_state *failover;
    sh_session *session; /* started; its replica is whole */
    const char *name;
    const sh_join_options *device; /* lanes, memory, stop, observer */
    const char *run;               /* its folder; NULL: a new one, named like train's */
    /* The job is complete and the session has the last weights. The call returns its failure. */
    sh_status (*at_end)(void *context);
    void *context;
} sh_lead_options;

/*
 * Continues a job as the coordinator's successor, in its own run folder. If another device succeeds
 * this one: *moved has a port, the status is SH_ABORTED, the session is in the state after its last
 * step, and *whole says whether its replica is usable. Else as sh_train.
 */
sh_status sh_lead(sh_summary *summary, sh_endpoint *moved, bool *whole,
                  const sh_lead_options *options) SHOAL_CHECKED;

typedef struct sh_follow_options {
    const sh_join_options *device; /* `token` replaces its token */
    const char *name;
    const sh_token *token;
    sh_session *session; /* in the state after its last step; the call takes ownership */
    bool whole;
    sh_endpoint endpoint; /* of the leader */
} sh_follow_options;

/* Continues a job that this device led. Else as sh_join. */
sh_status sh_follow(sh_join_result *result, const sh_follow_options *options) SHOAL_CHECKED;

#endif
