/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Updates running statistics: moving averages of values that the grains of a step measure, such as
 * batch normalization's mean and variance (parameters of SH_ROLE_STATISTIC). The exact sum over the
 * grains is the step's value, so the averages are the same on every device.
 *
 * With local:H, the sum is the mean over the workers and replaces the common averages (m = 1).
 *
 *     sh_statistic_follow(weights, sum, sh_sum_scale(...), count, parameter->momentum, &max_abs);
 *
 * Threads: any; lanes share a tensor by taking disjoint ranges. Pointers are borrowed for the call.
 */
#ifndef SHOAL_TRAIN_STATISTIC_H
#define SHOAL_TRAIN_STATISTIC_H

#include <stddef.h>
#include <stdint.h>

/*
 * Sets running[i] to (1 - m) running[i] + m sum[i] scale, with one rounding per operation; with m =
 * 1 to sum[i] scale exactly. Raises *max_abs to the largest |sum[i]|.
 */
void sh_statistic_follow(float *running, const int32_t *sum, float scale, size_t count, float m,
                         uint32_t *max_abs);

/* The same with float values instead of a sum. */
void sh_statistic_follow_values(float *running, const float *values, size_t count, float m);

#endif
