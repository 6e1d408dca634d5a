/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A GPU that computes grains, many at a time: their losses, and in training their gradients as the
 * exact sum adds them at 32 bits.
 *
 *     SH_TRY(sh_gpu_lane_new(&lane, &options));
 *     sh_gpu_lane_set_unit(lane, parameter, unit);               // each parameter, each step
 *     SH_TRY(sh_gpu_lane_prepare(lane, parameters));
 *     memcpy(sh_gpu_lane_input(lane, SH_MODEL_SAMPLES, g), ...); // each input of each grain
 *     SH_TRY(sh_gpu_lane_run(lane, count));
 *     sums = sh_gpu_lane_sums(lane, parameter, &facts);
 *     loss = sh_gpu_lane_output(lane, 0, g);
 *
 * After a failure, free the lane; the failed run has changed nothing.
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
    sh_model_mode mode;            /* of its program */
    uint32_t samples;              /* of a grain */
    uint32_t grains;               /* the most at a time; fewer where the GPU's memory is short */
    struct sh_gpu_lane *beside;    /* the new one is freed before this one, whose GPU it uses; NULL:
                                      it opens the GPU */
} sh_gpu_lane_options;

typedef struct sh_gpu_lane sh_gpu_lane;

/* Opens the GPU and compiles, which takes seconds where the driver has not kept the kernels.
 * Failures are those of the GPU (gpu/device.h) and of gpu_program.h. */
sh_status sh_gpu_lane_new(sh_gpu_lane **lane, const sh_gpu_lane_options *options) SHOAL_CHECKED;
void sh_gpu_lane_free(sh_gpu_lane *lane); /* NULL is fine */

/* What it computes on; borrowed until sh_gpu_lane_free. */
const sh_gpu_description *sh_gpu_lane_about(const sh_gpu_lane *lane);

/* The most grains at a time, and the samples of each. */
uint32_t sh_gpu_lane_grains(const sh_gpu_lane *lane);
uint32_t sh_gpu_lane_samples(const sh_gpu_lane *lane);

/* The unit that a parameter's gradients are rounded to: `unit` is 2^e. */
void sh_gpu_lane_set_unit(sh_gpu_lane *lane, size_t parameter, float unit);

/* Copies the parameters of the model's graph to the GPU. */
sh_status sh_gpu_lane_prepare(sh_gpu_lane *lane, float *const *parameters) SHOAL_CHECKED;

/* Inputs of the model's graph; where input number `index` of grain `grain` goes, row-major. */
size_t sh_gpu_lane_inputs(const sh_gpu_lane *lane);
size_t sh_gpu_lane_input_bytes(const sh_gpu_lane *lane, size_t index);
void *sh_gpu_lane_input(const sh_gpu_lane *lane, size_t index, uint32_t grain);

/* Computes `count` grains and waits for them. */
sh_status sh_gpu_lane_run(sh_gpu_lane *lane, uint32_t count) SHOAL_CHECKED;

/* Of the last run: an output of one grain, and a parameter's sum over all grains, with what there
 * is to know of each of them. NULL: the parameter has no gradient. */
const void *sh_gpu_lane_output(const sh_gpu_lane *lane, size_t index, uint32_t grain);
const int32_t *sh_gpu_lane_sums(const sh_gpu_lane *lane, size_t parameter,
                                const sh_sum_grain **grains);

#endif
