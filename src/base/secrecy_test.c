/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secrecy.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/scratch.h"

/* How a process ends that aborts with core files of any size. */
static int end_of(bool secret)
{
    int outcome;
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct rlimit limit;
        if (chdir(scratch_folder) != 0 || getrlimit(RLIMIT_CORE, &limit) != 0)
            _exit(1);
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_CORE, &limit);
        if (secret)
            sh_secrecy_begin();
        if (prctl(PR_GET_DUMPABLE) != (secret ? 0 : 1))
            _exit(2);
        signal(SIGABRT, SIG_DFL);
        raise(SIGABRT);
        _exit(3);
    }
    assert_int_equal(waitpid(child, &outcome, 0), child);
    return outcome;
}

static void leaves_no_core(void **state)
{
    (void)state;
    const int open = end_of(false), secret = end_of(true);
    assert_true(WIFSIGNALED(open) && WIFSIGNALED(secret));
    assert_int_equal(WTERMSIG(secret), SIGABRT);
    assert_false(WCOREDUMP(secret)); /* `open` leaves one if this system keeps core files */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(leaves_no_core, scratch_set_up, scratch_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
