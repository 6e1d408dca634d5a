/* SPDX-License-Identifier: Apache-2.0 */
#include "train/gpu_share.h"

#define FOLLOW 0.25 /* weight of the last step */
#define HOPE 0.002  /* assumed speed-up per idle step */

static double larger(double a, double b)
{
    return a > b ? a : b;
}

uint32_t sh_gpu_share_take(const sh_gpu_share *share, uint32_t left, uint32_t lanes)
{
    if (left == 0 || lanes == 0)
        return left;
    if (share->gpu_ns <= 0 || share->lane_ns <= 0)
        return left / (lanes + 1) > 0 ? left / (lanes + 1) : 1;
    uint32_t best = left;
    double least = left * share->gpu_ns;
    for (uint32_t rounds = 1, taken = 0; taken < left; rounds++) { /* grains of each lane */
        taken = left - taken < lanes ? left : taken + lanes;
        const double ns = larger((left - taken) * share->gpu_ns, rounds * share->lane_ns);
        if (ns < least) {
            least = ns;
            best = left - taken;
        }
    }
    return best;
}

/* After a rest, a measurement replaces the estimate. */
static void note(double *estimate, bool *rested, uint64_t grains, uint64_t ns)
{
    if (grains == 0 || ns == 0) {
        *estimate *= 1 - HOPE;
        *rested = true;
        return;
    }
    const double seen = (double)ns / (double)grains;
    *estimate = *estimate <= 0 || *rested ? seen : *estimate + FOLLOW * (seen - *estimate);
    *rested = false;
}

void sh_gpu_share_note(sh_gpu_share *share, uint64_t gpu_grains, uint64_t gpu_ns,
                       uint64_t lane_grains, uint64_t lane_ns)
{
    note(&share->gpu_ns, &share->gpu_rested, gpu_grains, gpu_ns);
    note(&share->lane_ns, &share->lanes_rested, lane_grains, lane_ns);
}
