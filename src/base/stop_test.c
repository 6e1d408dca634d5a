/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stop.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>

#include "base/test.h"

static bool is_readable(const sh_stop *stop)
{
    struct pollfd fd = {.fd = sh_stop_fd(stop), .events = POLLIN};
    return poll(&fd, 1, 0) == 1 && (fd.revents & POLLIN) != 0;
}

static void a_request_shows_in_both_ways_and_stays(void **state)
{
    (void)state;
    sh_stop *stop = NULL, *other = NULL;
    assert_ok(sh_stop_new(&stop));
    assert_ok(sh_stop_new(&other));
    assert_false(sh_stop_requested(stop));
    assert_false(is_readable(stop));
    for (int i = 0; i < 3; i++) {
        sh_stop_request(stop);
        assert_true(sh_stop_requested(stop));
        assert_true(is_readable(stop));
    }
    assert_false(sh_stop_requested(other));
    assert_false(is_readable(other));
    sh_stop_free(stop);
    sh_stop_free(other);
}

static void null_never_asks(void **state)
{
    (void)state;
    assert_false(sh_stop_requested(NULL));
    assert_int_equal(sh_stop_fd(NULL), -1);
    sh_stop_free(NULL);
}

static sh_stop *of_the_signal;

static void on_signal(int number)
{
    (void)number;
    sh_stop_request(of_the_signal);
}

static void a_signal_handler_may_request(void **state)
{
    (void)state;
    struct sigaction before, action = {.sa_handler = on_signal};
    assert_ok(sh_stop_new(&of_the_signal));
    sigaction(SIGUSR1, &action, &before);
    errno = E2BIG;
    raise(SIGUSR1);
    assert_int_equal(errno, E2BIG);
    assert_true(sh_stop_requested(of_the_signal));
    assert_true(is_readable(of_the_signal));
    sigaction(SIGUSR1, &before, NULL);
    sh_stop_free(of_the_signal);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_shows_in_both_ways_and_stays),
        cmocka_unit_test(null_never_asks),
        cmocka_unit_test(a_signal_handler_may_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
