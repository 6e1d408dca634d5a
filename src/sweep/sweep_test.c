/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps with a script in place of shoal, which does not train. */
#include "shoal/sweep.h"

#include <stdlib.h>
#include <sys/stat.h>

#include "base/scratch.h"
#include "shoal/report.h"
#include "store/file.h"

static char folder[SCRATCH_BYTES], file[SH_PATH_BYTES], program[SH_PATH_BYTES], run[SH_PATH_BYTES],
    diary[SH_PATH_BYTES];

/* Called as: train --quiet --run DIR --json FILE MODEL ... */
static const char script[] =
    "#!/bin/sh\n"
    "dir=$(dirname \"$4\")\n"
    "echo \"$7\" >> \"$dir/../../../diary\"\n"
    "[ \"$7\" != bad ] || { echo 'shoal: no such model' >&2; exit 1; }\n"
    "echo '{\"status\": \"complete\", \"weights_hash\": \"h\"}' > \"$6\"\n";

static void write_file(const char *path, const char *text)
{
    assert_ok(sh_file_replace(path, text, strlen(text)));
}

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    assert_ok(sh_path_join(file, folder, "study.yaml"));
    assert_ok(sh_path_join(program, folder, "program"));
    assert_ok(sh_path_join(run, folder, "run"));
    assert_ok(sh_path_join(diary, folder, "diary"));
    write_file(program, script);
    assert_int_equal(chmod(program, 0700), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static sh_sweep_options options_for(const char *text)
{
    write_file(file, text);
    return (sh_sweep_options){.file = file, .folder = run, .program = program};
}

static void assert_trained(const char *expected)
{
    char *text = NULL;
    if (expected[0] == '\0') {
        assert_int_not_equal(access(diary, F_OK), 0);
        return;
    }
    assert_ok(sh_file_read(&text, NULL, diary, 1000));
    assert_string_equal(text, expected);
    free(text);
    assert_int_equal(remove(diary), 0);
}

static void assert_counts(const sh_sweep_options *options, unsigned done, unsigned failed,
                          unsigned waiting, unsigned others)
{
    sh_sweep_result result;
    assert_ok(sh_sweep(options, &result));
    assert_int_equal(result.done, done);
    assert_int_equal(result.failed, failed);
    assert_int_equal(result.waiting, waiting);
    assert_int_equal(result.others, others);
    sh_sweep_result_release(&result);
}

#define STUDY(models) "blocks: [{model: [" models "], data: digits}, {model: b, data: digits}]"

static void does_each_trial_once(void **state)
{
    (void)state;
    sh_sweep_options options = options_for(STUDY("a, bad, b"));
    options.list = true;
    assert_counts(&options, 0, 0, 4, 0);
    options.list = false;
    options.only = "model=a";
    assert_counts(&options, 1, 0, 3, 0);
    assert_trained("a\n");
    options.only = NULL;
    assert_counts(&options, 3, 1, 0, 0); /* b occurs in the study twice */
    assert_trained("bad\nb\n");
    assert_counts(&options, 3, 1, 0, 0);
    assert_trained("");
    options.retry = true;
    assert_counts(&options, 3, 1, 0, 0);
    assert_trained("bad\n");
}

static void follows_a_study_that_changes(void **state)
{
    (void)state;
    sh_sweep_options options = options_for(STUDY("a, b"));
    assert_counts(&options, 3, 0, 0, 0);
    assert_trained("a\nb\n");
    options = options_for(STUDY("c, b"));
    assert_counts(&options, 3, 0, 0, 1);
    assert_trained("c\n");
    options = options_for(STUDY("a, b, c"));
    assert_counts(&options, 4, 0, 0, 0);
    assert_trained("");
}

static void count_up(void *context, const sh_sweep_event *event)
{
    unsigned *seen = context;
    if (event->kind != SH_SWEEP_END)
        return;
    assert_int_equal(event->number, ++*seen);
    assert_int_equal(event->count, 3);
    assert_int_equal(event->trial->state, SH_TRIAL_DONE);
}

static void counts_what_there_is_to_do(void **state)
{
    (void)state;
    unsigned seen = 0;
    sh_sweep_options options = options_for(STUDY("a, b, c"));
    options.observer = count_up;
    options.context = &seen;
    assert_counts(&options, 4, 0, 0, 0);
    assert_int_equal(seen, 3);
}

static void begin_and_stop(void *context, const sh_sweep_event *event)
{
    if (event->kind == SH_SWEEP_END && event->number == 1)
        sh_stop_request(context);
}

static void stops_between_trials(void **state)
{
    (void)state;
    sh_sweep_result result;
    sh_sweep_options options = options_for(STUDY("a, b, c"));
    assert_ok(sh_stop_new(&options.stop));
    options.observer = begin_and_stop;
    options.context = options.stop;
    assert_fails(sh_sweep(&options, &result), SH_STOPPED, "stopped");
    assert_int_equal(result.done, 1);
    assert_int_equal(result.waiting, 3);
    sh_sweep_result_release(&result);
    sh_stop_free(options.stop);
    assert_trained("a\n");
}

static void prints_tables(void **state)
{
    (void)state;
    char *text;
    sh_sweep_options options = options_for(STUDY("a, bad"));
    assert_fails(sh_sweep_tables(&text, run, false), SH_NOT_FOUND, "sweep.db");
    assert_counts(&options, 2, 1, 0, 0);
    assert_ok(sh_sweep_tables(&text, run, true));
    assert_non_null(strstr(text, "**block 1**\n\ndigits\n\n| model | "));
    assert_non_null(strstr(text, "  bad | failed: exit status 1: no such model |"));
    assert_non_null(strstr(text, "**block 2**\n\nb, digits\n\n"));
    free(text);
    const char *const folders[] = {run};
    sh_report_options asked = {.runs = folders, .run_count = 1, .format = SH_REPORT_text};
    assert_ok(sh_report(&asked, &text));
    assert_non_null(strstr(text, "\nb, digits\n\n"));
    free(text);
    asked.format = SH_REPORT_html;
    assert_fails(sh_report(&asked, &text), SH_UNSUPPORTED, "is a sweep, reported as text");
}

static void refuses_before_it_begins(void **state)
{
    (void)state;
    sh_sweep_result result;
    sh_sweep_options options = options_for(STUDY("a") "\nlab: nowhere");
    assert_fails(sh_sweep(&options, &result), SH_NOT_FOUND, "nowhere: is not the lab's program");
    options = options_for("blocks: [{model: a, data: digits}, {model: b, data: $SHOAL_TEST_NONE}]");
    assert_fails(sh_sweep(&options, &result), SH_NOT_FOUND, "$SHOAL_TEST_NONE: no such");
    options.only = "colour=red";
    assert_fails(sh_sweep(&options, &result), SH_INVALID, "colour=red");
    options = options_for("blocks: 3");
    assert_fails(sh_sweep(&options, &result), SH_FORMAT, "study.yaml:1:9: 'blocks' must be");
    options.file = "/nowhere.yaml";
    assert_fails(sh_sweep(&options, &result), SH_NOT_FOUND, "/nowhere.yaml");
    assert_trained("");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(does_each_trial_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(follows_a_study_that_changes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(counts_what_there_is_to_do, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stops_between_trials, set_up, tear_down),
        cmocka_unit_test_setup_teardown(prints_tables, set_up, tear_down),
        cmocka_unit_test_setup_teardown(refuses_before_it_begins, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
