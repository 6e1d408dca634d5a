/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the faulty device if the checks in a sum disagreed although all weights agree: compares
 * what each device reports about its own trailer and about the total.
 *
 *     if (sh_blame_find(odd, reports, count, check, devices) == 0)
 *         ... no report identifies the faulty device ...
 *
 * Threads: any.
 */
#ifndef SHOAL_CLUSTER_BLAME_H
#define SHOAL_CLUSTER_BLAME_H

#include <stdbool.h>
#include <stdint.h>

typedef struct sh_blame_report {
    bool there;  /* its replica is at the stage; others do not count */
    bool passed; /* its replica is past the stage: all agreed there */
    bool differed;
    uint64_t own_check; /* its own trailer's; 0: not computed */
    uint64_t total;     /* of all checks that it read; only if it `differed` */
} sh_blame_report;

/*
 * Marks the faulty devices in odd[count] and returns their number, which may be 0. `check` is the
 * check of the weights, to which `devices` devices added. The first criterion that applies to any
 * device decides:
 *
 *   its trailer had another check than its weights
 *   it found a difference in a total that shows none
 *   it passed the stage and more devices found a difference, or the reverse
 *   most that found a difference read the same other total
 */
uint32_t sh_blame_find(bool *odd, const sh_blame_report *reports, uint32_t count, uint64_t check,
                       uint32_t devices);

#endif
