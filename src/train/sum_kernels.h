/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of the exact sum: floats to integers, added modulo 2^32, 2^16 or 2^8; and the
 * check that finds narrow sums that wrapped. For exact_sum.c and tests.
 *
 *     uint32_t top = sh_sum_kernels[sh_variant_chosen()](sum, gradient, scale, count);
 *     if (top >= SH_SUM_INFINITY_BITS)
 *         ... some gradient[i] is infinite or not a number ...
 *
 *     const sh_narrow_draw draw = sh_narrow_draw_for(seed, step, grain, tensor);
 *     uint64_t check = 0;
 *     top = sh_narrow_add[SH_NARROW_8][sh_variant_chosen()](sum, gradient, scale, count, &draw,
 *                                                         &check);
 *     ... after all have been added, anywhere ...
 *     wrapped = sh_narrow_check[SH_NARROW_8][sh_variant_chosen()](total, 0, count) != check;
 *
 * Each table has the same function by instruction set. Threads: any; the caller locks `sum`.
 */
#ifndef SHOAL_TRAIN_SUM_KERNELS_H
#define SHOAL_TRAIN_SUM_KERNELS_H

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
extern sh_sum_kernel *const sh_sum_kernels[SH_VARIANT_COUNT];

typedef enum sh_narrow { SH_NARROW_16, SH_NARROW_8, SH_NARROW_COUNT } sh_narrow;

/* Terms are cut off at this magnitude, in units; bounds show that. */
#define SH_NARROW_LARGEST 0x1p30f

/* The random numbers that round a gradient depend on these and on each element's place alone. */
typedef struct sh_narrow_draw {
    uint32_t key[2]; /* of seed, step, grain and tensor */
    uint32_t first;  /* place in the tensor of the first element at hand */
} sh_narrow_draw;

/* Begins at the tensor's first element. Steps count modulo 2^32. */
sh_narrow_draw sh_narrow_draw_for(uint64_t seed, uint64_t step, uint32_t grain, uint32_t tensor);

/*
 * sum[i] += term(i) modulo 2^w, for i < count; `sum` is int16_t or int8_t. A term is gradient[i] *
 * scale rounded down or up (towards or away from 0), up with a probability equal to its fraction,
 * within 2^-31: its mean is the product. What is not finite adds 0. *check rises by
 *
 *     sum over i of key(draw->first + i) * term(i)    modulo 2^64,
 *
 * where a key is 32 bits made from the place (a multilinear hash: Carter, Wegman 1979). So in any
 * order and split the checks of all terms add up to that of the whole sums, and to that of the sums
 * modulo 2^w if and (but for a chance of about 2^-32) only if no sum left -2^(w-1) .. 2^(w-1) - 1.
 * One sum alone that wrapped is always found. `scale` is a power of two from 2^-126 to 2^94.
 * Returns the largest magnitude bits, as sh_sum_kernel. The arrays do not overlap.
 */
typedef uint32_t sh_narrow_add_kernel(void *sum, const float *gradient, float scale, size_t count,
                                      const sh_narrow_draw *draw, uint64_t *check);
extern sh_narrow_add_kernel *const sh_narrow_add[SH_NARROW_COUNT][SH_VARIANT_COUNT];

/* The check of `count` sums, the first of them at place `first` of its tensor. */
typedef uint64_t sh_narrow_check_kernel(const void *sum, uint32_t first, size_t count);
extern sh_narrow_check_kernel *const sh_narrow_check[SH_NARROW_COUNT][SH_VARIANT_COUNT];

#endif
