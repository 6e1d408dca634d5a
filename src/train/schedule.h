/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's arithmetic (public part: shoal/job.h): how an epoch falls into steps and a step into
 * grains.
 *
 *     sh_schedule schedule = sh_schedule_of(&job, info->count[SH_SPLIT_TRAIN]);
 *     sh_batch batch = sh_schedule_batch(&schedule, step);
 *     for (uint32_t g = 0; g < batch.grains; g++)
 *         sh_range samples = sh_batch_grain(&batch, g);
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_SCHEDULE_H
#define SHOAL_TRAIN_SCHEDULE_H

#include "data/pipeline.h"
#include "shoal/job.h"

/* Consecutive positions: of samples in an epoch's order, or of grains in a step. */
typedef struct sh_range {
    uint32_t first, count;
} sh_range;

/* How a data set of `samples` is walked through. */
typedef struct sh_schedule {
    uint32_t samples;
    uint32_t batch_size, grain;
    uint64_t epoch_steps; /* steps of an epoch; the last one may be short */
    uint64_t total_steps; /* of the job */
} sh_schedule;

/* One step's samples and the grains that they fall into. */
typedef struct sh_batch {
    uint32_t epoch;   /* from 0 */
    uint64_t step;    /* of the epoch, from 0 */
    sh_range samples; /* positions in the epoch's order */
    uint32_t grain;   /* samples of each grain but perhaps the last */
    uint32_t grains;  /* M = ceil(samples / grain) */
} sh_batch;

/* What a job makes of its data's samples; borrows its texts. */
sh_pipeline_options sh_job_pipeline(const sh_job *job);

sh_schedule sh_schedule_of(const sh_job *job, uint32_t samples);

/* The batch of step number `step` since the job began. */
sh_batch sh_schedule_batch(const sh_schedule *schedule, uint64_t step);

/* `samples` positions as one batch of grains; for evaluation. */
sh_batch sh_batch_of_all(uint32_t samples, uint32_t grain);

/* Positions of grain number `index`, counted from the start of the epoch. */
sh_range sh_batch_grain(const sh_batch *batch, uint32_t index);

/*
 * A device's part of `total` grains: `share` is its part of `of` grains of a full step, scaled.
 * Devices whose shares cover `of` without gaps cover `total` without gaps.
 */
sh_range sh_range_scale(sh_range share, uint32_t of, uint32_t total);

#endif
