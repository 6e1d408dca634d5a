/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler has no context argument, so its data are static: the only mutable globals in the
 * tree. They are set before the handler's installation and cleared after its removal. Signals may
 * arrive on any thread, libraries' included, and two at once on two threads, so the data are atomic
 * and lock-free, and release waits for active handlers.
 *
 * Watched signals go through a pipe. Blocking them would protect only this thread: they would kill
 * the program on a library's thread.
 *
 * The main thread, to which the system may deliver a signal, may hang in disk access or in a
 * debugger. So a thread reads pending signals from a signalfd and calls the handler if the main
 * thread was not faster.
 *
 * timeout(1) and other programs signal the process and then its group, microseconds apart, so
 * signals that arrive together count once.
 */
#include "cli/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/utf8.h"
#include "cli/console.h"

static atomic_int received;          /* the first signal; 0: none */
static _Atomic uint64_t received_ms; /* its time, at least 1; 0: unknown */
static _Atomic uint32_t together_of_handler;
static atomic_int at_work; /* active handlers */
static sh_stop *_Atomic stop_of_handler;
static const char *_Atomic message_of_handler;
static atomic_int launcher_error = -1; /* the launcher's standard error; -1: unknown */
static int told[2] = {-1, -1};         /* a pipe of signal numbers */
static struct {
    pthread_t thread;
    int pending, over; /* a signalfd; an eventfd that ends the thread */
    bool runs;
} listener;
static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGWINCH};
#define LINE_BYTES 2048
#define LAST_LINE_MS 1000 /* timeout of standard error for the last line */
#define WATCHED (sizeof watched / sizeof *watched)

static int exit_of(int number)
{
    return number == SIGINT   ? SH_EXIT_INTERRUPTED
           : number == SIGHUP ? SH_EXIT_HUNG_UP
                              : SH_EXIT_TERMINATED;
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 + 1;
}

static void handle(int number)
{
    const int error = errno;
    int none = 0;
    at_work++;
    if (atomic_compare_exchange_strong(&received, &none, number)) {
        received_ms = now_ms();
        sh_stop *stop = stop_of_handler;
        if (stop != NULL)
            sh_stop_request(stop);
        const int error_output = launcher_error;
        if (error_output >= 0)
            dup2(error_output, STDERR_FILENO);
        const char *message = message_of_handler;
        const ssize_t wrote = message == NULL ? 0 : write(STDERR_FILENO, message, strlen(message));
        (void)wrote; /* standard error may be closed */
    } else {
        const uint64_t first_ms = received_ms;
        if (first_ms != 0 && now_ms() - first_ms >= together_of_handler)
            _exit(exit_of(number));
    }
    at_work--;
    errno = error;
}

/* The thread sanitizer's runtime (gcc 12) loses a signal that arrives during a thread's first
 * blocking call. This makes that call. */
static void prepare_sanitizer(void)
{
#if defined(__SANITIZE_THREAD__)
    poll(NULL, 0, 0);
#endif
}

/* The mpirun of Open MPI 5 (PRTE) forwards no output after it was asked to end. So later output
 * goes to mpirun's own standard error, if it is on this machine. */
static void find_launcher_error(void)
{
    char path[64];
    if (getenv("PRTE_LAUNCHED") == NULL)
        return;
    snprintf(path, sizeof path, "/proc/%ld/fd/2", (long)getppid());
    launcher_error = open(path, O_WRONLY | O_APPEND | O_NOCTTY | O_CLOEXEC);
}

static bool is_caught(int number)
{
    struct sigaction now;
    return sigaction(number, NULL, &now) == 0 && now.sa_handler == handle;
}

static void *listen_to_signals(void *argument)
{
    struct pollfd ways[] = {{listener.over, POLLIN, 0}, {listener.pending, POLLIN, 0}};
    struct signalfd_siginfo signal;
    (void)argument;
    while (poll(ways, 2, -1) < 0 || ways[0].revents == 0)
        if (read(listener.pending, &signal, sizeof signal) == sizeof signal &&
            is_caught((int)signal.ssi_signo))
            handle((int)signal.ssi_signo);
    return NULL;
}

