/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How often a device was found wrong (its replica, or its word in a sum, differed from the
 * others'), and when that is enough: bits that are stuck in its memory differ again after each
 * repair. Faults count twice: those without an applied step between them, and those of late, of
 * which SH_REPAIRS_CALM applied steps make good one each.
 *
 *     if (sh_repairs_fault(&one->repairs, steps))
 *         put_out(one);
 *     ...
 *     sh_repairs_passed(&one->repairs, steps);      // a step was applied with it
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_CLUSTER_REPAIRS_H
#define SHOAL_CLUSTER_REPAIRS_H

#include <stdbool.h>
#include <stdint.h>

#define SH_REPAIRS_MAX 3    /* without a step applied between them */
#define SH_REPAIRS_LATELY 8 /* of late */
#define SH_REPAIRS_CALM 8   /* steps that make good one of those of late */
#define SH_REPAIRS_DONORS 8 /* that are remembered */

/* Zeroed to begin with. */
typedef struct sh_repairs {
    bool again;      /* it was evicted and rejoined: the next fault evicts it */
    uint32_t faults; /* since a step was applied with it */
    uint32_t lately;
    uint64_t steps; /* applied when `lately` last changed */
    uint32_t donor_count;
    uint32_t donors[SH_REPAIRS_DONORS]; /* who gave it its replica since a step was applied */
} sh_repairs;

/* The device is wrong, after `steps`. True: once too often, so it computes wrongly. */
bool sh_repairs_fault(sh_repairs *repairs, uint64_t steps);

/* A step was applied with the device: `steps` by now. */
void sh_repairs_passed(sh_repairs *repairs, uint64_t steps);

/* `donor` gives it its replica. */
void sh_repairs_take(sh_repairs *repairs, uint32_t donor);

/* Whether `donor` has given it its replica since a step was applied. */
bool sh_repairs_took(const sh_repairs *repairs, uint32_t donor);

#endif
