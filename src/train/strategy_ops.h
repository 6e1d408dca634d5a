/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a strategy (train/strategy.h) that a trainer calls.
 *
 *     static const sh_strategy_ops ops = {
 *         .sums = "the gradient of ",
 *         .add_sizes = sh_grains_add_sizes,
 *         .prepare = sh_grains_prepare,
 *         .compute = sh_grains_compute,
 *         .first = sh_grains_first,
 *     };
 *
 * A strategy's own state, created in `make`, starts with an sh_strategy_state; `stage->strategy`
 * points to it. Operations are called once per stage or per unit, never per element. Only `make`
 * and `share` allocate memory.
 *
 * Order of inclusion: trainer.h, stage.h, strategy_ops.h, step.h, then the strategies and
 * trainer.c.
 *
 * Threads: the trainer's caller, except operations marked "any lane".
 */
#ifndef SHOAL_TRAIN_STRATEGY_OPS_H
#define SHOAL_TRAIN_STRATEGY_OPS_H

#include "train/stage.h"
#include "train/strategy.h"
#include "train/traffic.h"

#define SH_SIZES_MAX 18 /* two steps of two workers with 4 each, and validation */

typedef struct sh_size_list {
    sh_lane_size items[SH_SIZES_MAX];
    size_t count;
} sh_size_list;

typedef struct sh_strategy_ops {
    /* Required. The summed quantity in messages, such as "the gradient of ". */
    const char *sums;

    /* ---- when a trainer is created, unless it only evaluates ---- */

    /* Optional. The lanes do not exist yet. *state is `plain` before the call and is kept if this
     * trainer needs no other state. */
    sh_status (*make)(sh_strategy_state **state, sh_stage *stage, const sh_trainer_options *options,
                      uint32_t number);

    /* Required with `make`. */
    void (*free)(sh_strategy_state *state);

    /* Required. Adds every number of samples with which a program runs in such a step. */
    void (*add_sizes)(sh_size_list *list, const sh_stage *stage, const sh_batch *step);

    /* Optional. Sets the parameters that the lanes compute with and adds the memory of the state to
     * `held`. `shared`: with the memory needed for other devices. */
    void (*equip)(const sh_stage *stage, sh_lanes_options *lanes, bool shared);

    /* Optional. The lanes exist, perhaps fewer than requested. */
    void (*start)(sh_stage *stage);

    /* ---- during a stage ---- */

    /* Optional. Allocates memory needed for other devices, before the first stage with them. */
    sh_status (*share)(sh_stage *stage);

    /* Optional. Begins a stage: mode, batch, todo and part are set, and the trailer is cleared. May
     * change the spans. */
    void (*open)(sh_stage *stage);

    /* Required, any lane. Prepares the lane to compute with the replica's weights. */
    sh_status (*prepare)(sh_stage *stage, uint32_t lane);

    /* Required, any lane. In training, adds all of the unit's tensors to the sum. */
    sh_status (*compute)(sh_stage *stage, uint32_t lane, uint32_t unit);

    /* Optional, any lane. Whether this stage needs only gradients of grains, so that GPUs can
     * compute them; NULL: false. */
    bool (*wants_gradients_alone)(const sh_stage *stage);

    /* Optional, any lane. After the last unit, only with other devices. */
    void (*finish)(sh_stage *stage, uint32_t lane);

    /* Optional. Completes the totals after this device's spans are ready for the engine. */
    sh_status (*complete)(sh_stage *stage);

    /* Optional. Adjusts the traffic of a full step; traffic->summed is set to the whole sum. */
    void (*traffic)(const sh_stage *stage, sh_traffic *traffic);

    /* ---- for a step ---- */

    /* Required. Returns the samples that lane 0 computes first in this step, and prepares lane 0
     * except its program. */
    sh_range (*first)(sh_stage *stage);

    /* Optional. Makes one or more steps. NULL: sh_step_together (train/step.h). */
    sh_status (*step)(sh_trainer *trainer, const sh_part *part, sh_step_result *result);
} sh_strategy_ops;

/* Without a state: units are grains, and lanes compute with the replica's weights. */
extern const sh_strategy_ops sh_strategy_plain;

/* For strategies whose units are grains (strategy_sync.c). */
void sh_grains_add_sizes(sh_size_list *list, const sh_stage *stage, const sh_batch *step);
sh_status sh_grains_prepare(sh_stage *stage, uint32_t lane) SHOAL_CHECKED;
sh_status sh_grains_compute(sh_stage *stage, uint32_t lane, uint32_t unit) SHOAL_CHECKED;
sh_range sh_grains_first(sh_stage *stage);

/* Adds the sizes of a batch's grains. */
void sh_size_list_add_batch(sh_size_list *list, uint32_t samples, uint32_t grain);

#endif
