/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trials of a sweep and what came of them, in its folder's sweep.db (store/sweep_schema.h).
 *
 *     SH_TRY(sh_trials_open(&trials, "runs/study", SH_DATABASE_WRITE));
 *     SH_TRY(sh_trials_take(trials, study, "study.yaml", now));
 *     SH_TRY(sh_trials_load(trials, &trial));        // by its id
 *     trial.state = SH_TRIAL_DONE;
 *     SH_TRY(sh_trials_save(trials, &trial));
 *     sh_trials_close(trials);
 *
 * Each save is a transaction: a program that is killed leaves all of it or nothing. Who writes has
 * the folder locked. A trial that was under way when its sweep was killed is found RUNNING by
 * sh_trials_take, which makes it WAITING: it is done from the start, and the time that the first
 * attempt took stays counted, up to the last save.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_SWEEP_TRIALS_H
#define SHOAL_SWEEP_TRIALS_H

#include "store/database.h"
#include "sweep/study_file.h"

typedef struct sh_trials sh_trials;

/* Makes the folder where it is to be written. SH_REFUSED where another sweep has it; SH_NOT_FOUND
 * where there is no sweep to read; failures of sh_database_open. `*trials` is owned. */
sh_status sh_trials_open(sh_trials **trials, const char *folder,
                         sh_database_mode mode) SHOAL_CHECKED;
void sh_trials_close(sh_trials *trials); /* NULL is fine */

/*
 * Makes `study` the one that the folder has: trials that are new to it wait; those that it does not
 * have any more are kept without a place. `now` is in seconds since 1970.
 */
sh_status sh_trials_take(sh_trials *trials, const sh_study *study, const char *file,
                         double now) SHOAL_CHECKED;

/* Fills state, attempts, spent seconds, figures, hash and message of the trial with this id; one
 * that the folder has not is WAITING. */
sh_status sh_trials_load(sh_trials *trials, sh_trial *trial) SHOAL_CHECKED;

/* Puts the trial in the place of what was known of its id. `begun` is NaN where it never was. */
sh_status sh_trials_save(sh_trials *trials, const sh_trial *trial, double begun) SHOAL_CHECKED;

/* Trials without a place in the study. */
sh_status sh_trials_others(sh_trials *trials, uint32_t *count) SHOAL_CHECKED;

#endif
