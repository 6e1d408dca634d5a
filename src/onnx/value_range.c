/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/value_range.h"

#include <math.h>
#include <stdlib.h>

#define HALF 2048 /* half of the bins */
_Static_assert(2 * HALF == SH_VALUE_RANGE_BINS, "zero is in the middle");

#define STEPS_MOST 255 /* between the numbers of a grid */
#define PARTS 64       /* each end of the range is tried at n / PARTS of its size, */
#define PARTS_LEAST 8  /* for n from PARTS_LEAST to PARTS */

static void widen(sh_value_range *range)
{
    uint64_t *bins = range->bins;
    for (size_t i = 0; i < HALF / 2; i++) { /* from the middle outwards */
        bins[HALF + i] = bins[HALF + 2 * i] + bins[HALF + 2 * i + 1];
        bins[HALF - 1 - i] = bins[HALF - 1 - 2 * i] + bins[HALF - 2 - 2 * i];
    }
    for (size_t i = HALF / 2; i < HALF; i++)
        bins[HALF + i] = bins[HALF - 1 - i] = 0;
    range->width *= 2;
}

sh_status sh_value_range_add(sh_value_range *range, const float *values, size_t count)
{
    if (range->bins == NULL) {
        range->bins = calloc(SH_VALUE_RANGE_BINS, sizeof *range->bins);
        if (range->bins == NULL)
            return sh_fail_memory(SH_VALUE_RANGE_BINS * sizeof *range->bins, "calibration");
        range->width = 0x1p-40;
    }
    for (size_t i = 0; i < count; i++) {
        if (!isfinite(values[i]))
            return sh_fail(SH_INVALID, "a value is not finite");
        range->least = fminf(range->least, values[i]);
        range->most = fmaxf(range->most, values[i]);
        while (fabs((double)values[i]) >= HALF * range->width)
            widen(range);
        range->bins[HALF + (ptrdiff_t)floor((double)values[i] / range->width)]++;
    }
    return SH_OK;
}

static sh_onnx_grid grid_between(double least, double most)
{
    const float scale = (float)((most - least) / STEPS_MOST);
    if (scale == 0)
        return (sh_onnx_grid){.scale = 1};
    return (sh_onnx_grid){
        .scale = scale,
        .zero = (uint8_t)fmin(STEPS_MOST, nearbyint(-least / (double)scale)),
    };
}

/* Takes all numbers as in the middle of their bins. */
static double error_of(const sh_value_range *range, sh_onnx_grid grid)
{
    double sum = 0;
    for (size_t i = 0; i < SH_VALUE_RANGE_BINS; i++) {
        if (range->bins[i] == 0)
            continue;
        const double x = ((double)i - HALF + 0.5) * range->width;
        const double steps = nearbyint(x / (double)grid.scale) + grid.zero;
        const double kept = fmax(0, fmin(STEPS_MOST, steps)) - grid.zero;
        const double error = x - kept * (double)grid.scale;
        sum += (double)range->bins[i] * error * error;
    }
    return sum;
}

/* First both ends are varied together, then each separately. */
sh_onnx_grid sh_value_range_grid(const sh_value_range *range)
{
    const double least = (double)range->least, most = (double)range->most;
    if (range->bins == NULL)
        return (sh_onnx_grid){0};
    sh_onnx_grid best = grid_between(least, most);
    if (least == most)
        return best;
    double best_error = error_of(range, best), low = PARTS, high = PARTS;
    for (int round = 0; round < 3; round++) {
        const double from_low = low, from_high = high;
        for (int part = PARTS_LEAST; part <= PARTS; part++) {
            const double l = round == 2 ? from_low : part, h = round == 1 ? from_high : part;
            const sh_onnx_grid grid = grid_between(least * l / PARTS, most * h / PARTS);
            const double error = error_of(range, grid);
            if (error >= best_error)
                continue;
            best = grid;
            best_error = error;
            low = l;
            high = h;
        }
    }
    return best;
}

void sh_value_range_release(sh_value_range *range)
{
    free(range->bins);
    *range = (sh_value_range){0};
}