/* Without a listener, signals wait for the main thread. */
static void start_listener(void)
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < WATCHED; i++)
        if (is_caught(watched[i]))
            sigaddset(&set, watched[i]);
    listener.pending = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    listener.over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    listener.runs = listener.pending >= 0 && listener.over >= 0 &&
                    sh_thread_start(&listener.thread, listen_to_signals, NULL) == 0;
    for (int i = 0; i < 2 && !listener.runs; i++) {
        int *end = i == 0 ? &listener.pending : &listener.over;
        if (*end >= 0)
            close(*end);
    }
}

static void stop_listener(void)
{
    const uint64_t one = 1;
    if (!listener.runs)
        return;
    const ssize_t wrote = write(listener.over, &one, sizeof one);
    (void)wrote; /* a new eventfd accepts it */
    pthread_join(listener.thread, NULL);
    close(listener.pending);
    close(listener.over);
    listener.runs = false;
}

void sh_signals_catch(sh_stop *stop, const char *message, uint32_t together_ms)
{
    prepare_sanitizer();
    find_launcher_error();
    received = 0;
    received_ms = 0;
    together_of_handler = together_ms;
    stop_of_handler = stop;
    message_of_handler = message;
    struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    /* The handler blocks all three, so a SIGTERM during a SIGINT's handler is the second signal. */
    sigaddset(&action.sa_mask, SIGINT);
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGHUP);
    /* nohup(1) ignores it on purpose. */
    struct sigaction before;
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* Even if a shell ignores it for a background job: kill -INT addresses this program. */
    sigaction(SIGINT, &action, NULL);
    start_listener();
}

static void tell(int number)
{
    const int error = errno;
    const unsigned char byte = (unsigned char)number;
    at_work++;
    const ssize_t wrote = write(told[1], &byte, 1); /* a full pipe loses signals */
    (void)wrote;
    at_work--;
    errno = error;
}

bool sh_signals_watch(void)
{
    struct sigaction action = {.sa_handler = tell, .sa_flags = SA_RESTART};
    sigfillset(&action.sa_mask);
    prepare_sanitizer();
    if (pipe(told) != 0)
        return false;
    for (int end = 0; end < 2; end++) {
        fcntl(told[end], F_SETFL, O_NONBLOCK);
        fcntl(told[end], F_SETFD, FD_CLOEXEC);
    }
    for (size_t i = 0; i < WATCHED; i++)
        sigaction(watched[i], &action, NULL);
    return true;
}

int sh_signals_wait(int timeout_ms)
{
    unsigned char number;
    struct pollfd pipe = {.fd = told[0], .events = POLLIN};
    poll(&pipe, 1, timeout_ms); /* an interrupted poll has something to read */
    return read(told[0], &number, 1) == 1 ? number : 0;
}

void sh_signals_release(void)
{
    struct sigaction now;
    stop_listener();
    for (size_t i = 0; i < WATCHED; i++)
        if (sigaction(watched[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            signal(watched[i], SIG_DFL);
    stop_of_handler = NULL;
    message_of_handler = NULL;
    while (at_work > 0)
        sched_yield();
    if (launcher_error >= 0)
        close(launcher_error);
    launcher_error = -1;
    for (int end = 0; end < 2; end++) {
        if (told[end] >= 0)
            close(told[end]);
        told[end] = -1;
    }
}

int sh_signals_exit(void)
{
    return received != 0 ? exit_of(received) : SH_EXIT_FAILURE;
}

void sh_signals_end(const char *text)
{
    char clean[LINE_BYTES], line[LINE_BYTES + 32];
    struct pollfd output = {.fd = STDERR_FILENO, .events = POLLOUT};
    const int length = snprintf(line, sizeof line, "%sshoal: %s\n",
                                sh_console_is_terminal(STDERR_FILENO) ? "\r\033[K" : "",
                                sh_utf8_clean(clean, sizeof clean, text));
    if (poll(&output, 1, LAST_LINE_MS) == 1) { /* not stdio: a hung thread may hold its lock */
        const ssize_t wrote = write(STDERR_FILENO, line, (size_t)length);
        (void)wrote;
    }
    _exit(sh_signals_exit());
}

void sh_signals_leave_interrupt_to_parent(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGHUP, SIG_IGN);
}
