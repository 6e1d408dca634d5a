/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run's database read once: totals, means, and series of at most SH_DIGEST_POINTS points. Times
 * are seconds of training since the start of the first session, without breaks between sessions.
 * NaN: not available. Texts are UTF-8 without control characters. A device's series have
 * `part_count` values, one for each equal part of the steps (for figures, of the time).
 *
 *     sh_run_digest *digest;
 *     SH_TRY(sh_run_digest_new(&digest, "runs/a"));
 *     for (size_t i = 0; i < digest->device_count; i++)
 *         printf("%s %f\n", digest->devices[i].name, digest->devices[i].split[SH_STEP_SPLIT_wait]);
 *     sh_run_digest_free(digest);
 *
 * Threads: any; a digest is only read.
 */
#ifndef SHOAL_REPORT_RUN_DIGEST_H
#define SHOAL_REPORT_RUN_DIGEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "base/memory.h"
#include "monitor/sample.h"
#include "monitor/step_times.h"

#define SH_DIGEST_POINTS 400 /* fewer with many devices: SH_DIGEST_CELLS in total */
#define SH_DIGEST_CELLS 8000
#define SH_DIGEST_TEXT_BYTES 160

/* `exchange` is split in two (store/schema.h, step_parts). */
typedef enum sh_step_split {
    SH_STEP_SPLIT_wait = SH_PART_COUNT, /* until the slowest device had computed */
    SH_STEP_SPLIT_network,              /* the rest of the exchange */
    SH_STEP_SPLIT_COUNT
} sh_step_split;

/* Static. */
const char *sh_step_split_name(int part);

/* All but `exchange` add up to a step. */
static inline bool sh_step_split_counts(int part)
{
    return part != SH_PART_exchange;
}

/* The view step_parts' computing_us, in any unit. */
static inline double sh_step_split_computing(const double split[SH_STEP_SPLIT_COUNT])
{
    return split[SH_PART_data] + split[SH_PART_forward] + split[SH_PART_backward] +
           split[SH_PART_sum] + split[SH_PART_lanes];
}

typedef struct sh_digest_point {
    double step, seconds; /* of the part's end */
    double loss, loss_least, loss_most, accuracy, samples_per_second;
    double learning_rate; /* NaN until sh_learning_rates (report/learning.h) */
} sh_digest_point;

typedef struct sh_digest_figure {
    double total;       /* growth of a counter; NaN for a gauge */
    double mean;        /* growth per second of a counter; mean of a gauge */
    double least, most; /* of a gauge */
    double early, late; /* in the first and last third of the time */
    double *series;     /* like mean, or NULL */
} sh_digest_figure;

typedef struct sh_digest_device {
    uint32_t device, lanes, cores; /* 0 cores: not available */
    char name[SH_DIGEST_TEXT_BYTES];
    uint64_t steps, grains, samples;     /* that it took part in; that it computed */
    double wall;                         /* mean seconds per step */
    double split[SH_STEP_SPLIT_COUNT];   /* mean seconds per step */
    double grain_seconds;                /* of data, forward, backward, sum */
    double grain_early, grain_late;      /* in the first and last third of the steps */
    double *series[SH_STEP_SPLIT_COUNT]; /* mean seconds per step, or NULL */
    double observed;                     /* seconds from first to last sample */
    sh_digest_figure figures[SH_FIGURE_COUNT];
} sh_digest_device;

typedef struct sh_digest_view {
    double step, seconds;
    uint32_t view, devices;
    uint64_t grains;
    char reason[SH_DIGEST_TEXT_BYTES];
} sh_digest_view;

typedef struct sh_digest_epoch {
    double epoch, step, seconds, loss, accuracy, val_loss, val_accuracy;
} sh_digest_epoch;

typedef struct sh_run_digest {
    char name[SH_DIGEST_TEXT_BYTES];      /* of the folder */
    char long_name[SH_DIGEST_TEXT_BYTES]; /* with its parent */
    char model[SH_DIGEST_TEXT_BYTES], data[SH_DIGEST_TEXT_BYTES], status[SH_DIGEST_TEXT_BYTES];
    char weights_hash[SH_DIGEST_TEXT_BYTES]; /* "" until complete */
    char version[SH_DIGEST_TEXT_BYTES];
    const char *job; /* JSON as written */
    uint64_t parameters, steps, steps_planned, epoch_steps, samples, redone;
    uint32_t sessions;
    double seconds, samples_per_second;
    sh_digest_point *points;
    size_t point_count;
    sh_digest_device *devices; /* by number */
    size_t device_count;
    size_t part_count; /* of the devices' series */
    sh_digest_view *views;
    size_t view_count;
    sh_digest_epoch *epochs;
    size_t epoch_count;
    sh_arena arena; /* owns all data */
} sh_run_digest;

/* `path` is a run's folder or its database, borrowed for the call. `*digest` is owned: free it.
 * Fails as store/database.h; SH_NOT_FOUND also if no run has begun. */
sh_status sh_run_digest_new(sh_run_digest **digest, const char *path) SHOAL_CHECKED;
void sh_run_digest_free(sh_run_digest *digest); /* NULL is allowed */

#endif
