/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs in a stage. Each GPU is fed by one lane of the device, which reads the samples of the GPU's
 * grains, and adds the GPU's integers to the exact sum. The resulting weights have the same bits as
 * those of the processor.
 *
 * A GPU's grains are reserved before the lanes begin (train/gpu_share.h), so that no lane starts a
 * grain that the GPU would finish sooner. Its results are added only when they are complete. If the
 * GPU fails, its lane computes the same grains and continues without it. If a strategy needs more
 * than gradients from a grain, the lane computes like other lanes.
 *
 * Part of the stage (train/stage.h): only the stage and the trainer include this header.
 *
 * Threads: the trainer's caller, except where "any lane" is stated.
 */
#ifndef SHOAL_TRAIN_GPUS_H
#define SHOAL_TRAIN_GPUS_H

#include "train/gpu_lane.h"
#include "train/stage.h"
#include "train/strategy_ops.h"

typedef struct sh_gpus sh_gpus;

/* SH_UNSUPPORTED if the job, with its strategy's `ops`, needs what GPUs lack. */
sh_status sh_gpus_check(const sh_job *job, const sh_strategy_ops *ops) SHOAL_CHECKED;

/* Opens the GPUs with these numbers for lanes 0 .. count - 1. Fails as train/gpu_lane.h does.
 * sh_gpus_close releases them, also after a failure. */
sh_status sh_gpus_open(sh_stage *stage, const uint32_t *numbers, uint32_t count,
                       const sh_model_options *model) SHOAL_CHECKED;
void sh_gpus_close(sh_stage *stage);

/* The GPU that a lane feeds in stages of this mode, borrowed; NULL if it feeds none or the GPU has
 * failed. `*computed`: the GPU has computed a grain in this mode. */
sh_gpu_lane *sh_gpus_at(const sh_stage *stage, uint32_t lane, sh_model_mode mode, bool *computed);

/* Any lane. Whether the lane feeds a GPU in this stage. */
bool sh_gpus_feeds(const sh_stage *stage, uint32_t lane);

/* Any lane; without effect for a lane that feeds no GPU. sh_gpus_prepare copies the weights to the
 * GPU; sh_gpus_compute computes the units of `todo` that are reserved for it. */
void sh_gpus_prepare(sh_stage *stage, uint32_t lane);
void sh_gpus_compute(sh_stage *stage, uint32_t lane);

/* Reserves the GPUs' units and sets turn.next to the lanes' first unit. Call before the turn that
 * computes units. */
void sh_gpus_begin_turn(sh_stage *stage);

/* Any lane. Notes a lane's own work, for the distribution of later units. */
void sh_gpus_note_lane(sh_stage *stage, uint32_t units, uint64_t ns);

/* Call after the turn that computes units. */
void sh_gpus_end_turn(sh_stage *stage);

#endif
