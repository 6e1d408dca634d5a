/* SPDX-License-Identifier: Apache-2.0 */
/*
 * GPUs in a stage. A lane of the device feeds each of them: it reads the samples of the GPU's
 * grains, and adds the GPU's integers to the exact sum. The weights are those of the processor, bit
 * for bit.
 *
 * A GPU's grains are set apart before the lanes begin (train/gpu_share), so that no lane starts one
 * that the GPU would finish sooner. A GPU adds to the sum only what it has finished: if it fails,
 * its lane computes the same grains and goes on without it. Where a strategy wants more of a grain
 * than gradients, the lane is one like others.
 *
 * Part of the stage (train/stage.h): that and the trainer include it, nobody else. Threads: the
 * trainer's caller, but where it says any lane.
 */
#ifndef SHOAL_TRAIN_GPUS_H
#define SHOAL_TRAIN_GPUS_H

#include "train/gpu_lane.h"
#include "train/stage.h"
#include "train/strategy_ops.h"

typedef struct sh_gpus sh_gpus;

/* SH_UNSUPPORTED where a job asks for what GPUs cannot do yet. `ops` are its strategy's. */
sh_status sh_gpus_check(const sh_job *job, const sh_strategy_ops *ops) SHOAL_CHECKED;

/* Opens GPUs by their numbers for lanes 0 .. count - 1; the failures of train/gpu_lane.h.
 * sh_gpus_close undoes it, also then. */
sh_status sh_gpus_open(sh_stage *stage, const uint32_t *numbers, uint32_t count,
                       const sh_model_options *model) SHOAL_CHECKED;
void sh_gpus_close(sh_stage *stage);

/* What a lane feeds in stages of a mode, and whether it has computed any grain; NULL: nothing, or
 * the GPU was put out. */
sh_gpu_lane *sh_gpus_at(const sh_stage *stage, uint32_t lane, sh_model_mode mode, bool *computed);

/* Any lane. Whether it feeds a GPU in this stage. */
bool sh_gpus_feeds(const sh_stage *stage, uint32_t lane);

/* Any lane: does nothing for one that feeds none. Gives the GPU the weights; computes units of
 * `todo` until no more are left for it. */
void sh_gpus_prepare(sh_stage *stage, uint32_t lane);
void sh_gpus_compute(sh_stage *stage, uint32_t lane);

/* Before the turn in which units are computed: sets the GPUs' units apart, from turn.next on. */
void sh_gpus_begin_turn(sh_stage *stage);

/* Any lane. What it computed by itself, for the GPUs' shares. */
void sh_gpus_note_lane(sh_stage *stage, uint32_t units, uint64_t ns);

/* After the turn in which units were computed. */
void sh_gpus_end_turn(sh_stage *stage);

#endif
