/* SPDX-License-Identifier: Apache-2.0 */
#include "report/listing.h"

#include <math.h>

#include "report/history_fixture.h"

static const char *inside(const char *name)
{
    static char path[SH_PATH_BYTES];
    assert_ok(sh_path_join(path, scratch_folder, name));
    return path;
}

static void lists_runs_newest_first(void **state)
{
    (void)state;
    static const char sql[] = "UPDATE sessions SET started = 2000, ended = 2010, status = ";
    char rows[1024];
    history_make(scratch_folder, "killed", HISTORY_RUN HISTORY_DEVICES HISTORY_STEPS);
    snprintf(rows, sizeof rows, HISTORY_RUN "%s'complete'", sql);
    history_make(scratch_folder, "complete", rows);
    snprintf(rows, sizeof rows, HISTORY_RUN "%s'failed: loss is NaN', started = 2009", sql);
    history_make(scratch_folder, "failed", rows);
    history_make(scratch_folder, "again",
                 HISTORY_RUN "UPDATE sessions SET ended = 1005, status = 'stopped';"
                             "INSERT INTO sessions VALUES (2, '0.1.0', 1100, 1103, 'stopped');"
                             "UPDATE sessions SET started = 500, ended = 505 WHERE session = 1");
    assert_ok(sh_folder_make(inside("other")));
    assert_ok(sh_folder_make(inside("bare")));
    scratch_write(inside("bare/" SH_RUN_JOB), "{}", 2);
    sh_run_list list;
    assert_ok(sh_runs_list(&list, scratch_folder));
    static const struct {
        const char *name;
        sh_run_state state;
        const char *reason;
        double seconds;
    } expected[] = {
        {"failed", SH_STATE_FAILED, "loss is NaN", 1},
        {"complete", SH_STATE_COMPLETE, "", 10},
        {"killed", SH_STATE_KILLED, "", 12},
        {"again", SH_STATE_STOPPED, "", 8},
        {"bare", SH_STATE_UNREADABLE, "/bare: has no run.db: it has no record", NAN},
    };
    assert_int_equal(list.count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < list.count; i++) {
        const sh_run_about *run = &list.runs[i];
        assert_string_equal(run->name, expected[i].name);
        assert_int_equal(run->state, expected[i].state);
        assert_non_null(strstr(run->reason, expected[i].reason));
        assert_true(isnan(expected[i].seconds) ? isnan(run->seconds)
                                               : run->seconds == expected[i].seconds);
    }
    sh_run_list_release(&list);
    assert_null(list.runs);
}

static void says_how_far_a_run_is(void **state)
{
    (void)state;
    history_make(scratch_folder, "a", HISTORY_RUN HISTORY_DEVICES HISTORY_STEPS);
    char path[SH_PATH_BYTES];
    snprintf(path, sizeof path, "%.4000s//", inside("a"));
    sh_run_list list;
    assert_ok(sh_runs_list(&list, path));
    assert_int_equal(list.count, 1);
    const sh_run_about *run = &list.runs[0];
    assert_string_equal(run->name, "a");
    assert_string_equal(run->folder, inside("a"));
    assert_string_equal(run->model, "lenet");
    assert_string_equal(run->data, "digits");
    assert_int_equal(run->devices, 3);
    assert_true(run->step == 12 && run->steps == 20 && run->epoch == 2 && run->epochs == 2);
    assert_true(run->val_loss == 0.45 && run->val_accuracy == 0.875 && run->started == 1000);
    sh_run_list_release(&list);

    history_make(scratch_folder, "b", HISTORY_RUN);
    assert_ok(sh_runs_list(&list, inside("b")));
    run = &list.runs[0];
    assert_true(run->step == 0 && run->epoch == 0 && run->devices == 0 && run->seconds == 0);
    assert_true(isnan(run->val_loss) && isnan(run->val_accuracy));
    sh_run_list_release(&list);
}

