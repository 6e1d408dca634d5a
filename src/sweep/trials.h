/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trials of a sweep and their results, stored in the folder's sweep.db (store/sweep_schema.h).
 *
 *     SH_TRY(sh_trials_open(&trials, "runs/study", SH_DATABASE_WRITE));
 *     SH_TRY(sh_trials_take(trials, study, "study.yaml", now));
 *     SH_TRY(sh_trials_load(trials, &trial));        // by its id
 *     SH_TRY(sh_trials_save(trials, &trial));
 *
 * Each save is a transaction. The writer locks the folder. sh_trials_take sets the RUNNING trial of
 * a killed sweep to WAITING; the time spent on it up to the last save remains counted.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_SWEEP_TRIALS_H
#define SHOAL_SWEEP_TRIALS_H

#include "store/database.h"
#include "sweep/study_file.h"

typedef struct sh_trials sh_trials;

/* `*trials` is owned: sh_trials_close. Creates the folder when opened for writing. SH_REFUSED if
 * another sweep holds the lock, SH_NOT_FOUND if there is no sweep to read, or as
 * sh_database_open. */
sh_status sh_trials_open(sh_trials **trials, const char *folder,
                         sh_database_mode mode) SHOAL_CHECKED;
void sh_trials_close(sh_trials *trials); /* NULL does nothing */

/* Makes `study` the study of the folder. New trials are WAITING. Trials that are no longer in the
 * study are kept without a position. `now` is in seconds since 1970. */
sh_status sh_trials_take(sh_trials *trials, const sh_study *study, const char *file,
                         double now) SHOAL_CHECKED;

/* Sets state, attempts, spent seconds, figures, hash and message by trial->id. A trial that the
 * database does not have is WAITING. */
sh_status sh_trials_load(sh_trials *trials, sh_trial *trial) SHOAL_CHECKED;

/* `begun` is NaN if the trial never started. */
sh_status sh_trials_save(sh_trials *trials, const sh_trial *trial, double begun) SHOAL_CHECKED;

/* Counts trials that are not in the study. */
sh_status sh_trials_others(sh_trials *trials, uint32_t *count) SHOAL_CHECKED;

#endif
