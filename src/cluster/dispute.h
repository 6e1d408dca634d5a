/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dispute about a share whose recount differs from what its device, the suspect, committed to.
 * A pure state machine.
 *
 *     sh_dispute_begin(&dispute, &recount, share);
 *     ... sh_dispute_order_of(&order, &dispute, device) tells each device what to compute ...
 *     switch (sh_dispute_answer(&dispute, device, round, &check)) ...
 *
 * Each piece of the recount is given to the next auditor, round after round, until two devices
 * agree on every piece, at last also to the suspect. Who claimed something else is a liar. If no
 * two agree, device 0 is right, because its owner gave out the job; without its claim, all who
 * claimed something about the piece are out. As the first answers and the commitment differ, at
 * least one device lied.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLUSTER_DISPUTE_H
#define SHOAL_CLUSTER_DISPUTE_H

#include "cluster/recount.h"

#define SH_DISPUTE_AUDITORS SH_RECOUNT_PIECES
#define SH_DISPUTE_CLAIMANTS (SH_DISPUTE_AUDITORS + 1)

typedef enum sh_dispute_finding {
    SH_DISPUTE_WAITS,
    SH_DISPUTE_NEXT,    /* another round: orders have changed */
    SH_DISPUTE_SETTLED, /* `liars` computed wrongly */
} sh_dispute_finding;

typedef struct sh_dispute {
    uint32_t pieces, auditors;
    uint32_t first_round, round, rounds; /* in all */
    uint32_t answered;                   /* bits: claimants that answered this round */
    sh_sum_check own;
    sh_ranges grains[SH_RECOUNT_PIECES];
    uint32_t claimants[SH_DISPUTE_CLAIMANTS]; /* devices: the auditors, then the suspect */
    bool claimed[SH_RECOUNT_PIECES][SH_DISPUTE_CLAIMANTS];
    sh_sum_check claims[SH_RECOUNT_PIECES][SH_DISPUTE_CLAIMANTS];
    uint32_t liar_count;
    uint32_t liars[SH_DISPUTE_CLAIMANTS]; /* devices */
    uint32_t agreed; /* the least number of devices that agree on a piece; 1: device 0 decided */
} sh_dispute;

/* Begins with the answers of a complete recount about a share that is wrong. Rounds are numbered on
 * from the recount's. */
void sh_dispute_begin(sh_dispute *dispute, const sh_recount *recount,
                      const sh_recount_share *share);

/* Sets round and grains of a device's order; false: it has nothing to compute in this round. */
bool sh_dispute_order_of(sh_audit_order *order, const sh_dispute *dispute, uint32_t device);

/* Records an answer. One that was not asked for is ignored. */
sh_dispute_finding sh_dispute_answer(sh_dispute *dispute, uint32_t device, uint32_t round,
                                     const sh_sum_check *check);

#endif
