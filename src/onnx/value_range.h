/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Collects the numbers that a value takes and finds the best quantisation grid for them.
 *
 * Numbers are counted in bins, whose width doubles when a number lies outside. Several ranges are
 * tried, and the one with the least mean squared error is chosen, which cuts off a few outliers.
 * The same numbers give the same grid, in any order.
 *
 *     sh_value_range range = {0};
 *     SH_TRY(sh_value_range_add(&range, values, count));
 *     const sh_onnx_grid grid = sh_value_range_grid(&range);
 *     sh_value_range_release(&range);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_VALUE_RANGE_H
#define SHOAL_ONNX_VALUE_RANGE_H

#include <stddef.h>

#include "base/fail.h"
#include "onnx/quantise.h"

/* All zero: no numbers yet. */
typedef struct sh_value_range {
    float least, most;
    double width;   /* of a bin */
    uint64_t *bins; /* SH_VALUE_RANGE_BINS, zero in the middle; owned; NULL: no numbers yet */
} sh_value_range;

#define SH_VALUE_RANGE_BINS 4096

/* SH_INVALID if a number is not finite. */
sh_status sh_value_range_add(sh_value_range *range, const float *values,
                             size_t count) SHOAL_CHECKED;

/* The scale is 1 if all numbers are 0, and 0 (unknown) if no number was added. */
sh_onnx_grid sh_value_range_grid(const sh_value_range *range);

void sh_value_range_release(sh_value_range *range);

#endif
