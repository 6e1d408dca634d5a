/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/write_failures.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/scratch.h"

#define SECOND 1000000000ull

static sh_status fails_as(sh_status status)
{
    return status == SH_OK ? SH_OK : sh_fail(status, "last: cannot write");
}

static const struct turn {
    uint64_t at_s;
    sh_status status, expected;
    const char *says;
    bool due;
} turns[] = {
    {0, SH_OK, SH_OK, "", false},
    {1, SH_NO_SPACE, SH_OK, "last: cannot write: training continues and retries every 5 s", false},
    {5, SH_NO_SPACE, SH_OK, "", false},
    {10, SH_IO, SH_OK, "", true},
    {16, SH_OK, SH_OK, "checkpoints can be written again", true},
    {17, SH_OK, SH_OK, "", false},
    {18, SH_PERMISSION, SH_PERMISSION, "", false},
    {19, SH_IO, SH_OK, "last: cannot write: training continues", false},
};

static void each_change_is_said_once(void **state)
{
    (void)state;
    sh_write_failures all = {0};
    for (size_t i = 0; i < sizeof turns / sizeof *turns; i++) {
        const struct turn *t = &turns[i];
        char text[SH_MESSAGE_BYTES];
        assert_int_equal(
            sh_write_failures_is_due(&all, SH_WRITE_FAILURE_CHECKPOINT, t->at_s * SECOND), t->due);
        assert_int_equal(sh_write_failures_note(&all, SH_WRITE_FAILURE_CHECKPOINT,
                                                fails_as(t->status), t->at_s * SECOND, text),
                         t->expected);
        assert_int_equal(strncmp(text, t->says, strlen(t->says)), 0);
        assert_int_equal(text[0] == '\0', t->says[0] == '\0');
    }
}

static void lines_wait_for_the_disk(void **state)
{
    (void)state;
    sh_write_failures all = {0};
    sh_run *run;
    char folder[SCRATCH_BYTES + 8], path[SH_PATH_BYTES], line[3000], text[SH_MESSAGE_BYTES];
    char *read;
    snprintf(folder, sizeof folder, "%s/disk", scratch_folder);
    assert_int_equal(mkdir(folder, 0700), 0);
    scratch_mount(folder, 65536);
    assert_ok(sh_run_open(&run, &(sh_run_options){.path = folder}));
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    unsigned written = 0;
    sh_status status = SH_OK;
    for (; written < 100 && status == SH_OK; written += status == SH_OK)
        status = sh_write_failures_append(&all, run, line);
    assert_int_equal(status, SH_NO_SPACE);
    assert_ok(sh_write_failures_note(&all, SH_WRITE_FAILURE_METRICS, status, 0, text));
    assert_int_equal(sh_write_failures_append(&all, run, "later"), SH_NO_SPACE);
    assert_true(sh_write_failures_left(&all, text));
    assert_non_null(strstr(text, "2 lines of metrics.jsonl were never written: "));
    assert_ok(sh_run_path(run, SH_RUN_METRICS, path));
    assert_int_equal(truncate(path, 0), 0);
    assert_ok(sh_write_failures_append(&all, run, NULL));
    assert_false(sh_write_failures_left(&all, text));
    assert_ok(sh_file_read(&read, NULL, path, 65536));
    assert_string_equal(strchr(read, '\n'), "\nlater\n");
    free(read);
    sh_write_failures_release(&all);
    sh_run_close(run);
    scratch_unmount(folder);
}

/* The number of lost lines is reported. */
static void too_many_lines_are_counted(void **state)
{
    (void)state;
    sh_write_failures all = {0};
    sh_run *run;
    char path[SH_PATH_BYTES], text[SH_MESSAGE_BYTES];
    assert_ok(sh_run_open(&run, &(sh_run_options){.path = scratch_folder}));
    assert_ok(sh_run_path(run, SH_RUN_METRICS, path));
    assert_int_equal(mkdir(path, 0700), 0);
    for (unsigned i = 0; i < SH_WRITE_FAILURES_LINES + 3; i++)
        assert_int_not_equal(sh_write_failures_append(&all, run, "line"), SH_OK);
    assert_int_equal(all.line_count, SH_WRITE_FAILURES_LINES);
    assert_true(sh_write_failures_left(&all, text));
    assert_non_null(strstr(text, "259 lines of metrics.jsonl were never written"));
    sh_write_failures_release(&all);
    sh_run_close(run);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_change_is_said_once),
        cmocka_unit_test_setup_teardown(lines_wait_for_the_disk, scratch_set_up, scratch_tear_down),
        cmocka_unit_test_setup_teardown(too_many_lines_are_counted, scratch_set_up,
                                        scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
