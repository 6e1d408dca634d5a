/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a plan for several devices: the curve of step times, and times with other grains and
 * wires, from the plan's rows for this device.
 *
 * A device's grains/s are its operations per second divided by those of a grain. A link of unknown
 * round trip has SH_CLUSTER_PLAN_DELAY_S.
 *
 *     const sh_cluster_plan asked = {.inventory = &inventory, .traffic = traffic, .wire = 32};
 *     SH_TRY(sh_cluster_plan_fill(result, &asked));
 *
 * Threads: as shoal/plan.h; pure, but allocates memory.
 */
#ifndef SHOAL_PLAN_CLUSTER_PLAN_H
#define SHOAL_PLAN_CLUSTER_PLAN_H

#include "plan/inventory.h"
#include "shoal/plan.h"
#include "train/traffic.h"

#define SH_CLUSTER_PLAN_DELAY_S 5e-4

typedef struct sh_cluster_plan {
    const sh_inventory *inventory;
    sh_traffic traffic; /* per step, with `wire` bits */
    uint32_t wire;
    uint32_t batch_size;
    bool servers;   /* see plan/lineup.h */
    bool energy;    /* choose by least energy */
    double limit_s; /* longest step of the chosen devices; 0: no limit */
} sh_cluster_plan;

/* Fills points, best, ways, choice and on_note of a result with layers and grains. SH_NOT_FOUND:
 * the inventory has this device, but the result has no times. SH_INVALID: `energy` and unknown
 * power. */
sh_status sh_cluster_plan_fill(sh_plan_result *result, const sh_cluster_plan *asked) SHOAL_CHECKED;

#endif
