/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan's part about several devices: the curve of a step's time and what other grains and widths
 * of the wire would give, from the rows that the plan has of this device.
 *
 *     const sh_outlook asked = {.inventory = &inventory, .traffic = traffic, .wire = 32};
 *     SH_TRY(sh_outlook_fill(result, &asked));
 *
 * The speed of a device with a stated number of operations a second is that number over the
 * operations of a grain. Links on paper have a round trip of SH_OUTLOOK_DELAY_S.
 *
 * Threads: as shoal/plan.h; pure but for memory.
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
    double limit_s; /* likewise, or the fewest, whose steps take at most this; 0: not asked */
} sh_outlook;

/* Fills points, best, ways, choice and on_note of a result that has its layers and grains.
 * SH_NOT_FOUND: this device is among the devices, and the result has no times. SH_INVALID: `energy`
 * with a device whose power is not stated. */
sh_status sh_outlook_fill(sh_plan_result *result, const sh_outlook *asked) SHOAL_CHECKED;

#endif
