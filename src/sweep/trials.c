/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/trials.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "store/file.h"
#include "store/sweep_schema.h"

enum {
    AFTER_SETTINGS = SH_SETTING_COUNT + 1, /* the SQL parameter of the id */
    AFTER_STATE = AFTER_SETTINGS + 6,
    PARAMETERS = AFTER_STATE + SH_TRIAL_FIGURE_COUNT,
};

struct sh_trials {
    int lock; /* -1: opened for reading */
    sh_database *database;
    sh_query *load, *save;
};

sh_status sh_trials_open(sh_trials **trials, const char *folder, sh_database_mode mode)
{
    char path[SH_PATH_BYTES], sql[4096];
    sh_status status;
    sh_trials *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a sweep");
    fresh->lock = -1;
    if (mode == SH_DATABASE_WRITE) {
        SH_TRY_DONE(sh_folder_make(folder));
        SH_TRY_DONE(sh_path_join(path, folder, "lock"));
        SH_TRY_DONE(sh_file_open_own(&fresh->lock, path, O_RDWR | O_CREAT));
        if (flock(fresh->lock, LOCK_EX | LOCK_NB) != 0)
            SH_TRY_DONE(errno != EWOULDBLOCK
                            ? sh_fail_errno(errno, "%s: cannot be locked", path)
                            : sh_fail(SH_REFUSED,
                                      "%s: another sweep is running there: wait for its end, or "
                                      "name another folder with --run",
                                      folder));
    }
    SH_TRY_DONE(sh_path_join(path, folder, SH_SWEEP_DATABASE));
    SH_TRY_DONE(sh_database_open(&fresh->database, path, sh_sweep_schema(), mode));
    snprintf(sql, sizeof sql,
             "SELECT state, attempts, spent_seconds, message, %s FROM trials WHERE id = ?1",
             sh_sweep_schema_figures());
    SH_TRY_DONE(sh_query_new(&fresh->load, fresh->database, sql));
    if (mode == SH_DATABASE_WRITE) {
        SH_TRY_DONE(sh_sweep_schema_extend(fresh->database));
        size_t length = (size_t)snprintf(
            sql, sizeof sql,
            "INSERT OR REPLACE INTO trials (%s, state, attempts, spent_seconds, begun, message, "
            "%s) VALUES (?1",
            sh_sweep_schema_settings(), sh_sweep_schema_figures());
        for (int i = 2; i <= PARAMETERS; i++)
            length += (size_t)snprintf(sql + length, sizeof sql - length, ", ?%d", i);
        snprintf(sql + length, sizeof sql - length, ")");
        SH_TRY_DONE(sh_query_new(&fresh->save, fresh->database, sql));
    }
    *trials = fresh;
    return SH_OK;
done:
    sh_trials_close(fresh);
    return status;
}

void sh_trials_close(sh_trials *trials)
{
    if (trials == NULL)
        return;
    sh_query_free(trials->load);
    sh_query_free(trials->save);
    sh_database_close(trials->database);
    if (trials->lock >= 0)
        close(trials->lock);
    free(trials);
}

sh_status sh_trials_load(sh_trials *trials, sh_trial *trial)
{
    sh_query *query = trials->load;
    sh_query_bind_text(query, 1, trial->id);
    const bool found = sh_query_row(query);
    if (!found)
        SH_TRY(sh_query_reset(query));
    trial->state = SH_TRIAL_WAITING;
    for (sh_trial_state state = SH_TRIAL_WAITING; found && state <= SH_TRIAL_FAILED; state++)
        if (strcmp(sh_trial_state_text(state), sh_query_text(query, 0)) == 0)
            trial->state = state;
    trial->attempts = found ? (uint32_t)sh_query_integer(query, 1) : 0;
    trial->spent_seconds = found ? sh_query_real(query, 2) : 0;
    snprintf(trial->message, sizeof trial->message, "%s", found ? sh_query_text(query, 3) : "");
    for (int i = 0; i < SH_TRIAL_FIGURE_COUNT; i++)
        trial->figures[i] = found ? sh_query_real(query, 4 + i) : NAN;
    snprintf(trial->weights_hash, sizeof trial->weights_hash, "%s",
             found ? sh_query_text(query, 4 + SH_TRIAL_FIGURE_COUNT) : "");
    return sh_query_reset(query);
}

