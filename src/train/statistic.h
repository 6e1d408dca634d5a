/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving averages of what the grains of a step measure (batch normalisation's mean and variance):
 * parameters of SH_ROLE_STATISTIC. Their exact sum is the step's value, so they are the same on
 * every device.
 *
 *     sh_statistic_follow(weights, sum, sh_sum_scale(...), count, parameter->momentum, &max_abs);
 *
 * With local:H the workers' averages follow what they measure, and the sum is the mean of those:
 * the common ones take it over, with a momentum of 1.
 *
 * Threads: any; lanes share a tensor by taking disjoint ranges. Pointers are borrowed for the call.
 */
#ifndef SHOAL_TRAIN_STATISTIC_H
#define SHOAL_TRAIN_STATISTIC_H

#include <stddef.h>
#include <stdint.h>

/*
 * running[i] = (1 - m) running[i] + m sum[i] scale, each operation rounded once; with m = 1 exactly
 * sum[i] scale. Raises *max_abs to the largest |sum[i]|.
 */
void sh_statistic_follow(float *running, const int32_t *sum, float scale, size_t count, float m,
                         uint32_t *max_abs);

/* The same by values that are no sum. */
void sh_statistic_follow_values(float *running, const float *values, size_t count, float m);

#endif
