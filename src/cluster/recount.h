/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recount of a step: other devices compute all shares again. Each device gets about as many
 * grains as it added, so all are busy for as long as the step's own computing took. A pure state
 * machine.
 *
 *     sh_recount_begin(&recount);
 *     ... sh_recount_add(&recount, device, &report) for each device ...
 *     sh_recount_deal(&recount, seed);
 *     ... sh_recount_order_of(&order, &recount, device) tells each device what to compute ...
 *     ... sh_recount_answer(&recount, device, round, &check) ...
 *     if (sh_recount_is_complete(&recount))
 *         share = sh_recount_find_wrong(&recount);
 *
 * All devices have the same arithmetic, so honest results are equal, and the checks of a share's
 * pieces add up to the check that its device committed to. If they do not, somebody lies, and
 * cluster/dispute.h finds out who.
 *
 * The devices are put in a random circle. Each share goes to the devices that follow in it, as many
 * grains to each as it added itself. So any other device may be the one that computes a grain
 * again, in proportion to what it adds, and nobody can know which before the deal.
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_CLUSTER_RECOUNT_H
#define SHOAL_CLUSTER_RECOUNT_H

#include "cluster/audit.h"
#include "plan/shares.h"

/* The most pieces of one share. */
#define SH_RECOUNT_PIECES 8

typedef struct sh_recount_share {
    uint32_t device;
    sh_ranges grains; /* that it added; may be empty */
    sh_sum_check own; /* what it committed to */
    uint32_t first_piece, piece_count;
} sh_recount_share;

/* Consecutive grains of one share. Its round is its index + 1. */
typedef struct sh_recount_piece {
    uint32_t share;        /* index */
    uint32_t auditor;      /* device */
    uint32_t first, count; /* places in the share's grains */
    bool answered;
    sh_sum_check check;
} sh_recount_piece;

typedef struct sh_recount {
    uint32_t share_count, piece_count;
    uint32_t open;                               /* pieces without an answer */
    sh_recount_share shares[SH_DEVICES_MAX];     /* after the deal: as the circle */
    sh_recount_piece pieces[2 * SH_DEVICES_MAX]; /* one begins with each share and each auditor */
} sh_recount;

/* Empties it. */
void sh_recount_begin(sh_recount *recount);

/* Adds a device with its report (copied); at most SH_DEVICES_MAX. */
void sh_recount_add(sh_recount *recount, uint32_t device, const sh_audit_report *report);

/* Deals the shares of the added devices, at least 2. False: no device added a grain. */
bool sh_recount_deal(sh_recount *recount, uint64_t seed);

/* Sets round and grains of a device's order; false: it has nothing left to compute. */
bool sh_recount_order_of(sh_audit_order *order, const sh_recount *recount, uint32_t device);

/* Records an answer. False: nobody asked for it, or it is known. */
bool sh_recount_answer(sh_recount *recount, uint32_t device, uint32_t round,
                       const sh_sum_check *check);

/* Whether all pieces have answers. */
bool sh_recount_is_complete(const sh_recount *recount);

/* The first share whose pieces do not add up to what its device committed to; NULL: all are right.
 * After all answers. */
const sh_recount_share *sh_recount_find_wrong(const sh_recount *recount);

/* The grains of a piece. */
sh_ranges sh_recount_grains(const sh_recount *recount, const sh_recount_piece *piece);

/* How many shares have grains. */
uint32_t sh_recount_shares(const sh_recount *recount);

#endif
