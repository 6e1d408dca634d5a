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
 * Each save is a transaction: a program that is killed leaves all of it or nothing. The writer
 * locks the folder. sh_trials_take finds a trial RUNNING that was under way when its sweep was
 * killed, and makes it WAITING: it starts again, and the time of the first attempt stays counted up
 * to the last save.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_SWEEP_TRIALS_H
#define SHOAL_SWEEP_TRIALS_H

#include "store/database.h"
#include "sweep/study_file.h"

typedef struct sh_trials sh_trials;

/* Makes the folder in order to write. SH_REFUSED where another sweep has it; SH_NOT_FOUND where no
 * sweep is there to read; failures of sh_database_open. `*trials` is owned. */
sh_status sh_trials_open(sh_trials **trials, const char *folder,
                         sh_database_mode mode) SHOAL_CHECKED;
void sh_trials_close(sh_trials *trials); /* NULL is fine */

/*
 * Makes `study` the study of the folder: its new trials wait; trials that it no longer has are kept
 * without a place. `now` is in seconds since 1970.
 */
sh_status sh_trials_take(sh_trials *trials, const sh_study *study, const char *file,
                         double now) SHOAL_CHECKED;

/* Fills state, attempts, spent seconds, figures, hash and message of the trial with this id; one
 * that the folder has not is WAITING. */
sh_status sh_trials_load(sh_trials *trials, sh_trial *trial) SHOAL_CHECKED;

/* Replaces what was known of the trial's id. `begun` is NaN for one that never began. */
sh_status sh_trials_save(sh_trials *trials, const sh_trial *trial, double begun) SHOAL_CHECKED;

/* Trials without a place in the study. */
sh_status sh_trials_others(sh_trials *trials, uint32_t *count) SHOAL_CHECKED;

#endif
