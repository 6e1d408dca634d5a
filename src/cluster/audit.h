/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The audit of one device's share of a step: other devices compute its grains again, a piece each.
 * All devices have the same arithmetic, so honest results are equal, and the checks of the pieces
 * add up to the check that the device committed to. A pure state machine.
 *
 *     sh_audit_begin(&audit, &suspect, grains, auditors, count);
 *     ... sh_audit_order(&order, &audit, device) tells each device what to compute ...
 *     switch (sh_audit_answer(&audit, device, round, &check)) ...
 *
 * If they do not add up, somebody lies. Then each piece is given to the next auditor, round after
 * round, until two devices agree on every piece, at last also to the suspect. Who claimed something
 * else is a liar. If no two agree, device 0 is right, because its owner gave out the job; without
 * its claim, all who claimed something about the piece are out.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLUSTER_AUDIT_H
#define SHOAL_CLUSTER_AUDIT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/ranges.h"
#include "train/sum_check.h"

#define SH_AUDIT_PIECES 8
#define SH_AUDIT_CLAIMANTS (SH_AUDIT_PIECES + 1)

/* In a notice: a device has summed a step and waits for its audit. */
typedef struct sh_audit_report {
    uint32_t key;            /* of the audit; 0: it waits for none */
    uint32_t round;          /* the last one that it answered; 0: none */
    sh_ranges grains;        /* that it added to the sum */
    sh_sum_check own, total; /* what it added, and the sum */
    sh_sum_check answer;     /* of `round` */
} sh_audit_report;

/* In a directive. */
typedef struct sh_audit_order {
    uint32_t key;     /* of the audit; 0: none */
    bool passed;      /* apply the step */
    uint32_t round;   /* compute `grains` and report their check; 0: nothing */
    sh_ranges grains; /* not empty in a round */
} sh_audit_order;

/* A device that may compute pieces, and the size of its piece in proportion to the others'. */
typedef struct sh_auditor {
    uint32_t device, weight;
} sh_auditor;

typedef enum sh_audit_finding {
    SH_AUDIT_WAITS,
    SH_AUDIT_NEXT,   /* another round: orders have changed */
    SH_AUDIT_HONEST, /* the suspect added what it should */
    SH_AUDIT_LIARS,  /* `liars` computed wrongly */
} sh_audit_finding;

typedef struct sh_audit {
    uint32_t first_round, round, rounds; /* in all */
    uint32_t pieces;
    uint32_t answered; /* bits: claimants that answered this round */
    sh_sum_check own;
    sh_ranges grains[SH_AUDIT_PIECES];
    uint32_t claimants[SH_AUDIT_CLAIMANTS]; /* devices: an auditor for each piece, the suspect */
    bool claimed[SH_AUDIT_PIECES][SH_AUDIT_CLAIMANTS];
    sh_sum_check claims[SH_AUDIT_PIECES][SH_AUDIT_CLAIMANTS];
    uint32_t liar_count;
    uint32_t liars[SH_AUDIT_CLAIMANTS];
    uint32_t agreed; /* the least number of devices that agree on a piece; 1: device 0 decided */
} sh_audit;

/* Deals the grains of a suspect, not empty, to `count` auditors, at least 1; uses the first
 * SH_AUDIT_PIECES of them with a weight, or the first of all. Rounds are numbered on from
 * `round`. */
void sh_audit_begin(sh_audit *audit, uint32_t round, uint32_t suspect,
                    const sh_audit_report *report, const sh_auditor *auditors, uint32_t count);

/* Sets round and grains of a device's order; false: it has nothing to compute in this round. */
bool sh_audit_order_of(sh_audit_order *order, const sh_audit *audit, uint32_t device);

/* Records an answer. One that was not asked for is ignored. */
sh_audit_finding sh_audit_answer(sh_audit *audit, uint32_t device, uint32_t round,
                                 const sh_sum_check *check);

#endif
