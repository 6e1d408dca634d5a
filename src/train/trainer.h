/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device at work: computes its share of each step's grains on its lanes, takes part in the sum,
 * applies the update to its replica.
 *
 *     SH_TRY(sh_trainer_new(&trainer, &options));
 *     while (replica->steps < trainer_schedule.total_steps)
 *         SH_TRY(sh_trainer_step(trainer, &part, &result));
 *     SH_TRY(sh_trainer_evaluate(trainer, &part, &totals));
 *
 * All devices of a view make the same calls with the same engine rounds; each decides alike,
 * because it decides on sums that all hold. Where a round fails, nothing is applied, and the grains
 * that this device has computed are *held*: their contributions stay in the own part of the sum,
 * and the stage is gone on with, under another engine, with more grains (`work`).
 *
 * Threads: one caller, which is lane 0. It holds the replica's lock while it changes the replica.
 */
#ifndef SHOAL_TRAIN_TRAINER_H
#define SHOAL_TRAIN_TRAINER_H

#include "base/ranges.h"
#include "data/pipeline.h"
#include "reduce/engine.h"
#include "train/lanes.h"
#include "train/pace.h"
#include "train/replica.h"
#include "train/schedule.h"
#include "train/stopwatch.h"

/* A stage that all devices have come through, told under the replica's lock when this device's
 * replica has followed, and before anything overwrites the total. */
typedef struct sh_stage_outcome {
    sh_passed passed; /* APPLY, REDO, VALIDATE or LAP */
    sh_position before, after;
    double clip; /* of an APPLY: the factor of its gradients; else 1 */
} sh_stage_outcome;

/* What a validation has computed of consecutive samples (model/model.h: outputs 0, 3, 2); borrowed
 * for the call. */
typedef struct sh_answers {
    sh_range samples;
    const float *losses, *given; /* [count], [count][outputs] */
    const void *targets;         /* [count] as tensor/target.h has them */
} sh_answers;

typedef struct sh_trainer_options {
    const sh_job *job;           /* copied */
    const sh_pipeline *pipeline; /* borrowed until the trainer is freed */
    const sh_kernels *kernels;
    sh_replica *replica;       /* borrowed */
    uint32_t lanes, gpu_count; /* of the processor; GPUs that train too, each with one lane more */
    const uint32_t *gpus;      /* their numbers (gpu/device.h); borrowed for the call */
    const sh_clock *clock;     /* NULL: no profile; borrowed until sh_trainer_free */
    uint64_t memory;           /* most bytes that the process may hold; 0: any (lanes.h says how) */
    bool evaluate_only;        /* sh_trainer_evaluate is all that will be asked for */
    bool shared;               /* there may be other devices: a total takes memory from the start */
    const sh_clock *pace;      /* for sh_trainer_speed; NULL: none. Borrowed as above */
    const sh_clock *times;     /* for on_times, without `clock` */
    void (*on_passed)(void *context, const sh_stage_outcome *outcome); /* the caller's thread */
    /* A step was applied; of a lap, each update that this device has computed. */
    void (*on_times)(void *context, const sh_step_times *times);
    void (*on_answers)(void *context, const sh_answers *answers); /* any lane, several at once */
    void *context;                                                /* borrowed as above */
} sh_trainer_options;

typedef struct sh_trainer sh_trainer;

/* What this device does in a step, and with whom. */
typedef struct sh_part {
    sh_range share; /* of the grains of a full step */
    uint32_t of;    /* grains of a full step */
    sh_engine *engine;
    bool stop; /* it asks to end after the step */

    /* Training: which of the batch's grains to compute beside those held, which count where they
     * are of this position. NULL: the share, and nothing is held. Borrowed for the call. */
    const sh_ranges *work;

    /* Asked as late in the stage as the engine can (sh_engine_decider): the view that the next one
     * is to be done in, 0 for this one. One device at most has an answer; NULL: 0. */
    bool (*announce)(void *context, bool last, uint64_t *view);
    bool (*hurry)(void *context); /* whether a stage of many steps is to end soon; NULL: no */
    void *context;                /* borrowed until the engine is closed */
} sh_part;

typedef struct sh_step_result {
    sh_sum_totals totals; /* over all devices, of the attempt that was applied */
    uint32_t redone;      /* how often it was computed again, calibration not counted */
} sh_step_result;

typedef struct sh_trainer_work {
    uint64_t grains, samples; /* that this device has computed */
} sh_trainer_work;

sh_status sh_trainer_new(sh_trainer **trainer, const sh_trainer_options *options) SHOAL_CHECKED;
void sh_trainer_free(sh_trainer *trainer);
const sh_schedule *sh_trainer_schedule(const sh_trainer *trainer);
/* Whether the job ends where the replica stands: its last step is done, or --patience is at its
 * end. False while a validation is due. */
bool sh_trainer_is_over(const sh_trainer *trainer);
/* What the process will hold when it has made its first step; borrowed until sh_trainer_free. */
const sh_footprint *sh_trainer_footprint(const sh_trainer *trainer);
sh_trainer_work sh_trainer_work_done(const sh_trainer *trainer);

/*
 * One step, from the attempt that replica->phase says: replica->steps grows by one. A validation
 * that is due is passed over. Every failure leaves the weights as they were:
 *   the engine's        what was computed is held. Close the engine before the next call
 *   SH_DIVERGED         replicas differ (train/weight_check.h); held likewise
 *   SH_INVALID          `work` is held already or is no grain of the batch; held as before
 *   SH_NUMERIC          names step and tensor
 *   others              reading samples and the like: nothing is held any more
 */
sh_status sh_trainer_step(sh_trainer *trainer, const sh_part *part,
                          sh_step_result *result) SHOAL_CHECKED;

/* Loss and accuracy over the validation samples, the same on all devices. Of a step nothing is held
 * afterwards; failures as above, and the validation begins again. */
sh_status sh_trainer_evaluate(sh_trainer *trainer, const sh_part *part,
                              sh_sum_totals *totals) SHOAL_CHECKED;

/* Replaces on_passed, on_times, on_answers and their context. Not in a stage. */
void sh_trainer_hear(sh_trainer *trainer, const sh_trainer_options *options);

/* The grains held for the replica's position; borrowed until the next call that is not const.
 * sh_trainer_forget drops them: the next stage begins with an empty sum. */
const sh_ranges *sh_trainer_held(const sh_trainer *trainer);
void sh_trainer_forget(sh_trainer *trainer);

/* Puts the replica at another phase, and drops what is held where that changes it. */
void sh_trainer_set_phase(sh_trainer *trainer, uint32_t phase);

/* Full grains a second that the lanes compute, if each always has one, and times of steps. */
sh_speed sh_trainer_speed(const sh_trainer *trainer);

/* A hash of the gradients of the job's first grain with its initial weights: the same on every
 * device, or a processor, its memory or a build has a defect. */
sh_status sh_trainer_first_grain(sh_trainer *trainer, char hex[SH_DIGEST_TEXT]) SHOAL_CHECKED;

/* Where the time of the steps went since sh_trainer_clear_times; redone and failed ones included,
 * validation not. The rows are the caller's. SH_INVALID without a clock. */
sh_status sh_trainer_profile(const sh_trainer *trainer, sh_profile *profile,
                             sh_profile_level level) SHOAL_CHECKED;
void sh_trainer_clear_times(sh_trainer *trainer);

/* The lanes and the times of the steps, to measure; borrowed until sh_trainer_free. */
const sh_lanes *sh_trainer_lanes(const sh_trainer *trainer);
const sh_stopwatch *sh_trainer_stopwatch(const sh_trainer *trainer);

#endif
