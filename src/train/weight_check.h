/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A check of weights that devices compare in every step: a multilinear hash of the floats' bits,
 *
 *     check = sum over i of key(i) * bits(weights[i])    modulo 2^64,
 *
 * with odd keys that depend on the place i (Carter, Wegman 1979, but without secrets: the check
 * detects faults, not attacks). Ranges can be computed in any division and order. A change of one
 * weight is always detected, because an odd key times a difference below 2^32 is not 0.
 *
 *     uint64_t check = 0;
 *     check += sh_weight_check(weights + from, from, to - from);    // each range, by any lane
 *
 * Threads: any.
 */
#ifndef SHOAL_TRAIN_WEIGHT_CHECK_H
#define SHOAL_TRAIN_WEIGHT_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/variant.h"

/* The part of the check for `count` floats (or other 32-bit words), starting at place `first`. */
uint64_t sh_weight_check(const void *words, size_t first, size_t count);

/* By instruction set, for tests. */
typedef uint64_t sh_weight_check_kernel(const void *words, size_t first, size_t count);
extern sh_weight_check_kernel *const sh_weight_check_kernels[SH_VARIANT_COUNT];

#endif
