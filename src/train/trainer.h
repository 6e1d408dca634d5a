/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device at work: computes its share of each step's grains on its lanes, takes part in the sum,
 * and applies the update to its replica.
 *
 *     SH_TRY(sh_trainer_new(&trainer, &options));
 *     while (!sh_trainer_is_over(trainer))
 *         SH_TRY(sh_trainer_step(trainer, &part, &result));
 *     SH_TRY(sh_trainer_evaluate(trainer, &part, &totals));
 *
 * All devices of a view make the same calls with the same engine rounds and reach the same
 * decisions, which depend only on the sums. If a round fails, nothing is applied, and this device's
 * computed grains are *held*: they stay in the own part of the sum, and the stage can continue
 * under another engine with more grains (`work`).
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

/* A stage that all devices completed. Reported under the replica's lock, after the update and
 * before the total is overwritten. */
typedef struct sh_stage_outcome {
    sh_passed passed; /* APPLY, REDO, VALIDATE or LAP */
    sh_position before, after;
    double clip; /* of an APPLY: the factor on its gradients; else 1 */
} sh_stage_outcome;

/* Results of a validation for consecutive samples (model/model.h: outputs 0, 3, 2); borrowed for
 * the call. */
typedef struct sh_answers {
    sh_range samples;
    const float *losses, *given; /* [count], [count][outputs] */
    const void *targets;         /* [count] as in tensor/target.h */
} sh_answers;

typedef struct sh_trainer_options {
    const sh_job *job;           /* copied */
    const sh_pipeline *pipeline; /* borrowed until the trainer is freed */
    const sh_kernels *kernels;
    sh_replica *replica;       /* borrowed */
    uint32_t lanes, gpu_count; /* lanes of the processor; GPUs, each with one more lane */
    const uint32_t *gpus;      /* numbers as in gpu/device.h; borrowed for the call */
    const sh_clock *clock;     /* NULL: no profile; borrowed until sh_trainer_free */
    uint64_t memory;           /* limit in bytes of the process; 0: none (train/lanes.h) */
    bool evaluate_only;        /* only sh_trainer_evaluate will be called */
    bool shared;               /* allocates a separate total, for other devices */
    const sh_clock *pace;      /* for sh_trainer_speed, or NULL. Borrowed as above */
    const sh_clock *times;     /* for on_times, without `clock` */
    void (*on_passed)(void *context, const sh_stage_outcome *outcome); /* on the caller's thread */
    /* A step was applied; in a lap, each update of this device. */
    void (*on_times)(void *context, const sh_step_times *times);
    void (*on_answers)(void *context, const sh_answers *answers); /* any lane, several at once */
    void *context;                                                /* borrowed as above */
} sh_trainer_options;

typedef struct sh_trainer sh_trainer;

typedef struct sh_part {
    sh_range share; /* of the grains of a full step */
    uint32_t of;    /* grains of a full step */
    sh_engine *engine;
    bool stop, resume, lies; /* asks for the job's end; applies the audited step; for tests */

    /* Training: the batch's grains to compute besides the held ones, which count if they are of
     * this position. NULL: the share, and nothing is held. Borrowed for the call. */
    const sh_ranges *work;

    /* Called as late in the stage as the engine allows (sh_engine_decider), on one device at most:
     * sets the next view and the key of an audit (sh_sum_word). NULL: 0. */
    bool (*announce)(void *context, bool last, uint64_t *word);
    bool (*end_early)(void *context); /* a stage of many steps should end soon; NULL: no */
    void *context;                    /* borrowed until the engine is closed */
} sh_part;

typedef struct sh_step_result {
    sh_sum_totals totals; /* over all devices, of the applied attempt */
    uint32_t redone;      /* recomputations, without calibration */
    uint32_t audit;       /* 0, or the unapplied step waits for its audit (train/audited_step.h) */
} sh_step_result;

typedef struct sh_trainer_work {
    uint64_t grains, samples; /* that this device has computed */
} sh_trainer_work;

sh_status sh_trainer_new(sh_trainer **trainer, const sh_trainer_options *options) SHOAL_CHECKED;
void sh_trainer_free(sh_trainer *trainer);
const sh_schedule *sh_trainer_schedule(const sh_trainer *trainer);
/* Whether the last step is done or --patience is exhausted. False while a validation is due. */
bool sh_trainer_is_over(const sh_trainer *trainer);
/* The memory of the process after its first step; borrowed until sh_trainer_free. */
const sh_footprint *sh_trainer_footprint(const sh_trainer *trainer);
sh_trainer_work sh_trainer_work_done(const sh_trainer *trainer);

/*
 * Makes one step, starting with the attempt in replica->phase, and increments replica->steps. Skips
 * a validation that is due. Every failure leaves the weights unchanged:
 *   the engine's    computed grains are held. Close the engine before the next call
 *   SH_DIVERGED     replicas differ (train/weight_check.h); grains are held likewise
 *   SH_INVALID      `work` is held already or not in the batch; held grains remain
 *   SH_NUMERIC      names step and tensor
 *   others          such as reading samples: no grain is held afterwards
 */
sh_status sh_trainer_step(sh_trainer *trainer, const sh_part *part,
                          sh_step_result *result) SHOAL_CHECKED;

/* Totals over the validation samples are the same on all devices. Drops held grains. Fails as
 * above; the validation then starts again. */
sh_status sh_trainer_evaluate(sh_trainer *trainer, const sh_part *part,
                              sh_sum_totals *totals) SHOAL_CHECKED;

/* Replaces on_passed, on_times, on_answers and context. Not in a stage. */
void sh_trainer_set_callbacks(sh_trainer *trainer, const sh_trainer_options *options);

/* The grains held for the replica's position; borrowed until the next call that is not const. */
const sh_ranges *sh_trainer_held(const sh_trainer *trainer);
void sh_trainer_forget(sh_trainer *trainer); /* the next stage begins with an empty sum */
/* While set, stages fail with SH_ABORTED as soon as a lane ends an instruction, and no grain is
 * held; but not those of a strategy whose devices step apart. Any thread. */
void sh_trainer_interrupt(sh_trainer *trainer, bool interrupted);

void sh_trainer_set_phase(sh_trainer *trainer, uint32_t phase); /* forgets, if it changes */

/* The rate of full grains per second if every lane is busy, and times of steps. */
sh_speed sh_trainer_speed(const sh_trainer *trainer);

/* A hash of the gradients of the job's first grain with its initial weights. A difference between
 * devices shows a defective processor, memory or build. Only the first call computes it. */
sh_status sh_trainer_first_grain(sh_trainer *trainer, char hex[SH_DIGEST_TEXT]) SHOAL_CHECKED;

/* Profiles the steps since sh_trainer_clear_times, redone and failed ones included, without
 * validation. The rows are the caller's. SH_INVALID without a clock. */
sh_status sh_trainer_profile(const sh_trainer *trainer, sh_profile *profile,
                             sh_profile_level level) SHOAL_CHECKED;
void sh_trainer_clear_times(sh_trainer *trainer);

/* For measurements; borrowed until sh_trainer_free. */
const sh_lanes *sh_trainer_lanes(const sh_trainer *trainer);
const sh_stopwatch *sh_trainer_stopwatch(const sh_trainer *trainer);

#endif
