/* SPDX-License-Identifier: Apache-2.0 */
#include "train/statistic.h"

/* With m = 1, the previous value has no effect, even if it is NaN. */
static float moved(float running, float value, float m)
{
    return m == 1.0f ? value : (1.0f - m) * running + m * value;
}

void sh_statistic_follow(float *running, const int32_t *sum, float scale, size_t count, float m,
                         uint32_t *max_abs)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t magnitude = sum[i] < 0 ? 0u - (uint32_t)sum[i] : (uint32_t)sum[i];
        running[i] = moved(running[i], (float)sum[i] * scale, m);
        if (magnitude > *max_abs)
            *max_abs = magnitude;
    }
}

void sh_statistic_follow_values(float *running, const float *values, size_t count, float m)
{
    for (size_t i = 0; i < count; i++)
        running[i] = moved(running[i], values[i], m);
}
