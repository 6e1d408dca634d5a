/* SPDX-License-Identifier: Apache-2.0 */
#include "train/gpu_share.h"

#define FOLLOW 0.25 /* of the way to what a step showed */
#define HOPE 0.01

uint32_t sh_gpu_share_take(const sh_gpu_share *share, uint32_t left, uint32_t most, uint32_t lanes)
{
    uint32_t count = left;
    if (lanes > 0 && (share->gpu_ns <= 0 || share->lane_ns <= 0)) {
        count = left / (lanes + 1);
        count = count > 0 || left == 0 ? count : 1;
    } else if (lanes > 0) {
        const double gpu = 1 / share->gpu_ns, processor = lanes / share->lane_ns;
        count = (uint32_t)(left * (gpu / (gpu + processor)) + 0.5);
    }
    return count < most ? count : most;
}

static void follow(double *estimate, uint64_t grains, uint64_t ns)
{
    const double seen = (double)ns / (double)grains;
    *estimate = *estimate <= 0 ? seen : *estimate + FOLLOW * (seen - *estimate);
}

void sh_gpu_share_note(sh_gpu_share *share, uint64_t gpu_grains, uint64_t gpu_ns,
                       uint64_t lane_grains, uint64_t lane_ns)
{
    if (gpu_grains > 0 && gpu_ns > 0)
        follow(&share->gpu_ns, gpu_grains, gpu_ns);
    else
        share->gpu_ns *= 1 - HOPE;
    if (lane_grains > 0 && lane_ns > 0)
        follow(&share->lane_ns, lane_grains, lane_ns);
}
