/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler has no argument of ours, so what it needs is static here: the one place in the tree
 * with mutable globals. They are set before the handler is installed and cleared after it is taken
 * away. A signal may run the handler on any thread, those of libraries included, and two signals on
 * two threads at the same time; so all of it is atomic (and free of locks, as a handler must be),
 * and release waits until no handler is at work with what it takes away.
 *
 * One wish to stop may arrive as two signals: timeout(1) and others signal the process and then its
 * group, microseconds apart. So what comes together counts once.
 */
#include "cli/signals.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/console.h"

static atomic_int received;          /* number of the first signal; 0: none yet */
static _Atomic uint64_t received_ms; /* when it came, at least 1; 0: not yet known */
static _Atomic uint32_t together_of_handler;
static atomic_int at_work; /* handlers */
static sh_stop *_Atomic stop_of_handler;
static const char *_Atomic message_of_handler;

static int exit_of(int number)
{
    return number == SIGINT ? SH_EXIT_INTERRUPTED : SH_EXIT_TERMINATED;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + 1;
}

static bool comes_together(void)
{
    const uint64_t first_ms = received_ms;
    return first_ms == 0 || now_ms() - first_ms < together_of_handler;
}

static void handle_first(void)
{
    received_ms = now_ms();
    sh_stop *stop = stop_of_handler;
    if (stop != NULL)
        sh_stop_request(stop);
    const char *message = message_of_handler;
    const ssize_t wrote = message == NULL ? 0 : write(STDERR_FILENO, message, strlen(message));
    (void)wrote; /* whoever closed standard error does not want to know */
}

static void handle(int number)
{
    const int error = errno;
    int none = 0;
    at_work++;
    if (atomic_compare_exchange_strong(&received, &none, number))
        handle_first();
    else if (!comes_together())
        _exit(exit_of(number));
    at_work--;
    errno = error;
}

void sh_signals_catch(sh_stop *stop, const char *message, uint32_t together_ms)
{
    received = 0;
    received_ms = 0;
    together_of_handler = together_ms;
    stop_of_handler = stop;
    message_of_handler = message;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    /* Both in one handler at a time, so that a SIGTERM within that of a SIGINT is the second. */
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaction(SIGTERM, &action, NULL);
    /* Also where a shell has it ignored for a background job: kill -INT is meant for this one. */
    sigaction(SIGINT, &action, NULL);
}

void sh_signals_release(void)
{
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    stop_of_handler = NULL;
    message_of_handler = NULL;
    while (at_work > 0)
        sched_yield();
}

int sh_signals_exit(void)
{
    return received != 0 ? exit_of(received) : SH_EXIT_FAILURE;
}

void sh_signals_leave_interrupt_to_parent(void)
{
    signal(SIGINT, SIG_IGN);
}
