/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner loops of the exact sum: convert floats to integers and add them modulo 2^32, 2^16 or
 * 2^8. Also the check that detects narrow sums that wrapped.
 *
 *     uint32_t top = sh_sum_kernels[sh_variant_chosen()](sum, gradient, scale, count);
 *     if (top >= SH_SUM_INFINITY_BITS)
 *         ... some gradient[i] is infinite or not a number ...
 *
 * Each table has one function per instruction set, with equal results.
 *
 * Threads: any; the caller locks `sum`.
 */
#ifndef SHOAL_TRAIN_SUM_KERNELS_H
#define SHOAL_TRAIN_SUM_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "base/variant.h"

/* Magnitude bits (those of |x|, in the order of magnitudes) of infinity. Those of NaN are
 * greater. */
#define SH_SUM_INFINITY_BITS 0x7f800000u

/*
 * Adds round(gradient[i] * scale) to sum[i] modulo 2^32, for i < count. Rounds to nearest, ties to
 * even. Clamps products to +-2147483520 (the largest float below 2^31). A gradient that is not
 * finite adds 0. `scale` is a power of two from 2^-126 to 2^125. Returns the largest magnitude
 * bits. The arrays do not overlap.
 */
typedef uint32_t sh_sum_kernel(int32_t *sum, const float *gradient, float scale, size_t count);
extern sh_sum_kernel *const sh_sum_kernels[SH_VARIANT_COUNT];

typedef enum sh_narrow { SH_NARROW_16, SH_NARROW_8, SH_NARROW_COUNT } sh_narrow;

/* Terms of narrow sums are clamped to this magnitude, in units. A bound detects such terms. */
#define SH_NARROW_LARGEST 0x1p30f

/* The randomness that rounds a gradient. */
typedef struct sh_narrow_draw {
    uint32_t key[2]; /* of seed, step, grain and tensor */
    uint32_t first;  /* place in the tensor of gradient[0] */
} sh_narrow_draw;

/* A draw whose `first` is 0. Steps count modulo 2^32. */
sh_narrow_draw sh_narrow_draw_for(uint64_t seed, uint64_t step, uint32_t grain, uint32_t tensor);

/*
 * Adds term(i) to sum[i] modulo 2^w, for i < count; `sum` is an array of int16_t or int8_t with w
 * bits. A term is gradient[i] * scale, rounded away from 0 with the probability of its fraction,
 * within 2^-31, else towards 0, so its mean is the product. A gradient that is not finite adds 0.
 * Adds to *check
 *
 *     sum over i of key(draw->first + i) * term(i)    modulo 2^64,
 *
 * where key(p) has 32 bits and depends on place p (a multilinear hash: Carter, Wegman 1979). The
 * checks of all terms, in any order and division, add up to the check of the exact sums. This
 * equals the check of the sums modulo 2^w if no exact sum is outside -2^(w-1) .. 2^(w-1) - 1;
 * otherwise it differs, except with a probability of about 2^-32. A single sum that wrapped is
 * always detected. `scale` is a power of two from 2^-126 to 2^94. Returns the largest magnitude
 * bits. The arrays do not overlap.
 */
typedef uint32_t sh_narrow_add_kernel(void *sum, const float *gradient, float scale, size_t count,
                                      const sh_narrow_draw *draw, uint64_t *check);
extern sh_narrow_add_kernel *const sh_narrow_add[SH_NARROW_COUNT][SH_VARIANT_COUNT];

/* The check of `count` sums of a tensor, starting at place `first`. */
typedef uint64_t sh_narrow_check_kernel(const void *sum, uint32_t first, size_t count);
extern sh_narrow_check_kernel *const sh_narrow_check[SH_NARROW_COUNT][SH_VARIANT_COUNT];

#endif
