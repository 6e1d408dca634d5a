/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/trials.h"

#include <math.h>

#include "base/scratch.h"
#include "store/file.h"
#include "store/sweep_schema.h"

static char folder[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    char root[SH_PATH_BYTES];
    scratch_make(root);
    return sh_path_join(folder, root, "sweep") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    *strrchr(folder, '/') = '\0';
    scratch_remove(folder);
    return 0;
}

static sh_trials *opened(const char *text)
{
    sh_trials *trials;
    sh_study *study;
    assert_ok(sh_trials_open(&trials, folder, SH_DATABASE_WRITE));
    assert_ok(sh_study_parse(&study, "s.yaml", text, strlen(text)));
    assert_ok(sh_trials_take(trials, study, "s.yaml", 1e9));
    sh_study_free(study);
    return trials;
}

static sh_trial loaded(sh_trials *trials, const char *text)
{
    sh_study *study;
    sh_trial trial = {.block = "b"};
    assert_ok(sh_study_parse(&study, "s.yaml", text, strlen(text)));
    memcpy(trial.id, study->trials[0].id, sizeof trial.id);
    sh_study_free(study);
    assert_ok(sh_trials_load(trials, &trial));
    return trial;
}

/* An earlier version's sweep can be continued. */
static void an_earlier_version_lacks_a_setting(void **state)
{
    (void)state;
    static const char text[] = "blocks: [{model: lenet, data: digits, lr: 0.1}]";
    char path[SH_PATH_BYTES], list[SH_SWEEP_LIST_BYTES];
    sh_database *database;
    sh_trials_close(opened(text));
    assert_ok(sh_path_join(path, folder, SH_SWEEP_DATABASE));
    assert_ok(sh_database_open(&database, path, sh_sweep_schema(), SH_DATABASE_WRITE));
    assert_ok(sh_sweep_schema_select(list, database));
    assert_non_null(strstr(list, ", set_lr, "));
    assert_ok(sh_database_run(database, "ALTER TABLE trials DROP COLUMN set_lr"));
    assert_ok(sh_sweep_schema_select(list, database));
    assert_null(strstr(list, "set_lr"));
    assert_non_null(strstr(list, ", NULL, "));
    sh_database_close(database);
    sh_trials *trials = opened(text);
    assert_int_equal(loaded(trials, text).state, SH_TRIAL_WAITING);
    sh_trials_close(trials);
    assert_ok(sh_database_open(&database, path, sh_sweep_schema(), SH_DATABASE_READ));
    assert_ok(sh_sweep_schema_select(list, database));
    assert_non_null(strstr(list, ", set_lr, "));
    sh_database_close(database);
}

static sh_trial saved(sh_trials *trials, const sh_trial *trial, const char *text)
{
    assert_ok(sh_trials_save(trials, trial, 1e9));
    sh_trials_close(trials);
    trials = opened(text);
    const sh_trial found = loaded(trials, text);
    sh_trials_close(trials);
    return found;
}

#define ONE "blocks: [{model: lenet, data: digits}]"
#define BOTH "blocks: [{model: [lenet, mlp:4-2], data: digits}, {model: lenet, data: digits}]"

static void keeps_what_came_of_a_trial(void **state)
{
    (void)state;
    sh_trials *trials = opened(ONE);
    sh_trial trial = loaded(trials, ONE);
    assert_int_equal(trial.state, SH_TRIAL_WAITING);
    assert_true(isnan(trial.figures[SH_TRIAL_FIGURE_val_accuracy]));
    trial.state = SH_TRIAL_DONE;
    trial.attempts = 2;
    trial.spent_seconds = 1.5;
    trial.figures[SH_TRIAL_FIGURE_val_accuracy] = 0.75;
    trial.figures[SH_TRIAL_FIGURE_sent_max] = 7;
    snprintf(trial.weights_hash, sizeof trial.weights_hash, "abc");
    trial.settings[SH_SETTING_model] = "lenet";
    assert_ok(sh_trials_save(trials, &trial, 1e9));
    sh_trials_close(trials);

    trials = opened(BOTH);
    trial = loaded(trials, ONE);
    assert_int_equal(trial.state, SH_TRIAL_DONE);
    assert_int_equal(trial.attempts, 2);
    assert_true(trial.spent_seconds == 1.5);
    assert_true(trial.figures[SH_TRIAL_FIGURE_val_accuracy] == 0.75);
    assert_true(trial.figures[SH_TRIAL_FIGURE_sent_max] == 7);
    assert_true(isnan(trial.figures[SH_TRIAL_FIGURE_seconds]));
    assert_string_equal(trial.weights_hash, "abc");
    sh_trials_close(trials);
}

static void begins_a_broken_trial_again(void **state)
{
    (void)state;
    sh_trials *trials = opened(ONE);
    sh_trial trial = loaded(trials, ONE);
    trial.state = SH_TRIAL_RUNNING;
    trial.attempts = 1;
    trial.spent_seconds = 4;
    trial = saved(trials, &trial, ONE);
    assert_int_equal(trial.state, SH_TRIAL_WAITING);
    assert_int_equal(trial.attempts, 1);
    assert_true(trial.spent_seconds == 4);
}

static void keeps_failures_with_their_message(void **state)
{
    (void)state;
    sh_trials *trials = opened(ONE);
    sh_trial trial = loaded(trials, ONE);
    trial.state = SH_TRIAL_FAILED;
    snprintf(trial.message, sizeof trial.message, "no luck");
    trial = saved(trials, &trial, ONE);
    assert_int_equal(trial.state, SH_TRIAL_FAILED);
    assert_string_equal(trial.message, "no luck");
}

static void keeps_what_a_study_has_no_longer(void **state)
{
    (void)state;
    uint32_t others;
    sh_trials *trials = opened(BOTH);
    assert_ok(sh_trials_others(trials, &others));
    assert_int_equal(others, 0);
    sh_trials_close(trials);
    trials = opened(ONE);
    assert_ok(sh_trials_others(trials, &others));
    assert_int_equal(others, 1);
    sh_trials_close(trials);
}

static void lets_one_sweep_in_at_a_time(void **state)
{
    (void)state;
    sh_trials *other, *trials;
    assert_fails(sh_trials_open(&other, folder, SH_DATABASE_READ), SH_NOT_FOUND, "sweep.db");
    trials = opened(ONE);
    assert_fails(sh_trials_open(&other, folder, SH_DATABASE_WRITE), SH_REFUSED,
                 "another sweep is running there");
    assert_ok(sh_trials_open(&other, folder, SH_DATABASE_READ));
    sh_trials_close(other);
    sh_trials_close(trials);
    assert_ok(sh_trials_open(&other, folder, SH_DATABASE_WRITE));
    sh_trials_close(other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(keeps_what_came_of_a_trial, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_earlier_version_lacks_a_setting, set_up, tear_down),
        cmocka_unit_test_setup_teardown(begins_a_broken_trial_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_failures_with_their_message, set_up, tear_down),
        cmocka_unit_test_setup_teardown(keeps_what_a_study_has_no_longer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(lets_one_sweep_in_at_a_time, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
