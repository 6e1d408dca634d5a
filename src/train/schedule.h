/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's arithmetic (public part: shoal/job.h): divides an epoch into steps and a step into
 * grains. With local:H, a step is divided into the parts of its workers (train/worker.h) instead;
 * `grain` and `grains` below then refer to these parts.
 *
 *     sh_batch batch = sh_schedule_batch(&schedule, step);
 *     for (uint32_t g = 0; g < batch.grains; g++)
 *         sh_range samples = sh_batch_grain(&batch, g);
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_SCHEDULE_H
#define SHOAL_TRAIN_SCHEDULE_H

#include "base/ranges.h"
#include "data/pipeline.h"
#include "shoal/job.h"

typedef struct sh_schedule {
    uint32_t samples;
    uint32_t batch_size, grain; /* of a local step over all workers */
    uint32_t workers;           /* 0: steps consist of grains */
    uint32_t local_steps;       /* of a full step; 1 without workers */
    uint64_t epoch_steps;       /* of an epoch; the last one may be short */
    uint64_t total_steps;       /* of the job */
} sh_schedule;

typedef struct sh_batch {
    uint32_t epoch;   /* from 0 */
    uint64_t step;    /* of the epoch, from 0 */
    sh_range samples; /* positions in the epoch's order */
    uint32_t grain;   /* samples of a grain (worker); the last may have fewer */
    uint32_t grains;  /* ceil(samples / grain); at most the workers, if any */
} sh_batch;

/* Borrows the job's texts. */
sh_pipeline_options sh_job_pipeline(const sh_job *job);

/* H of local:H; 0 with any other strategy. */
uint32_t sh_job_local_steps(const sh_job *job);

/* The number of grains, or workers, of a full step. */
uint32_t sh_job_grains(const sh_job *job);

/* The job whose optimizer, learning rates and clipping apply to the common weights: the job itself
 * or, with local:H, one of plain SGD with the outer learning rate and momentum (Nesterov). */
sh_job sh_job_outer(const sh_job *job);

sh_schedule sh_schedule_of(const sh_job *job, uint32_t samples);

static inline uint32_t sh_schedule_worker_batch(const sh_schedule *schedule)
{
    return schedule->batch_size / schedule->workers;
}

/* The schedule of local steps, which learning rates follow: that of the same job without workers;
 * and the number of local steps before step `step`. */
sh_schedule sh_schedule_local(const sh_schedule *schedule);
uint64_t sh_schedule_local_before(const sh_schedule *schedule, uint64_t step);

/* `step` counts from the job's start. */
sh_batch sh_schedule_batch(const sh_schedule *schedule, uint64_t step);

/* All `samples` as one batch of grains; for evaluation. */
sh_batch sh_batch_of_all(uint32_t samples, uint32_t grain);

/* The positions of grain `index` of the batch, counted from the start of the epoch. */
sh_range sh_batch_grain(const sh_batch *batch, uint32_t index);

/*
 * Scales a device's share of a full step's `of` grains to `total` grains. If the devices' shares
 * cover `of` without gaps, the results cover `total` without gaps.
 */
sh_range sh_range_scale(sh_range share, uint32_t of, uint32_t total);

#endif
