/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a trainer follows a strategy: the operations of a row (train/strategy.h), one file each.
 *
 *     static const sh_strategy_ops ops = {
 *         .sums = "the gradient of ",
 *         .add_sizes = sh_grains_add_sizes,
 *         .prepare = sh_grains_prepare,
 *         .compute = sh_grains_compute,
 *         .first = sh_grains_first,
 *     };
 *     const sh_strategy_row sh_strategy_mine = {.name = "mine", .course = "mine", .ops = &ops};
 *
 * A strategy with a state of its own makes it in `make`; its struct begins with an
 * sh_strategy_state.
 *
 * The trainer keeps what all strategies share and never asks which one it has. Operations get the
 * stage; `stage->strategy` is the state. They are called once a stage or once a unit, never once an
 * element, and allocate nothing but in `make` and `share`.
 *
 * Order of the files: trainer.h, stage.h, this, step.h, then the strategies and trainer.c.
 *
 * Threads: the trainer's caller, but for the three that say *any lane*.
 */
#ifndef SHOAL_TRAIN_STRATEGY_OPS_H
#define SHOAL_TRAIN_STRATEGY_OPS_H

#include "train/stage.h"
#include "train/strategy.h"
#include "train/traffic.h"

#define SH_SIZES_MAX 18 /* two steps of two workers with 4 each, and validation */

/* Programs that have to be compiled. */
typedef struct sh_size_list {
    sh_lane_size items[SH_SIZES_MAX];
    size_t count;
} sh_size_list;

typedef struct sh_strategy_ops {
    /* Required: what the sum is of in messages, such as "the gradient of ". */
    const char *sums;

    /* ---- as a trainer is made that is to train ---- */

    /* Optional. Makes the state; *state is `plain` and stays so where this trainer needs none.
     * There are no lanes yet. */
    sh_status (*make)(sh_strategy_state **state, sh_stage *stage, const sh_trainer_options *options,
                      uint32_t number);

    /* Required with `make`. */
    void (*free)(sh_strategy_state *state);

    /* Required. Adds every number of samples that a program of such a step is run with. */
    void (*add_sizes)(sh_size_list *list, const sh_stage *stage, const sh_batch *step);

    /* Optional. Changes which parameters the lanes compute with, and adds to `held` what the state
     * takes; `shared`: as the footprint with other devices has it. */
    void (*equip)(const sh_stage *stage, sh_lanes_options *lanes, bool shared);

    /* Optional. The lanes are there; there may be fewer than were asked for. */
    void (*start)(sh_stage *stage);

    /* ---- in a stage ---- */

    /* Optional. There are other devices from now on: allocates what that takes, once. */
    sh_status (*share)(sh_stage *stage);

    /* Optional. A stage begins: mode, batch, todo and part are set, the trailer is cleared. May
     * change the spans. */
    void (*open)(sh_stage *stage);

    /* Required, any lane. Makes ready to compute with the replica's weights. */
    sh_status (*prepare)(sh_stage *stage, uint32_t lane);

    /* Required, any lane. Computes a unit of the batch: in training all its tensors are added. */
    sh_status (*compute)(sh_stage *stage, uint32_t lane, uint32_t unit);

    /* Optional, any lane. Whether units of this stage are grains of which nothing but gradients is
     * wanted, so that GPUs may compute them; NULL: they may not. */
    bool (*wants_gradients_alone)(const sh_stage *stage);

    /* Optional, any lane. With other devices, after the last unit. */
    void (*finish)(sh_stage *stage, uint32_t lane);

    /* Optional. Completes totals, when all that this device gives is with the engine. */
    sh_status (*complete)(sh_stage *stage);

    /* Optional. Changes what travels in a full step: traffic->summed is all that is added up. */
    void (*traffic)(const sh_stage *stage, sh_traffic *traffic);

    /* ---- of a step ---- */

    /* Required. The samples that lane 0 would compute first of all in this step, and makes lane 0
     * ready for them but for its program. */
    sh_range (*first)(sh_stage *stage);

    /* Optional. Makes one step or more, in place of sh_step_together (train/step.h), which is for
     * strategies whose devices make each step together. */
    sh_status (*step)(sh_trainer *trainer, const sh_part *part, sh_step_result *result);
} sh_strategy_ops;

/* Where a trainer needs nothing beside the replica: units are grains, all lanes compute with the
 * replica's weights. */
extern const sh_strategy_ops sh_strategy_plain;

/* For strategies whose units are grains (strategy_sync.c). */
void sh_grains_add_sizes(sh_size_list *list, const sh_stage *stage, const sh_batch *step);
sh_status sh_grains_prepare(sh_stage *stage, uint32_t lane) SHOAL_CHECKED;
sh_status sh_grains_compute(sh_stage *stage, uint32_t lane, uint32_t unit) SHOAL_CHECKED;
sh_range sh_grains_first(sh_stage *stage);

/* Adds every number of samples that the grains of a batch have. */
void sh_size_list_add_batch(sh_size_list *list, uint32_t samples, uint32_t grain);

#endif
