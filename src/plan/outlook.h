/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of a plan for several devices: the curve of a step's time, and the times with other
 * grains and wire widths, computed from the plan's rows of this device.
 *
 *     const sh_outlook asked = {.inventory = &inventory, .traffic = traffic, .wire = 32};
 *     SH_TRY(sh_outlook_fill(result, &asked));
 *
 * A device with a stated number of operations a second computes that number over the operations of
 * a grain, in grains/s. Links have a round trip of SH_OUTLOOK_DELAY_S.
 *
 * Threads: as shoal/plan.h; pure, but allocates memory.
 */
#ifndef SHOAL_PLAN_OUTLOOK_H
#define SHOAL_PLAN_OUTLOOK_H

#include "plan/inventory.h"
#include "shoal/plan.h"
#include "train/traffic.h"

#define SH_OUTLOOK_DELAY_S 5e-4

typedef struct sh_outlook {
    const sh_inventory *inventory;
    sh_traffic traffic; /* of a step, with `wire` bits */
    uint32_t wire;
    bool servers;   /* as plan/lineup.h has it */
    bool energy;    /* choose the devices with the least energy */
    double limit_s; /* likewise, or the fewest devices, with steps of at most this; 0: no limit */
} sh_outlook;

/* Fills points, best, ways, choice and on_note of a result that has its layers and grains.
 * SH_NOT_FOUND: the inventory has this device, and the result has no times. SH_INVALID: `energy`,
 * and a device's power is unknown. */
sh_status sh_outlook_fill(sh_plan_result *result, const sh_outlook *asked) SHOAL_CHECKED;

#endif
