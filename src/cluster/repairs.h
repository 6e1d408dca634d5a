/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts the faults of a device (its replica, or its word in a sum, differed from the others') and
 * decides when they are too many: stuck bits of its memory differ again after each repair.
 *
 *     if (sh_repairs_add_fault(&one->repairs, steps))
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

#define SH_REPAIRS_MAX 3    /* faults without an applied step between them */
#define SH_REPAIRS_LATELY 8 /* recent faults */
#define SH_REPAIRS_CALM 8   /* applied steps that forgive one recent fault */
#define SH_REPAIRS_DONORS 8

/* All zero at first. */
typedef struct sh_repairs {
    bool again;      /* it rejoined after an eviction: the next fault evicts it */
    uint32_t faults; /* since the last applied step */
    uint32_t lately; /* recent faults */
    uint64_t steps;  /* applied when `lately` last changed */
    uint32_t donor_count;
    uint32_t donors[SH_REPAIRS_DONORS]; /* since the last applied step */
} sh_repairs;

/* `steps`: applied so far. True: too many faults. */
bool sh_repairs_add_fault(sh_repairs *repairs, uint64_t steps);

/* A step was applied with the device, `steps` in total. */
void sh_repairs_passed(sh_repairs *repairs, uint64_t steps);

void sh_repairs_add_donor(sh_repairs *repairs, uint32_t donor);

bool sh_repairs_has_donor(const sh_repairs *repairs, uint32_t donor);

#endif
