/* SPDX-License-Identifier: Apache-2.0 */
#include "train/statistic.h"

void sh_statistic_follow(float *running, const int32_t *sum, float scale, size_t count,
                         uint32_t *max_abs)
{
    for (size_t i = 0; i < count; i++) {
        const uint32_t magnitude = sum[i] < 0 ? 0u - (uint32_t)sum[i] : (uint32_t)sum[i];
        const float value = (float)sum[i] * scale;
        running[i] = (1.0f - SH_STATISTIC_MOMENTUM) * running[i] + SH_STATISTIC_MOMENTUM * value;
        if (magnitude > *max_abs)
            *max_abs = magnitude;
    }
}
