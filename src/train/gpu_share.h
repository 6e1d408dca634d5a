/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many of a step's grains a GPU takes at once, where the same device's processor works on them
 * too: so many that both are done at the same time. Nothing of it reaches the weights.
 *
 *     sh_gpu_share share = {0};
 *     count = sh_gpu_share_take(&share, left, most, cores);
 *     sh_gpu_share_note(&share, count, gpu_ns, cpu_grains, cpu_ns);  // each step
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_TRAIN_GPU_SHARE_H
#define SHOAL_TRAIN_GPU_SHARE_H

#include <stdint.h>

/* Zeroed to begin with. Nanoseconds a grain, of the GPU and of one lane of the processor; 0: not
 * known. Each follows the last steps. */
typedef struct sh_gpu_share {
    double gpu_ns, lane_ns;
} sh_gpu_share;

/*
 * Of `left` grains, at most `most`, beside `lanes` of the processor. As long as one of the speeds
 * is unknown the GPU takes what a lane would. 0 where the lanes would be done with all before the
 * GPU with one.
 */
uint32_t sh_gpu_share_take(const sh_gpu_share *share, uint32_t left, uint32_t most, uint32_t lanes);

/* What a step took: the GPU for its grains, and the lanes together for theirs. A GPU that took none
 * is hoped to be a little faster, so that it is tried again some time. */
void sh_gpu_share_note(sh_gpu_share *share, uint64_t gpu_grains, uint64_t gpu_ns,
                       uint64_t lane_grains, uint64_t lane_ns);

#endif
