/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where all go on after a halt, judged by what the survivors say of themselves: one position, who
 * stands there, who needs a replica, whose grains count, who computes the rest. Pure functions.
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

typedef enum sh_standing {
    SH_STANDING_AT,   /* at the target, its weights those of the majority */
    SH_STANDING_AWAY, /* elsewhere, or without a whole replica */
    SH_STANDING_ODD,  /* there, with other weights */
} sh_standing;

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
    sh_standing standing[SH_DEVICES_MAX]; /* by survivor, as are the next two */
    bool keep[SH_DEVICES_MAX];
    sh_ranges work[SH_DEVICES_MAX];
} sh_recovery;

/*
 * The target is the highest position; of a validation and the first attempt behind it, which have
 * the same weights, the validation, once more. But where a single device is there, and not device
 * 0, and device 0 is whole, the target is where device 0 stands: else the loss of that one device
 * while it gives its replica away would be the loss of the job.
 *
 * Of those at the target the most that agree by check are right: of the proven, where there are
 * some. In a tie nobody can know, and all are AT: `torn`. So it is where a single one's word stands
 * against others'. False: nobody has a whole replica.
 */
bool sh_recovery_judge(sh_recovery *recovery, const sh_survivor *survivors, uint32_t count);

/*
 * Who keeps what it holds, and what each is to compute besides, about in proportion to the shares.
 * Every grain of the stage is then kept or to be computed by exactly one. With `afresh`, and
 * where a device would hold too scattered a set, nobody keeps. Shares of `of` grains.
 */
void sh_recovery_deal(sh_recovery *recovery, const sh_survivor *survivors, uint32_t count,
                      const sh_range *shares, uint32_t of, bool afresh);

#endif
