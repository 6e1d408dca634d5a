/* SPDX-License-Identifier: Apache-2.0 */
#include "base/thread.h"

#include <signal.h>

#include "base/test.h"

static void *look_at_mask(void *mask)
{
    pthread_sigmask(SIG_SETMASK, NULL, mask);
    return mask;
}

static void threads_have_all_signals_blocked(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH, SIGCHLD};
    sigset_t theirs, before, after;
    pthread_t thread;
    void *result = NULL;
    sigemptyset(&theirs);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    assert_int_equal(sh_thread_start(&thread, look_at_mask, &theirs), 0);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &theirs);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_int_equal(sigismember(&theirs, numbers[i]), 1);
        assert_int_equal(sigismember(&after, numbers[i]), sigismember(&before, numbers[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_have_all_signals_blocked)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
