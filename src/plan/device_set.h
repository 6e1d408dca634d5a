/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the set of devices with the least energy per step, or the smallest set that is fast
 * enough.
 *
 * Devices of the set draw power for the whole step, because they wait for the slowest one; others
 * draw none. So a step takes time * sum of watts.
 *
 *     const sh_device_set_goal goal = {.energy = true, .limit_s = 0.2};
 *     if (sh_device_set_choose(&set, &job, kinds, count, &goal))
 *         printf("%u devices, %.1f J a step\n", set.devices, set.joules);
 *
 * Threads: any; pure.
 */
#ifndef SHOAL_PLAN_DEVICE_SET_H
#define SHOAL_PLAN_DEVICE_SET_H

#include "plan/inventory.h"
#include "plan/lineup.h"

typedef struct sh_device_set_kind {
    sh_lineup_device device;
    uint32_t count;
    double watts; /* of one; 0: unknown */
} sh_device_set_kind;

typedef struct sh_device_set_goal {
    bool energy;    /* least joules, then shortest step; else fewest devices */
    double limit_s; /* longest step; 0: no limit */
} sh_device_set_goal;

typedef struct sh_device_set {
    uint32_t used[SH_INVENTORY_KINDS]; /* by kind */
    uint32_t devices;
    sh_lineup_time time;
    double joules; /* per step; 0: unknown */
} sh_device_set;

#define SH_DEVICE_SET_SETS 20000 /* up to here all sets are tried */

/*
 * 0 < count <= SH_INVENTORY_KINDS. False: no set meets the limit. If there are more than
 * SH_DEVICE_SET_SETS sets, the search begins with the best of: all devices, one of each kind, all
 * of one kind; and moves to better sets that differ by one device.
 */
bool sh_device_set_choose(sh_device_set *chosen, const sh_lineup_job *job,
                          const sh_device_set_kind *kinds, uint32_t count,
                          const sh_device_set_goal *goal);

#endif
