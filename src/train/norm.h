/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The exact global norm of a step's gradient. The squares of the summed integers are added as
 * integers, so the norm does not depend on lanes, ranges or their order, and clipping by it gives
 * the same bits on every device.
 *
 *     sh_squares_add(&squares, accumulator + from, count);  // each range of a tensor, by any lane
 *     total += sh_squares_value(&squares, sh_sum_scale(sum, t));    // tensor after tensor
 *     const double clip = sh_norm_clip(sqrt(total), 1.0);
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_NORM_H
#define SHOAL_TRAIN_NORM_H

#include <stddef.h>
#include <stdint.h>

#include "base/variant.h"

/* A sum of squares, high * 2^32 + low, of at most 2^32 integers. Zero initially. */
typedef struct sh_squares {
    uint64_t low, high;
} sh_squares;

void sh_squares_add(sh_squares *squares, const int32_t *integers, size_t count);
void sh_squares_merge(sh_squares *squares, const sh_squares *other);

/* The sum of (integer * scale)^2, rounded to double; `scale` is a power of two. */
double sh_squares_value(const sh_squares *squares, float scale);

/* The sum of squares of floats outside the exact sum, in double and in a fixed order. */
double sh_norm_squares(const float *values, size_t count);

/* The factor min(1, most / (norm + 1e-6)), as PyTorch's clip_grad_norm_. */
double sh_norm_clip(double norm, double most);

/* By instruction set, for tests. */
typedef void sh_squares_kernel(sh_squares *squares, const int32_t *integers, size_t count);
extern sh_squares_kernel *const sh_squares_kernels[SH_VARIANT_COUNT];

#endif
