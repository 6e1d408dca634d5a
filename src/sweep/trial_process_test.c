/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep/trial_process.h"

#include <signal.h>
#include <stdlib.h>

#include "base/scratch.h"
#include "base/stop.h"
#include "store/file.h"

static char folder[SCRATCH_BYTES], log_path[SH_PATH_BYTES];

static int set_up(void **state)
{
    (void)state;
    scratch_make(folder);
    return sh_path_join(log_path, folder, "log") == SH_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    scratch_remove(folder);
    return 0;
}

static sh_trial_process shell(char **arguments)
{
    return (sh_trial_process){.arguments = arguments, .log = log_path, .clock = sh_clock_system()};
}

static void runs_it_to_its_end(void **state)
{
    (void)state;
    static const struct {
        const char *script;
        int status;
        const char *printed;
    } cases[] = {{"cat; echo one; echo two >&2", 0, "one\ntwo\n"},
                 {"exit 3", 3, ""},
                 {"kill -TERM $$", 128 + SIGTERM, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text;
        int status = -1;
        const sh_trial_process process =
            shell((char *[]){"/bin/sh", "-c", (char *)(uintptr_t)cases[i].script, NULL});
        assert_ok(sh_trial_process_run(&status, &process));
        assert_int_equal(status, cases[i].status);
        assert_ok(sh_file_read(&text, NULL, log_path, 100));
        assert_string_equal(text, cases[i].printed);
        free(text);
    }
}

static void says_why_it_cannot_be_started(void **state)
{
    (void)state;
    int status;
    sh_trial_process process = shell((char *[]){"/nowhere/at-all", NULL});
    assert_fails(sh_trial_process_run(&status, &process), SH_NOT_FOUND,
                 "/nowhere/at-all: cannot be started");
    process.log = "/nowhere/log";
    assert_fails(sh_trial_process_run(&status, &process), SH_NOT_FOUND,
                 "/nowhere/log: cannot open");
}

/* A clock that jumps, so that the test need not wait for a second. */
static uint64_t jump(void *context)
{
    uint64_t *now_ns = context;
    return *now_ns += 600000000u;
}

static sh_status fail_soon(void *context, double seconds)
{
    unsigned *left = context;
    assert_true(seconds >= 1);
    return --*left > 0 ? SH_OK : sh_fail(SH_IO, "the disk is gone");
}

static void ends_it_where_a_tick_fails(void **state)
{
    (void)state;
    int status;
    unsigned left = 3;
    uint64_t now_ns = 0;
    const sh_clock clock = {jump, &now_ns};
    sh_trial_process process = shell((char *[]){"/bin/sh", "-c", "exec sleep 1000", NULL});
    process.clock = &clock;
    process.tick = fail_soon;
    process.context = &left;
    assert_fails(sh_trial_process_run(&status, &process), SH_IO, "the disk is gone");
    assert_int_equal(left, 0);
}

static void ends_it_on_request(void **state)
{
    (void)state;
    int status;
    sh_trial_process process =
        shell((char *[]){"/bin/sh", "-c", "trap 'exit 7' INT; while :; do sleep 0.01; done", NULL});
    assert_ok(sh_stop_new(&process.stop));
    sh_stop_request(process.stop);
    assert_fails(sh_trial_process_run(&status, &process), SH_STOPPED, "stopped");
    sh_stop_free(process.stop);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(runs_it_to_its_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(says_why_it_cannot_be_started, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_it_where_a_tick_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(ends_it_on_request, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
