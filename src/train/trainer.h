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
 * because it decides on sums that all hold.
 *
 * Threads: one caller, which is lane 0.
 */
#ifndef SHOAL_TRAIN_TRAINER_H
#define SHOAL_TRAIN_TRAINER_H

#include "data/pipeline.h"
#include "reduce/engine.h"
#include "train/lanes.h"
#include "train/replica.h"
#include "train/schedule.h"
#include "train/stopwatch.h"

typedef struct sh_trainer_options {
    const sh_job *job;               /* copied */
    const sh_pipeline *pipeline;     /* borrowed until the trainer is freed */
    const sh_backend_list *backends; /* copied */
    sh_replica *replica;             /* borrowed */
    uint32_t lanes;
    const sh_clock *clock; /* NULL: steps are not timed; borrowed until sh_trainer_free */
    uint64_t memory;       /* most bytes that the process may hold; 0: any (lanes.h says how) */
    bool evaluate_only;    /* sh_trainer_evaluate is all that will be asked for */
} sh_trainer_options;

typedef struct sh_trainer sh_trainer;

/* What this device does in a step, and with whom. */
typedef struct sh_part {
    sh_range share; /* of the grains of a full step */
    uint32_t of;    /* grains of a full step */
    sh_engine *engine;
    bool stop; /* this device asks to end after the step */
} sh_part;

typedef struct sh_step_result {
    sh_sum_totals totals; /* over all devices; totals.stops: how many asked to end */
    uint32_t redone;      /* how often it was computed again, calibration not counted */
} sh_step_result;

/* What this device has computed. */
typedef struct sh_trainer_work {
    uint64_t grains, samples;
} sh_trainer_work;

sh_status sh_trainer_new(sh_trainer **trainer, const sh_trainer_options *options) SHOAL_CHECKED;
void sh_trainer_free(sh_trainer *trainer);

const sh_schedule *sh_trainer_schedule(const sh_trainer *trainer);
/* What the process will hold when it has made its first step; borrowed until sh_trainer_free. */
const sh_footprint *sh_trainer_footprint(const sh_trainer *trainer);
sh_trainer_work sh_trainer_work_done(const sh_trainer *trainer);

/*
 * One step: replica->steps grows by one. SH_NUMERIC names step and tensor and leaves the weights as
 * they were; so does every other failure, after which the engine is of no more use.
 */
sh_status sh_trainer_step(sh_trainer *trainer, const sh_part *part,
                          sh_step_result *result) SHOAL_CHECKED;

/* Loss and accuracy over the validation samples, the same on all devices. */
sh_status sh_trainer_evaluate(sh_trainer *trainer, const sh_part *part,
                              sh_sum_totals *totals) SHOAL_CHECKED;

/*
 * The arithmetic family of this device for this job: a hash of the gradients of one fixed grain
 * with the job's initial weights. Devices with equal ones compute the same bits.
 */
sh_status sh_trainer_family(sh_trainer *trainer, char hex[SH_DIGEST_TEXT]) SHOAL_CHECKED;

/*
 * Where the time of the steps went since the trainer was made or sh_trainer_clear_times; redone and
 * failed ones included, validation not. The rows are the caller's. SH_INVALID without a clock.
 */
sh_status sh_trainer_profile(const sh_trainer *trainer, sh_profile *profile,
                             sh_profile_level level) SHOAL_CHECKED;
void sh_trainer_clear_times(sh_trainer *trainer);

/* The lanes at work and the times of the steps, for those who measure; borrowed until
 * sh_trainer_free. */
const sh_lanes *sh_trainer_lanes(const sh_trainer *trainer);
const sh_stopwatch *sh_trainer_stopwatch(const sh_trainer *trainer);

#endif
