/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how many of a step's grains a GPU takes if cores of the same device compute the rest, so
 * that the step ends as early as possible. The decision does not affect the weights.
 *
 *     sh_gpu_share share = {0};
 *     count = sh_gpu_share_take(&share, left, lanes);
 *     sh_gpu_share_note(&share, count, gpu_ns, lane_grains, lane_ns);  // each step
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_TRAIN_GPU_SHARE_H
#define SHOAL_TRAIN_GPU_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* Zero initially. Moving averages of nanoseconds per grain of the GPU and of one lane; 0:
 * unknown. */
typedef struct sh_gpu_share {
    double gpu_ns, lane_ns;
    bool gpu_rested, lanes_rested; /* no grain in the last step */
} sh_gpu_share;

/*
 * How many of `left` grains the GPU takes, next to `lanes` lanes. If a lane needs longer for one
 * grain than the GPU for all, the GPU takes all. While one of the speeds is unknown, the GPU takes
 * as many as a lane, at least one. 0 if the lanes alone are faster.
 */
uint32_t sh_gpu_share_take(const sh_gpu_share *share, uint32_t left, uint32_t lanes);

/* Notes a step: grains and time of the GPU, and of all lanes together. The estimate of a side
 * without grains improves a little in each such step, so that it is tried again after some hundred
 * steps. */
void sh_gpu_share_note(sh_gpu_share *share, uint64_t gpu_grains, uint64_t gpu_ns,
                       uint64_t lane_grains, uint64_t lane_ns);

#endif
