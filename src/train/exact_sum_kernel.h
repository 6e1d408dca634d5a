/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loop of the exact sum: floats to integers, added modulo 2^32. For exact_sum.c and
 * tests.
 *
 *     const uint32_t top = sh_sum_kernels[sh_variant_best()](sum, gradient, scale, count);
 *     if (top >= SH_SUM_INFINITY_BITS)
 *         ... some gradient[i] is infinite or not a number ...
 *
 * Threads: any; the caller holds `sum`.
 */
#ifndef SHOAL_TRAIN_EXACT_SUM_KERNEL_H
#define SHOAL_TRAIN_EXACT_SUM_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/variant.h"

/* Magnitude bits of an infinity; those of a NaN are greater, those of every number less. */
#define SH_SUM_INFINITY_BITS 0x7f800000u

/*
 * sum[i] += round(gradient[i] * scale) modulo 2^32, for i < count. Rounds to nearest, ties to even;
 * a product outside +-2147483520 (the largest float below 2^31) counts as that limit; what is not
 * finite adds 0. `scale` is a power of two from 2^-126 to 2^125. Returns the largest magnitude bits
 * seen (the bits of |gradient[i]|, which order as the magnitudes do). The arrays do not overlap.
 */
typedef uint32_t sh_sum_kernel(int32_t *sum, const float *gradient, float scale, size_t count);

/* The same function by instruction set. */
extern sh_sum_kernel *const sh_sum_kernels[SH_VARIANT_COUNT];

#endif
