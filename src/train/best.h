/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The best validation of a job, and the number of validations since the last improvement. This
 * state is part of the replica, so joining and resuming devices know it too.
 *
 *     sh_best_note(&best, sh_best_figure(job, info, &totals), steps); // after a validation
 *     sh_best_settle(&best, job);                                     // after the next step
 *
 * A validation is repeated at the same position if another device did not see its end. Its figure
 * is therefore kept apart until the next step, and the state depends only on the position.
 *
 * --monitor names the figure. Accuracy is negated, so that the smallest figure is the best. The
 * figure is INFINITY if the validation has no finite one.
 *
 * Threads: values; caller locks.
 */
#ifndef SHOAL_TRAIN_BEST_H
#define SHOAL_TRAIN_BEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"
#include "data/dataset.h"
#include "shoal/job.h"
#include "train/exact_sum.h"

/* All zero: no validation yet. */
typedef struct sh_best {
    double value;     /* the best figure; a later equal one does not replace it */
    uint64_t steps;   /* steps applied at that validation; 0: no best yet */
    double reference; /* the last figure that was better by more than --min-delta */
    uint64_t stale;   /* validations since `reference` was set */
    double last;      /* figure at the current position, not yet in the members above */
    uint64_t at;      /* steps applied at that position; 0: no such validation */
} sh_best;

/* SH_INVALID: the data set has no figure with the name in --monitor. */
sh_status sh_best_check(const sh_job *job, const sh_dataset_info *info) SHOAL_CHECKED;

double sh_best_figure(const sh_job *job, const sh_dataset_info *info, const sh_sum_totals *totals);

/* Converts to the usual sign, or back: accuracy is shown positive. */
double sh_best_shown(const sh_job *job, double figure);

/* Notes a validation after `steps` steps. Replaces one at the same position. */
void sh_best_note(sh_best *best, double figure, uint64_t steps);

/* Discards the validation at the current position. */
void sh_best_forget(sh_best *best);

/* Makes the validation at the current position final. Call after a step was applied. */
void sh_best_settle(sh_best *best, const sh_job *job);

/* The state that includes the validation at the current position. */
sh_best sh_best_now(const sh_best *best, const sh_job *job);

/* Whether --patience ends the job after the validation at the current position. */
bool sh_best_ends(const sh_best *best, const sh_job *job);

/* Whether this state, from outside, is possible after `steps` steps. */
bool sh_best_is_possible(const sh_best *best, uint64_t steps);

/* Compares the bits. */
bool sh_best_same(const sh_best *a, const sh_best *b);

#endif
