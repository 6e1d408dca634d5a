/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What numbers a value takes, and the grid of 256 of them that serves it best.
 *
 *     sh_value_range range = {0};
 *     SH_TRY(sh_value_range_add(&range, values, count));
 *     const sh_onnx_grid grid = sh_value_range_grid(&range);
 *     sh_value_range_release(&range);
 *
 * The numbers are counted in bins of a width that doubles when one lies outside. Of several ranges
 * within the smallest and the largest number that one is taken whose grid has the least mean
 * squared error: few numbers far away from the others are cut off. The same numbers give the same
 * grid, in any order.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_VALUE_RANGE_H
#define SHOAL_ONNX_VALUE_RANGE_H

#include <stddef.h>

#include "base/fail.h"
#include "onnx/quantise.h"

/* Zero: no numbers yet. */
typedef struct sh_value_range {
    float least, most;
    double width;   /* of a bin */
    uint64_t *bins; /* SH_VALUE_RANGE_BINS, zero in the middle; NULL: no numbers yet; owned */
} sh_value_range;

#define SH_VALUE_RANGE_BINS 4096

/* SH_INVALID: a number is not finite. */
sh_status sh_value_range_add(sh_value_range *range, const float *values,
                             size_t count) SHOAL_CHECKED;

/* The scale is 1 if all numbers are 0, and 0 (unknown) if no number was added. */
sh_onnx_grid sh_value_range_grid(const sh_value_range *range);

void sh_value_range_release(sh_value_range *range);

#endif
