/* SPDX-License-Identifier: Apache-2.0 */
#include "base/test.h"
#include "cli/signals.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stop.h"
#include "cli/console.h"

/* The exit code of a child that raises these signals (ended by 0); 77: it continued. */
static int exit_after(const int *numbers, bool is_local, uint32_t together_ms)
{
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sh_stop *stop;
        if (sh_stop_new(&stop) != SH_OK)
            _exit(99);
        sh_signals_catch(stop, NULL, together_ms);
        if (is_local)
            sh_signals_leave_interrupt_to_parent();
        for (; *numbers != 0; numbers++)
            raise(*numbers);
        sh_signals_release();
        sh_stop_free(stop);
        _exit(sh_signals_exit() == SH_EXIT_FAILURE ? 77 : sh_signals_exit() + 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void the_first_is_noted_and_the_second_ends(void **state)
{
    (void)state;
    static const struct {
        int numbers[3];
        bool is_local;
        uint32_t together_ms;
        int exit; /* 1 more: it continued */
    } cases[] = {
        {{0}, false, 0, 77},
        {{SIGINT}, false, 0, SH_EXIT_INTERRUPTED + 1},
        {{SIGTERM}, false, 0, SH_EXIT_TERMINATED + 1},
        {{SIGHUP}, false, 0, SH_EXIT_HUNG_UP + 1},
        {{SIGHUP}, true, 0, 77},
        {{SIGHUP, SIGHUP}, false, 0, SH_EXIT_HUNG_UP},
        {{SIGTERM, SIGHUP}, false, 0, SH_EXIT_HUNG_UP},
        {{SIGHUP, SIGHUP}, false, 600000, SH_EXIT_HUNG_UP + 1},
        {{SIGINT, SIGINT}, false, 0, SH_EXIT_INTERRUPTED},
        {{SIGINT, SIGTERM}, false, 0, SH_EXIT_TERMINATED},
        {{SIGTERM, SIGTERM}, false, 0, SH_EXIT_TERMINATED},
        {{SIGINT, SIGINT}, true, 0, 77},
        {{SIGINT, SIGTERM}, true, 0, SH_EXIT_TERMINATED + 1},
        {{SIGINT, SIGINT}, false, 600000, SH_EXIT_INTERRUPTED + 1},
        {{SIGTERM, SIGINT}, false, 600000, SH_EXIT_TERMINATED + 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(exit_after(cases[i].numbers, cases[i].is_local, cases[i].together_ms),
                         cases[i].exit);
}

/* As with nohup(1): it continues, also after release. */
static void an_ignored_hangup_stays_ignored(void **state)
{
    (void)state;
    static const int numbers[] = {SIGHUP, SIGHUP, 0};
    signal(SIGHUP, SIG_IGN);
    assert_int_equal(exit_after(numbers, false, 0), 77);
    sh_stop *stop;
    assert_ok(sh_stop_new(&stop));
    sh_signals_catch(stop, NULL, 0);
    sh_signals_release();
    raise(SIGHUP);
    sh_stop_free(stop);
    signal(SIGHUP, SIG_DFL);
}

/* Waits until the pipe's other end is closed. A signal always ends poll(): the thread sanitizer
 * runs a handler after the interrupted call, and read() would continue. */
static void *sleep_long(void *context)
{
    const int *end = context;
    struct pollfd closed = {.fd = *end, .events = POLLIN};
    while (poll(&closed, 1, -1) < 0)
        ;
    return NULL;
}

/* Also signals on another thread. */
static void watched_ones_are_told(void **state)
{
    (void)state;
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
    pthread_t other;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_true(sh_signals_watch());
    assert_int_equal(sh_signals_wait(0), 0);
    assert_int_equal(pthread_create(&other, NULL, sleep_long, &ends[0]), 0);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        assert_int_equal(pthread_kill(other, numbers[i]), 0);
        assert_int_equal(sh_signals_wait(60000), numbers[i]);
    }
    raise(SIGINT);
    raise(SIGTERM);
    assert_int_equal(sh_signals_wait(0), SIGINT);
    assert_int_equal(sh_signals_wait(0), SIGTERM);
    assert_int_equal(sh_signals_wait(0), 0);
    sh_signals_release();
    close(ends[1]);
    assert_int_equal(pthread_join(other, NULL), 0);
    close(ends[0]);
}

/* The main thread blocks all signals, like one that hangs or that a debugger stopped. */
static void they_do_not_need_the_main_thread(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            sh_stop *stop;
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, NULL);
            if (sh_stop_new(&stop) != SH_OK)
                _exit(99);
            sh_signals_catch(stop, NULL, 0);
            kill(getpid(), SIGTERM);
            struct pollfd asked = {.fd = sh_stop_fd(stop), .events = POLLIN};
            while (poll(&asked, 1, -1) < 0)
                ;
            if (i == 1) {
                kill(getpid(), SIGINT);
                while (poll(NULL, 0, -1) < 0)
                    ;
            }
            sh_signals_release();
            sh_stop_free(stop);
            _exit(sh_signals_exit() + 1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status),
                         i == 0 ? SH_EXIT_TERMINATED + 1 : SH_EXIT_INTERRUPTED);
    }
}

static void *hold_error_output(void *context)
{
    flockfile(stderr);
    if (write(*(const int *)context, "", 1) == 1)
        while (poll(NULL, 0, -1) < 0)
            ;
    return NULL;
}

/* A hung call ends with the line and the exit code, although a thread holds standard error. */
static void the_last_line_needs_no_lock(void **state)
{
    (void)state;
#if defined(__SANITIZE_THREAD__)
    skip_because("this sanitizer reports the thread that hangs as leaked, and waits for it");
#endif
    int ends[2];
    char line[256];
    assert_int_equal(pipe(ends), 0);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        sh_stop *stop;
        pthread_t other;
        int held[2];
        char byte;
        dup2(ends[1], STDERR_FILENO);
        if (sh_stop_new(&stop) != SH_OK || pipe(held) != 0)
            _exit(99);
        sh_signals_catch(stop, NULL, 0);
        raise(SIGHUP);
        if (pthread_create(&other, NULL, hold_error_output, &held[1]) != 0 ||
            read(held[0], &byte, 1) != 1)
            _exit(99);
        sh_signals_end("it hangs\nhere");
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), SH_EXIT_HUNG_UP);
    close(ends[1]);
    const ssize_t got = read(ends[0], line, sizeof line - 1);
    assert_true(got > 0);
    line[got] = '\0';
    assert_string_equal(line, "shoal: it hangs?here\n");
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_is_noted_and_the_second_ends),
        cmocka_unit_test(an_ignored_hangup_stays_ignored),
        cmocka_unit_test(they_do_not_need_the_main_thread),
        cmocka_unit_test(the_last_line_needs_no_lock),
        cmocka_unit_test(watched_ones_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
