/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how the survivors of a halt continue, from their notices: at which position, which of
 * them need a replica, whose grains count, and who computes the rest.
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
    SH_REPLICA_AT,   /* at the target, with the majority's weights */
    SH_REPLICA_AWAY, /* elsewhere, or not whole */
    SH_REPLICA_ODD,  /* at the target, with other weights */
} sh_replica_agreement;

typedef struct sh_survivor {
    uint32_t device;
    const sh_notice *notice; /* borrowed for the call */
    bool proven;             /* a stage with its check passed since it received its replica */
} sh_survivor;

typedef struct sh_recovery {
    sh_position target;
    bool no_majority; /* weights at the target differ */
    bool ends;
    uint32_t grains; /* of the training stage at the target; else 0 */
    sh_replica_agreement agreement[SH_DEVICES_MAX]; /* by survivor, like the next two */
    bool keep[SH_DEVICES_MAX];
    sh_ranges work[SH_DEVICES_MAX];
} sh_recovery;

/*
 * The target is the highest position of device 0 or of at least two devices. A single other device
 * is followed only if no position qualifies: it may lie about being ahead, and its loss while it
 * sends its replica would end the job. A first attempt becomes the validation before it, which has
 * the same weights, if a whole replica is there. No single device decides how many grains the stage
 * at the target has, or that the job ends there.
 *
 * Of the devices at the target (only the proven ones, if any) the largest group with equal checks
 * is right. In a tie, or if the group is a single device and another has a different check, all are
 * AT and `no_majority` is set. False: no replica is whole.
 */
bool sh_recovery_judge(sh_recovery *recovery, const sh_survivor *survivors, uint32_t count);

/* Decides who keeps its held grains, and deals the others about in proportion to the shares of `of`
 * grains: exactly one device has each grain. No device keeps grains if `restart`, or if one would
 * need too many ranges. */
void sh_recovery_deal(sh_recovery *recovery, const sh_survivor *survivors, uint32_t count,
                      const sh_range *shares, uint32_t of, bool restart);

#endif