sh_status sh_trials_save(sh_trials *trials, const sh_trial *trial, double begun)
{
    sh_query *query = trials->save;
    for (int i = 0; i < SH_SETTING_COUNT; i++)
        sh_query_bind_text(query, 1 + i, trial->settings[i]);
    sh_query_bind_text(query, AFTER_SETTINGS, trial->id);
    sh_query_bind_text(query, AFTER_SETTINGS + 1, sh_trial_state_text(trial->state));
    sh_query_bind_integer(query, AFTER_SETTINGS + 2, trial->attempts);
    sh_query_bind_real(query, AFTER_SETTINGS + 3, trial->spent_seconds);
    sh_query_bind_real(query, AFTER_SETTINGS + 4, begun);
    sh_query_bind_text(query, AFTER_SETTINGS + 5,
                       trial->state == SH_TRIAL_FAILED ? trial->message : NULL);
    for (int i = 0; i < SH_TRIAL_FIGURE_COUNT; i++)
        sh_query_bind_real(query, AFTER_STATE + i, trial->figures[i]);
    sh_query_bind_text(query, PARAMETERS,
                       trial->weights_hash[0] == '\0' ? NULL : trial->weights_hash);
    return sh_query_run(query);
}

sh_status sh_trials_take(sh_trials *trials, const sh_study *study, const char *file, double now)
{
    sh_database *database = trials->database;
    sh_query *about = NULL, *place = NULL;
    sh_status status;
    SH_TRY(sh_database_run(database, "BEGIN IMMEDIATE"));
    SH_TRY_DONE(sh_database_run(database, "DELETE FROM study; DELETE FROM about;"));
    SH_TRY_DONE(sh_query_new(&about, database, "INSERT INTO about VALUES (?1, ?2, ?3)"));
    sh_query_bind_text(about, 1, study->name);
    sh_query_bind_text(about, 2, file);
    sh_query_bind_real(about, 3, now);
    SH_TRY_DONE(sh_query_run(about));
    SH_TRY_DONE(sh_query_new(&place, database, "INSERT INTO study VALUES (NULL, ?1, ?2)"));
    for (size_t i = 0; i < study->trial_count; i++) {
        const sh_study_trial *planned = &study->trials[i];
        sh_trial trial = {.block = planned->block};
        memcpy(trial.id, planned->id, sizeof trial.id);
        memcpy(trial.settings, planned->settings, sizeof trial.settings);
        SH_TRY_DONE(sh_trials_load(trials, &trial));
        if (trial.state == SH_TRIAL_RUNNING || trial.state == SH_TRIAL_WAITING) {
            trial.state = SH_TRIAL_WAITING;
            SH_TRY_DONE(sh_trials_save(trials, &trial, NAN));
        }
        sh_query_bind_text(place, 1, planned->block);
        sh_query_bind_text(place, 2, planned->id);
        SH_TRY_DONE(sh_query_run(place));
    }
done:
    sh_query_free(about);
    sh_query_free(place);
    if (status == SH_OK)
        return sh_database_run(database, "COMMIT");
    const sh_status undone = sh_database_run(database, "ROLLBACK");
    (void)undone; /* the first failure is returned */
    return status;
}

sh_status sh_trials_others(sh_trials *trials, uint32_t *count)
{
    double found;
    SH_TRY(
        sh_database_ask(&found, trials->database,
                        "SELECT count(*) FROM trials WHERE id NOT IN (SELECT trial FROM study)"));
    *count = (uint32_t)found;
    return SH_OK;
}
