/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where all go on after a halt, by what the survivors say: one position, who stands there, who
 * needs a replica, whose grains count, who computes the rest. Pure functions.
 *
 *     if (!sh_recovery_judge(&recovery, survivors, count))
 *         ... no replica is left ...
 *     ... transfers to those that are not AT ...
 *     sh_recovery_deal(&recovery, survivors, count, shares, of);
 *
 * Threads: any.
 */
#ifndef SHOAL_CLUSTER_RECOVERY_H
#define SHOAL_CLUSTER_RECOVERY_H

#include "cluster/directive.h"
#include "cluster/notice.h"

typedef enum sh_replica_agreement {
    SH_REPLICA_AT,   /* at the target, its weights those of the majority */
    SH_REPLICA_AWAY, /* elsewhere, or without a whole replica */
    SH_REPLICA_ODD,  /* there, with other weights */
} sh_replica_agreement;

typedef struct sh_survivor {
    uint32_t device;
    const sh_notice *notice; /* borrowed for the call */
    bool proven; /* a stage passed in which its check took part since it took a replica */
} sh_survivor;

typedef struct sh_recovery {
    sh_position target;
    bool torn;       /* those there differ, and no majority shows who is right */
    bool ends;       /* somebody there has finished, so all have */
    uint32_t grains; /* of the training stage there; 0: a validation, or none */
    sh_replica_agreement agreement[SH_DEVICES_MAX]; /* by survivor, as are the next two */
    bool keep[SH_DEVICES_MAX];
    sh_ranges work[SH_DEVICES_MAX];
} sh_recovery;

/*
 * The target is the highest position at which device 0 or more than one device stands; of a
 * validation and the first attempt after it, which have the same weights, the validation. One
 * device alone is not believed that it is ahead, and the job would be lost with it while it gives
 * its replica away; only if no others are whole, it is followed. Nor does one alone say how many
 * grains the stage there has, or that the job ends there.
 *
 * Of the devices at the target (the proven ones, if there are any) the largest group with equal
 * checks is right. In a tie, or if one device stands against others, all are AT and it is `torn`.
 * False: nobody has a whole replica.
 */
bool sh_recovery_judge(sh_recovery *recovery, const sh_survivor *survivors, uint32_t count);

/* Finds who keeps what it holds, and what each computes besides, about in proportion to the shares
 * of `of` grains: every grain of the stage is kept or computed by exactly one device. Nobody keeps
 * with `afresh`, or if a device would hold too scattered a set. */
void sh_recovery_deal(sh_recovery *recovery, const sh_survivor *survivors, uint32_t count,
                      const sh_range *shares, uint32_t of, bool afresh);

#endif