static void the_lock_tells_who_runs(void **state)
{
    (void)state;
    sh_run *run;
    sh_run_list list;
    history_make(scratch_folder, "b", HISTORY_RUN);
    assert_ok(sh_run_open(&run, &(sh_run_options){.path = inside("a")}));
    history_make(scratch_folder, "a", "");
    assert_ok(sh_runs_list(&list, scratch_folder));
    assert_string_equal(list.runs[0].name, "a");
    assert_int_equal(list.runs[0].state, SH_STATE_RUNNING);
    assert_true(isnan(list.runs[0].started) && list.runs[0].reason[0] == '\0');
    sh_run_list_release(&list);
    history_make(scratch_folder, "a", HISTORY_RUN);
    assert_ok(sh_runs_list(&list, inside("a")));
    assert_int_equal(list.runs[0].state, SH_STATE_RUNNING);
    sh_run_list_release(&list);
    sh_run_close(run);
    assert_ok(sh_runs_list(&list, inside("a")));
    assert_int_equal(list.runs[0].state, SH_STATE_KILLED);
    sh_run_list_release(&list);
}

static void says_what_is_wrong(void **state)
{
    (void)state;
    sh_run_list list = {.count = 7};
    sh_database *database;
    char text[2000];
    memset(text, 'x', sizeof text);
    assert_fails(sh_runs_list(&list, inside("none")), SH_NOT_FOUND, "/none: cannot list: No such");
    assert_int_equal(list.count, 7);
    assert_fails(sh_listing_open(&database, inside("none")), SH_NOT_FOUND, "/none: no such folder");
    assert_fails(sh_listing_open(&database, scratch_folder), SH_NOT_FOUND,
                 "is not the folder of a run");

    history_make(scratch_folder, "empty", "");
    history_make(scratch_folder, "version", HISTORY_RUN "PRAGMA user_version = 9");
    history_make(scratch_folder, "noise", HISTORY_RUN);
    scratch_write(inside("noise/" SH_RUN_DATABASE), text, sizeof text);
    history_make(scratch_folder, "nothing", HISTORY_RUN);
    scratch_write(inside("nothing/" SH_RUN_DATABASE), "", 0);
    char version[96];
    snprintf(version, sizeof version,
             "/version/run.db: its schema has version 9, this shoal knows version %u",
             sh_schema_run()->version);
    const char *const reasons[] = {
        "/empty: ended before its training began",
        "/noise/run.db is not a database",
        "/nothing/run.db is empty: its writer has just started",
        version,
    };
    assert_ok(sh_runs_list(&list, scratch_folder));
    assert_int_equal(list.count, sizeof reasons / sizeof *reasons);
    for (size_t i = 0; i < list.count; i++) {
        assert_int_equal(list.runs[i].state, SH_STATE_UNREADABLE);
        assert_non_null(strstr(list.runs[i].reason, reasons[i]));
    }
    sh_run_list_release(&list);
}

static void says_that_one_is_damaged(void **state)
{
    (void)state;
    history_make(scratch_folder, "a", HISTORY_RUN HISTORY_DEVICES HISTORY_STEPS);
    FILE *file = fopen(inside("a/" SH_RUN_DATABASE), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, 4096, SEEK_SET), 0);
    for (int i = 0; i < 30000; i++)
        assert_int_equal(fputc(0xff, file), 0xff);
    assert_int_equal(fclose(file), 0);
    sh_run_list list;
    assert_ok(sh_runs_list(&list, scratch_folder));
    assert_int_equal(list.runs[0].state, SH_STATE_UNREADABLE);
    assert_non_null(strstr(list.runs[0].reason, "/a/run.db is damaged"));
    sh_run_list_release(&list);
}

static void reads_where_nobody_can_write(void **state)
{
    (void)state;
    scratch_mount(scratch_folder, 1 << 20);
    history_make(scratch_folder, "a", HISTORY_RUN HISTORY_DEVICES HISTORY_STEPS);
    assert_int_equal(mount(NULL, scratch_folder, NULL, MS_REMOUNT | MS_RDONLY, NULL), 0);
    sh_run_list list;
    sh_run_snapshot snapshot;
    assert_ok(sh_runs_list(&list, scratch_folder));
    assert_int_equal(list.runs[0].state, SH_STATE_KILLED);
    assert_int_equal(list.runs[0].step, 12);
    sh_run_list_release(&list);
    assert_ok(sh_run_look(&snapshot, inside("a")));
    assert_int_equal(snapshot.device_count, 3);
    sh_run_snapshot_release(&snapshot);
    scratch_unmount(scratch_folder);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, scratch_set_up, scratch_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FOLDER(lists_runs_newest_first),  WITH_FOLDER(says_how_far_a_run_is),
        WITH_FOLDER(the_lock_tells_who_runs),  WITH_FOLDER(says_what_is_wrong),
        WITH_FOLDER(says_that_one_is_damaged), WITH_FOLDER(reads_where_nobody_can_write),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
