/* SPDX-License-Identifier: Apache-2.0 */
/*
 * If exec fails, the child sends errno through a pipe, which a successful exec closes. Between fork
 * and exec the child calls only functions that are safe there in a multi-threaded program.
 */
#include "sweep/trial_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/stop.h"
#include "store/file.h"

#define TICK_MS 1000

static sh_status fork_child(pid_t *child, const sh_trial_process *process, int input, int output)
{
    int told[2], error = 0;
    if (pipe(told) != 0)
        return sh_fail_errno(errno, "starting %s", process->arguments[0]);
    fcntl(told[0], F_SETFD, FD_CLOEXEC);
    fcntl(told[1], F_SETFD, FD_CLOEXEC);
    const pid_t parent = getpid();
    *child = fork();
    if (*child == 0) {
        sigset_t none;
        sigemptyset(&none);
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        if (getppid() != parent) /* it died before prctl took effect */
            errno = ECANCELED;
        else if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0 &&
                 dup2(output, STDERR_FILENO) >= 0)
            execv(process->arguments[0], process->arguments);
        error = errno;
        const ssize_t wrote = write(told[1], &error, sizeof error);
        (void)wrote; /* a failure cannot be reported */
        kill(getpid(), SIGKILL);
    }
    error = *child < 0 ? errno : 0;
    close(told[1]);
    if (*child > 0 && read(told[0], &error, sizeof error) != (ssize_t)sizeof error)
        error = 0;
    close(told[0]);
    if (error == 0)
        return SH_OK;
    if (*child > 0)
        waitpid(*child, NULL, 0);
    return sh_fail_errno(error, "%s: cannot be started", process->arguments[0]);
}

static uint64_t now_ms(const sh_trial_process *process)
{
    return sh_clock_now_ns(process->clock) / 1000000u;
}

/* Waits until a stop (if heed_stop) or the deadline. True if the program has ended. */
static bool wait_for(const sh_trial_process *process, int ended, bool heed_stop, uint64_t until_ms)
{
    const uint64_t at_ms = now_ms(process);
    struct pollfd watched[] = {
        {.fd = ended, .events = POLLIN},
        {.fd = heed_stop ? sh_stop_fd(process->stop) : -1, .events = POLLIN}};
    poll(watched, 2, until_ms > at_ms ? (int)(until_ms - at_ms) : 0);
    return (watched[0].revents & POLLIN) != 0;
}

/* Kills the process group if the program does not exit in time. */
static void end(const sh_trial_process *process, pid_t child, int ended)
{
    const uint64_t until_ms = now_ms(process) + SH_TRIAL_PATIENCE_MS;
    kill(child, SIGINT);
    while (now_ms(process) < until_ms)
        if (wait_for(process, ended, false, until_ms))
            return;
    kill(-child, SIGKILL);
}

static sh_status watch(const sh_trial_process *process, pid_t child, int ended)
{
    const uint64_t began_ms = now_ms(process);
    for (uint64_t next_ms = began_ms + TICK_MS;; next_ms += TICK_MS) {
        while (now_ms(process) < next_ms) {
            if (wait_for(process, ended, true, next_ms))
                return SH_OK;
            if (sh_stop_requested(process->stop))
                return end(process, child, ended), sh_fail(SH_STOPPED, "stopped on request");
        }
        if (process->tick == NULL)
            continue;
        const double seconds = (double)(now_ms(process) - began_ms) * 1e-3;
        const sh_status status = process->tick(process->context, seconds);
        if (status != SH_OK)
            return end(process, child, ended), status;
    }
}

sh_status sh_trial_process_run(int *exit_status, const sh_trial_process *process)
{
    pid_t child = -1;
    int how = 0, output = -1;
    sh_status status;
    const int input = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (input < 0)
        SH_TRY_DONE(sh_fail_errno(errno, "/dev/null: cannot be opened"));
    SH_TRY_DONE(sh_file_open_own(&output, process->log, O_WRONLY | O_CREAT | O_TRUNC));
    SH_TRY_DONE(fork_child(&child, process, input, output));
    const int ended = (int)syscall(SYS_pidfd_open, child, 0);
    status = ended < 0 ? sh_fail_errno(errno, "waiting for %s", process->arguments[0])
                       : watch(process, child, ended);
    if (ended < 0)
        kill(-child, SIGKILL);
    else
        close(ended);
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    kill(-child, SIGKILL); /* the rest of its group */
    *exit_status = WIFEXITED(how) ? WEXITSTATUS(how) : 128 + WTERMSIG(how);
done:
    if (output >= 0)
        close(output);
    if (input >= 0)
        close(input);
    return status;
}
