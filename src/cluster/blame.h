/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the faulty device if the checks in a sum disagreed although all weights agree: compares
 * what each device reports about its own trailer and about the total. A pure function.
 *
 *     if (sh_blame_find(odd, words, count, check, devices) == 0)
 *         ... no report identifies the faulty device ...
 *
 * Threads: any.
 */
#ifndef SHOAL_CLUSTER_BLAME_H
#define SHOAL_CLUSTER_BLAME_H

#include <stdbool.h>
#include <stdint.h>

/* What a device says of the stage. */
typedef struct sh_blame_word {
    bool there;     /* its replica is at the stage; other devices do not count */
    bool passed;    /* its replica is past the stage: it found that all agreed */
    bool differed;  /* it found that the checks differ */
    uint64_t said;  /* the check in its own trailer; 0: not computed */
    uint64_t total; /* the sum of all checks that it read; only if it `differed` */
} sh_blame_word;

/*
 * Marks in odd[count] the devices that are wrong, and returns how many. `check` is that of the
 * weights, which `devices` have added up. The first of these that applies to anybody:
 *
 *   it said another check than its weights have
 *   it found a difference in a total that shows none
 *   most others found the opposite: it passed the stage alone, or alone it did not
 *   most others read another total, one and the same
 */
uint32_t sh_blame_find(bool *odd, const sh_blame_word *words, uint32_t count, uint64_t check,
                       uint32_t devices);

#endif
