/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job's arithmetic (public part: shoal/job.h): how an epoch falls into steps and a step into
 * grains, or with local:H into the parts of its workers (train/worker.h). Those are then what is
 * shared out, held and computed again, and what `grain` and `grains` are of in what follows.
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

#include "base/ranges.h"
#include "data/pipeline.h"
#include "shoal/job.h"

/* How a data set of `samples` is walked through. */
typedef struct sh_schedule {
    uint32_t samples;
    uint32_t batch_size, grain; /* of a local step, over all workers */
    uint32_t workers;           /* 0: every step is one, of grains */
    uint32_t local_steps;       /* of a step at most; 1 without workers */
    uint64_t epoch_steps;       /* steps of an epoch; the last one may be short */
    uint64_t total_steps;       /* of the job */
} sh_schedule;

/* One step's samples and the grains that they fall into. */
typedef struct sh_batch {
    uint32_t epoch;   /* from 0 */
    uint64_t step;    /* of the epoch, from 0 */
    sh_range samples; /* positions in the epoch's order */
    uint32_t grain;   /* samples of each grain (worker) but perhaps the last */
    uint32_t grains;  /* M = ceil(samples / grain); with workers at most as many */
} sh_batch;

/* What a job makes of its data's samples; borrows its texts. */
sh_pipeline_options sh_job_pipeline(const sh_job *job);

/* H of local:H; 0 where the job's devices synchronise in every step. */
uint32_t sh_job_local_steps(const sh_job *job);

/* Grains, or workers, of a full step. */
uint32_t sh_job_grains(const sh_job *job);

/* The job whose optimizer, learning rates and clipping are those of the common weights: itself,
 * or with local:H one of plain SGD with the outer learning rate and momentum (Nesterov). */
sh_job sh_job_outer(const sh_job *job);

sh_schedule sh_schedule_of(const sh_job *job, uint32_t samples);

/* Samples of a worker's local batch. */
static inline uint32_t sh_schedule_worker_batch(const sh_schedule *schedule)
{
    return schedule->batch_size / schedule->workers;
}

/* The same walk local step by local step, which learning rates follow: that of the same job without
 * workers; and how many local steps come before step `step`. */
sh_schedule sh_schedule_local(const sh_schedule *schedule);
uint64_t sh_schedule_local_before(const sh_schedule *schedule, uint64_t step);

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
