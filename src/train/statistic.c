/* SPDX-License-Identifier: Apache-2.0 */
#include "train/statistic.h"

#include <stdbool.h>

void sh_statistic_follow(float *running, const int32_t *sum, float scale, size_t count, float m,
                         uint32_t *max_abs)
{
    const bool replaces = m == 1.0f;
    for (size_t i = 0; i < count; i++) {
        const uint32_t magnitude = sum[i] < 0 ? 0u - (uint32_t)sum[i] : (uint32_t)sum[i];
        const float value = (float)sum[i] * scale;
        running[i] = replaces ? value : (1.0f - m) * running[i] + m * value;
        if (magnitude > *max_abs)
            *max_abs = magnitude;
    }
}

void sh_statistic_follow_values(float *running, const float *values, size_t count)
{
    const float m = SH_STATISTIC_MOMENTUM;
    for (size_t i = 0; i < count; i++)
        running[i] = (1.0f - m) * running[i] + m * values[i];
}
