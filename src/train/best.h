/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which validation of a job was the best, and for how many there was none better: part of the
 * replica, so that all devices know it, joiners and resumed trainings included.
 *
 *     sh_best_note(&best, sh_best_figure(job, info, &totals), steps); // a validation has passed
 *     sh_best_settle(&best, job);                                     // a step was applied
 *     const sh_best now = sh_best_now(&best, job);
 *     printf("%llu: %g", (unsigned long long)now.steps, sh_best_shown(job, now.value));
 *
 * A validation may be done again at the same position, when another device did not see its end. So
 * its figure is apart from the others until the next step, and the state depends on the position
 * alone.
 *
 * Figures: as named by --monitor, but with accuracy negated, so that the least is the best;
 * INFINITY where the validation has no finite figure.
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

/* All zero: there was no validation. */
typedef struct sh_best {
    double value;     /* the best figure; an equal one later does not replace it */
    uint64_t steps;   /* that were applied then; 0: there is none */
    double reference; /* the last figure that was better by more than --min-delta */
    uint64_t stale;   /* validations since then */
    double last;      /* the figure of the validation at the position, which is not in the others */
    uint64_t at;      /* the steps of that position; 0: there is none */
} sh_best;

/* SH_INVALID: the data have no figure of the name that --monitor gives. */
sh_status sh_best_check(const sh_job *job, const sh_dataset_info *info) SHOAL_CHECKED;

/* The monitored figure of a validation. */
double sh_best_figure(const sh_job *job, const sh_dataset_info *info, const sh_sum_totals *totals);

/* The same as people read it: an accuracy is positive. */
double sh_best_shown(const sh_job *job, double figure);

/* A validation has passed at `steps`; it replaces one at the same position. */
void sh_best_note(sh_best *best, double figure, uint64_t steps);

/* The validation at the position is void. */
void sh_best_forget(sh_best *best);

/* A step is applied: the validation before it counts for good. */
void sh_best_settle(sh_best *best, const sh_job *job);

/* With the validation at the position. */
sh_best sh_best_now(const sh_best *best, const sh_job *job);

/* Whether --patience ends the job after the validation at the position. */
bool sh_best_ends(const sh_best *best, const sh_job *job);

/* Whether devices can have this state after `steps`: for what comes from outside. */
bool sh_best_is_possible(const sh_best *best, uint64_t steps);

/* Whether two states are the same bits. */
bool sh_best_same(const sh_best *a, const sh_best *b);

#endif
