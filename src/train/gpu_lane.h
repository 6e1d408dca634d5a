/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes several grains at a time on a GPU: losses and, in training, the gradients, already
 * rounded and summed as 32-bit integers for the exact sum.
 *
 *     SH_TRY(sh_gpu_lane_new(&lane, &options));
 *     sh_gpu_lane_set_unit(lane, parameter, unit);               // each parameter, each step
 *     SH_TRY(sh_gpu_lane_prepare(lane, parameters));
 *     memcpy(sh_gpu_lane_input(lane, SH_MODEL_SAMPLES, g), ...); // each input of each grain
 *     SH_TRY(sh_gpu_lane_run(lane, count));
 *     sums = sh_gpu_lane_sums(lane, parameter, &facts);
 *
 * After a failure, free the lane. The failed run has no effect outside the lane.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_TRAIN_GPU_LANE_H
#define SHOAL_TRAIN_GPU_LANE_H

#include "backend/gpu/gpu_program.h"
#include "model/model.h"
#include "train/exact_sum.h"

typedef struct sh_gpu_lane_options {
    uint32_t gpu;                  /* its number (gpu/device.h) */
    const sh_model_options *model; /* borrowed for the call */
    sh_model_mode mode;
    uint32_t samples;           /* per grain */
    uint32_t grains;            /* most per run; fewer if the GPU lacks memory */
    struct sh_gpu_lane *beside; /* lane whose GPU to share, to be freed later, or NULL */
} sh_gpu_lane_options;

typedef struct sh_gpu_lane sh_gpu_lane;

/* Compiling takes seconds if the driver has not cached the kernels. Fails as gpu/device.h and
 * gpu_program.h do. */
sh_status sh_gpu_lane_new(sh_gpu_lane **lane, const sh_gpu_lane_options *options) SHOAL_CHECKED;
void sh_gpu_lane_free(sh_gpu_lane *lane);

/* Borrowed until sh_gpu_lane_free. */
const sh_gpu_description *sh_gpu_lane_about(const sh_gpu_lane *lane);

/* The most grains per run; samples per grain. */
uint32_t sh_gpu_lane_grains(const sh_gpu_lane *lane);
uint32_t sh_gpu_lane_samples(const sh_gpu_lane *lane);

/* Sets 2^e for a parameter's gradients: g * `unit` is rounded to an integer. */
void sh_gpu_lane_set_unit(sh_gpu_lane *lane, size_t parameter, float unit);

/* Copies the parameters of the model's graph to the GPU. */
sh_status sh_gpu_lane_prepare(sh_gpu_lane *lane, float *const *parameters) SHOAL_CHECKED;

/* Inputs of the model's graph: their number, the bytes of one grain, and where to write input
 * `index` of grain `grain`, row-major. */
size_t sh_gpu_lane_inputs(const sh_gpu_lane *lane);
size_t sh_gpu_lane_input_bytes(const sh_gpu_lane *lane, size_t index);
void *sh_gpu_lane_input(const sh_gpu_lane *lane, size_t index, uint32_t grain);

/* Computes `count` grains and waits for the results. */
sh_status sh_gpu_lane_run(sh_gpu_lane *lane, uint32_t count) SHOAL_CHECKED;

/* Results of the last run, borrowed until the next one: an output of one grain; a parameter's sum
 * over all grains, with each grain's facts for the trailer. NULL: the parameter has no gradient. */
const void *sh_gpu_lane_output(const sh_gpu_lane *lane, size_t index, uint32_t grain);
const int32_t *sh_gpu_lane_sums(const sh_gpu_lane *lane, size_t parameter,
                                const sh_sum_grain **grains);

#endif
