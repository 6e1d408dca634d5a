/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A step around its stage (train/stage.h): batch and learning rate before it, verdict and update
 * after it. For strategies that make steps in a way of their own, and for the trainer.
 *
 *     sh_step_begin_batch(trainer, replica->steps);
 *     ... stage.task.todo ...
 *     SH_TRY(sh_stage_reduce(&trainer->stage, part));
 *     SH_TRY(sh_step_compare_replicas(trainer, part));
 *     sh_step_read_scales(trainer);
 *     switch (sh_sum_verdict(sum, &tensor)) ...
 *
 * Threads: as train/trainer.h.
 */
#ifndef SHOAL_TRAIN_STEP_H
#define SHOAL_TRAIN_STEP_H

#include "data/prefetch.h"
#include "train/norm.h"
#include "train/rate.h"
#include "train/strategy_ops.h"

#define SH_STEP_ATTEMPTS 32 /* redos in a row, after which something is wrong with the sum */

typedef struct sh_step_rates {
    sh_rate rate;      /* of gradients */
    sh_schedule local; /* that it follows: of local steps */
    double lr;         /* of this step; with local steps of its first one */
    sh_rate outer;     /* of the common weights (sh_job_outer); the same without local steps */
    double outer_lr, clip_norm;
} sh_step_rates;

/* Arrays by place in the sum, of what is reduced. */
typedef struct sh_step_update {
    atomic_uint *max_abs; /* largest |integer| */
    float *scales;
    sh_squares *squares; /* by lane, then by place; NULL where gradients are not clipped */
    sh_replica_step applied;
} sh_step_update;

struct sh_trainer {
    sh_job job;
    sh_stage stage;
    sh_step_rates rates;
    sh_step_update update;
    sh_prefetch *prefetch; /* of the coming steps' samples */
    sh_trainer_work work;
    uint32_t redone, repeated; /* attempts at this step, calibration apart; all but the last */
    bool profiled;             /* instructions are timed */
    void (*on_times)(void *context, const sh_step_times *times);
    void (*on_passed)(void *context, const sh_stage_outcome *outcome);
    void *context;
};

/* One step that all devices of the part make together; failures as sh_trainer_step. */
sh_status sh_step_together(sh_trainer *trainer, const sh_part *part,
                           sh_step_result *result) SHOAL_CHECKED;

/* Makes ready for step `number` since the job began: batch, order, learning rate. */
void sh_step_begin_batch(sh_trainer *trainer, uint64_t number);

/* Whether all replicas are equal; if not, no device applies or uses the sum. */
sh_status sh_step_compare_replicas(const sh_trainer *trainer, const sh_part *part) SHOAL_CHECKED;

/* Reads the scales of the sum, before it is judged. */
void sh_step_read_scales(sh_trainer *trainer);

/* The factor that brings the reduced gradient within the job's norm. */
double sh_step_clip_factor(sh_trainer *trainer);

/* Sets update.max_abs to zero and runs a task that raises it. */
void sh_step_take_turn(sh_trainer *trainer, sh_team_task *task);

/* Adds the samples of `count` steps from `from` on to their epoch's totals, and moves the replica's
 * position behind these steps. Under the replica's lock. */
void sh_step_count(sh_trainer *trainer, uint64_t from, uint32_t count, const sh_sum_totals *totals);

/* The step under way is applied as number `step`, with so much of this device's own work. */
void sh_step_take_times(sh_trainer *trainer, sh_step_times *times, uint64_t step, uint64_t grains,
                        uint64_t samples);

/* Tells of a stage that all devices have passed, from `before` to the replica's position; `clip` is
 * 1 except for an APPLY. Under the replica's lock. */
void sh_step_tell_passed(const sh_trainer *trainer, sh_passed passed, sh_position before,
                         double clip);

sh_status sh_step_fail_not_finite(const sh_trainer *trainer, uint32_t tensor) SHOAL_CHECKED;
sh_status sh_step_fail_attempts(const sh_trainer *trainer) SHOAL_CHECKED;

#endif
