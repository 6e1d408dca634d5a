/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check of a part of the exact sum: what a device commits to when a step is audited.
 *
 * Eight multilinear hashes modulo 2^64 of the accumulator's integers and of the trailer's sums
 * (Carter, Wegman 1979). Each integer has 64 - width zero bits appended, so that a wrapped sum does
 * not change the check: the checks of parts add up to the check of their sum. The keys follow from
 * `key`, which nobody knows before the parts are fixed. A change in one integer is then missed with
 * a probability of 2^-64, or of 2^-8 if it changes the highest bit alone. The words that a device
 * adds for itself (view, audit, stop, check of the weights) are excluded.
 *
 *     sh_sum_check own = {0};
 *     sh_sum_check_add(&own, key, 0, accumulator, elements, sizeof(int32_t));
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_TRAIN_SUM_CHECK_H
#define SHOAL_TRAIN_SUM_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#define SH_SUM_CHECK_WORDS 8

/* Zero initially. */
typedef struct sh_sum_check {
    uint64_t words[SH_SUM_CHECK_WORDS];
} sh_sum_check;

/* Adds `count` integers of `bytes` bytes each (1, 2, 4 or 8), whose places start at `first`. */
void sh_sum_check_add(sh_sum_check *check, uint32_t key, uint64_t first, const void *integers,
                      uint64_t count, uint32_t bytes);

void sh_sum_check_merge(sh_sum_check *check, const sh_sum_check *other);

bool sh_sum_check_equal(const sh_sum_check *one, const sh_sum_check *other);

#endif
