/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the audits of a membership: the stage of the current one, and counts of all.
 *
 * Threads: as membership.h.
 */
#ifndef SHOAL_CLUSTER_AUDIT_STATE_H
#define SHOAL_CLUSTER_AUDIT_STATE_H

#include "base/position.h"
#include "cluster/dispute.h"

typedef struct sh_membership_audit {
    double part;  /* of all steps; 0: no audits */
    bool due;     /* an audit was interrupted: the next step is audited */
    uint32_t key; /* of the current or last audit; 0: none yet */
    enum {
        SH_AUDITING_NOTHING,
        SH_AUDITING_SUMS,
        SH_AUDITING_SHARES,
        SH_AUDITING_DISPUTE,
        SH_AUDITING_DONE,
    } stage;
    uint32_t view;    /* of the audited step */
    sh_position at;   /* likewise */
    uint64_t seed;    /* decides who computes what again: random */
    bool unexplained; /* the sum is not what the devices committed to */
    sh_recount recount;
    sh_dispute dispute;
    uint64_t shares, steps; /* found right, ever */
    uint32_t named;         /* devices evicted, ever */
} sh_membership_audit;

#endif
