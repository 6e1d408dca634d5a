/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses devices by other aims than the shortest step: the set with the least energy a step, or
 * the smallest set that is fast enough.
 *
 *     const sh_thrift_aim aim = {.energy = true, .limit_s = 0.2};
 *     if (sh_thrift_choose(&set, &job, kinds, count, &aim))
 *         printf("%u devices, %.1f J a step\n", set.devices, set.joules);
 *
 * A device of the set draws its power for the whole step, because it waits for the slowest one;
 * a device outside the set draws nothing. So a step takes time * sum of watts.
 *
 * Threads: any; pure.
 */
#ifndef SHOAL_PLAN_THRIFT_H
#define SHOAL_PLAN_THRIFT_H

#include "plan/inventory.h"
#include "plan/lineup.h"

/* Devices that are alike. */
typedef struct sh_thrift_kind {
    sh_lineup_device device;
    uint32_t count;
    double watts; /* of one; 0: not known */
} sh_thrift_kind;

typedef struct sh_thrift_aim {
    bool energy;    /* least joules, then shortest step; else fewest devices */
    double limit_s; /* the longest that a step may take; 0: any time */
} sh_thrift_aim;

typedef struct sh_thrift {
    uint32_t used[SH_INVENTORY_KINDS]; /* of each kind */
    uint32_t devices;
    sh_lineup_time time;
    double joules; /* a step; 0: not known */
} sh_thrift;

#define SH_THRIFT_SETS 20000 /* that are all tried */

/*
 * 0 < count <= SH_INVENTORY_KINDS. False: no set keeps to the limit. Tries all sets if there are at
 * most SH_THRIFT_SETS. Otherwise it starts with the best of all devices, one of each kind, and all
 * of one kind, and moves to better sets that differ by one device.
 */
bool sh_thrift_choose(sh_thrift *chosen, const sh_lineup_job *job, const sh_thrift_kind *kinds,
                      uint32_t count, const sh_thrift_aim *aim);

#endif
