/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler has no argument of ours, so what it needs is static here: the one place in the tree
 * with mutable globals, all of types that a handler may touch. They are set before the handler is
 * installed and cleared after it is taken away.
 */
#include "cli/signals.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cli/console.h"

static volatile sig_atomic_t received;
static sh_stop *volatile stop_of_handler;
static const char *volatile message_of_handler;

static int exit_of(int number)
{
    return number == SIGINT ? SH_EXIT_INTERRUPTED : SH_EXIT_TERMINATED;
}

static void handle(int number)
{
    const int error = errno;
    if (received != 0)
        _exit(exit_of(number));
    received = number;
    sh_stop_request(stop_of_handler);
    const char *message = message_of_handler;
    if (message != NULL && write(STDERR_FILENO, message, strlen(message)) < 0)
        errno = error; /* whoever closed standard error does not want to know */
    errno = error;
}

void sh_signals_catch(sh_stop *stop, const char *message)
{
    received = 0;
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
}

int sh_signals_exit(void)
{
    return received != 0 ? exit_of(received) : SH_EXIT_FAILURE;
}

void sh_signals_leave_interrupt_to_parent(void)
{
    signal(SIGINT, SIG_IGN);
}
