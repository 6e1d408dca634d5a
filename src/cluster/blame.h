/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose fault it is if the checks in a sum did not agree although all weights do: what each device
 * says of its own trailer and of the total is compared. A pure function.
 *
 *     if (sh_blame_find(odd, words, count, check, devices) == 0)
 *         ... nobody shows who is wrong ...
 *
 * Threads: any.
 */
#ifndef SHOAL_CLUSTER_BLAME_H
#define SHOAL_CLUSTER_BLAME_H

#include <stdbool.h>
#include <stdint.h>

/* What a device says of the stage. */
typedef struct sh_blame_word {
    bool there;     /* its replica stands at the stage; the others are no witnesses */
    bool passed;    /* its replica stands behind the stage: it found that all agreed */
    bool differed;  /* it found that the checks differ */
    uint64_t said;  /* the check in its own trailer; 0: it has not made it */
    uint64_t total; /* of all checks, as it read it; only if it `differed` */
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
