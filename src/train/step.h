/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a step before and after its stage (train/stage.h): batch and learning rate before,
 * verdict and update after. For the trainer and for strategies with their own `step` operation.
 *
 *     sh_step_begin_batch(trainer, replica->steps);
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

#define SH_STEP_ATTEMPTS 32 /* attempts at a step before it fails */

typedef struct sh_step_rates {
    sh_rate rate;      /* of gradients */
    sh_schedule local; /* of local steps, which the rates follow */
    double lr;         /* of this step or its first local step */
    sh_rate outer;     /* of the common weights (sh_job_outer); `rate` without local steps */
    double outer_lr, clip_norm;
} sh_step_rates;

/* Arrays are by place in the sum. */
typedef struct sh_step_update {
    atomic_uint *max_abs; /* largest |integer| */
    float *scales;
    sh_squares *squares; /* by lane, then by place; NULL without clipping */
    sh_replica_step applied;
} sh_step_update;

struct sh_trainer {
    sh_job job;
    sh_stage stage;
    sh_step_rates rates;
    sh_step_update update;
    sh_prefetch *prefetch;
    sh_trainer_work work;
    struct sh_step_audit { /* the step that waits for its audit */
        uint32_t key;      /* 0: none */
        sh_ranges held;    /* its grains that this device added */
    } audit;
    uint32_t redone, repeated; /* redos of this step, without and with calibration */
    bool profiled;
    char first_grain[SH_DIGEST_TEXT]; /* its hash; "" before the first call for it */
    void (*on_times)(void *context, const sh_step_times *times);
    void (*on_passed)(void *context, const sh_stage_outcome *outcome);
    void *context;
};

/* All devices of the engine take part. Fails like sh_trainer_step. */
sh_status sh_step_together(sh_trainer *trainer, const sh_part *part,
                           sh_step_result *result) SHOAL_CHECKED;

/* Sets mode, batch, order and learning rate. `number` counts from the job's start. */
void sh_step_begin_batch(sh_trainer *trainer, uint64_t number);

/* SH_DIVERGED on all devices if replicas differ. */
sh_status sh_step_compare_replicas(const sh_trainer *trainer, const sh_part *part) SHOAL_CHECKED;

/* Sets update.scales; call it before sh_sum_verdict changes the sum's scales. */
void sh_step_read_scales(sh_trainer *trainer);

/* The factor that limits the norm of the reduced gradient to --clip-norm; 1 without clipping. */
double sh_step_clip_factor(sh_trainer *trainer);

/* Clears update.max_abs, which the task raises on all lanes. */
void sh_step_run_lanes(sh_trainer *trainer, sh_team_task *task);

/* Adds the totals of `count` steps, starting with `from`, to those of their epoch, and sets the
 * replica's position. The caller holds the replica's lock. */
void sh_step_count(sh_trainer *trainer, uint64_t from, uint32_t count, const sh_sum_totals *totals);

/* Fills `times` for an applied step. `step` counts the steps then applied; `grains` and `samples`
 * are this device's work in the step. */
void sh_step_take_times(sh_trainer *trainer, sh_step_times *times, uint64_t step, uint64_t grains,
                        uint64_t samples);

/* Calls on_passed for a completed stage from `before` to the replica's position; `clip` is 1 except
 * for an APPLY. The caller holds the replica's lock. */
void sh_step_report_passed(const sh_trainer *trainer, sh_passed passed, sh_position before,
                           double clip);

sh_status sh_step_fail_not_finite(const sh_trainer *trainer, uint32_t tensor) SHOAL_CHECKED;
sh_status sh_step_fail_attempts(const sh_trainer *trainer) SHOAL_CHECKED;

#endif
