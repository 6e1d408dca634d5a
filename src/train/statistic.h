/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving averages of what the grains of a step measure (batch normalisation's mean and variance):
 * parameters of SH_ROLE_STATISTIC. Their exact sum is the step's value, so they are the same on
 * every device.
 *
 *     sh_statistic_follow(weights, sum, sh_sum_scale(...), count, &max_abs);
 *
 * Threads: any; lanes share a tensor by taking disjoint ranges. Pointers are borrowed for the call.
 */
#ifndef SHOAL_TRAIN_STATISTIC_H
#define SHOAL_TRAIN_STATISTIC_H

#include <stddef.h>
#include <stdint.h>

/* How far a running value moves towards the step's: PyTorch's default. */
#define SH_STATISTIC_MOMENTUM 0.1f

/*
 * running[i] = (1 - m) running[i] + m sum[i] scale, each operation rounded once; raises *max_abs to
 * the largest |sum[i]|.
 */
void sh_statistic_follow(float *running, const int32_t *sum, float scale, size_t count,
                         uint32_t *max_abs);

#endif
