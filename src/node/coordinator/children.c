/* SPDX-License-Identifier: Apache-2.0 */
#include "node/coordinator/children.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/thread.h"
#include "net/token.h"

extern char **environ;

typedef struct child {
    sh_children *of;
    pid_t pid;
    char name[SH_NAME_BYTES + 16];
    pthread_t waiter;
    bool waited; /* guarded by the lock; reaped, so the system may reuse its id */
} child;

struct sh_children {
    sh_mailbox *mailbox;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint32_t running; /* guarded by lock */
    uint32_t count;
    child items[];
};

/* Waits for one process without reaping it, so that the system does not reuse its id before
 * `waited` is set. */
static void *wait_for_child(void *argument)
{
    child *self = argument;
    sh_children *children = self->of;
    siginfo_t info = {0};
    char text[SH_MESSAGE_BYTES];
    while (waitid(P_PID, (id_t)self->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR)
        ;
    pthread_mutex_lock(&children->lock);
    self->waited = true;
    waitpid(self->pid, NULL, 0);
    children->running--;
    pthread_cond_broadcast(&children->changed);
    pthread_mutex_unlock(&children->lock);
    snprintf(text, sizeof text, "device %s ended %s %d", self->name,
             info.si_code == CLD_EXITED ? "with exit code" : "by signal", info.si_status);
    sh_mailbox_post_text(children->mailbox, SH_MAIL_CHILD,
                         info.si_code == CLD_EXITED && info.si_status == 0 ? SH_OK : SH_PEER_LOST,
                         text);
    return NULL;
}

static sh_status spawn(child *self, const sh_children_options *options, int input)
{
    char lanes[256], memory[24];
    const char *program = options->program != NULL ? options->program : "/proc/self/exe";
    snprintf(lanes, sizeof lanes, "%s", options->lanes);
    snprintf(memory, sizeof memory, "%" PRIu64, options->memory);
    const bool limited = options->memory != 0;
    char *const arguments[] = {"shoal",   "join", "-",      "--local",  "--quiet",
                               "--lanes", lanes,  "--name", self->name, limited ? "--memory" : NULL,
                               memory,    NULL};
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
    const int error = posix_spawn(&self->pid, program, &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? SH_OK : sh_fail_errno(error, "starting %s as a local device", program);
}

static sh_status start_child(sh_children *children, const sh_children_options *options,
                             uint32_t index)
{
    int ends[2];
    char line[SH_TOKEN_TEXT + 2];
    child *self = &children->items[index];
    *self = (child){.of = children};
    snprintf(self->name, sizeof self->name, "%.*s/%u", SH_NAME_BYTES - 1, options->name, index + 2);
    if (pipe(ends) != 0)
        return sh_fail_errno(errno, "starting a local device");
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    const int length = snprintf(line, sizeof line, "%s\n", options->token);
    const ssize_t wrote = write(ends[1], line, (size_t)length); /* fits into the pipe */
    const sh_status status = wrote == length
                                 ? spawn(self, options, ends[0])
                                 : sh_fail_errno(errno, "handing the token to a local device");
    sh_key_wipe(line, sizeof line);
    close(ends[0]);
    close(ends[1]);
    SH_TRY(status);
    children->count++;
    pthread_mutex_lock(&children->lock);
    children->running++;
    pthread_mutex_unlock(&children->lock);
    const int error = sh_thread_start(&self->waiter, wait_for_child, self);
    if (error == 0)
        return SH_OK;
    kill(self->pid, SIGKILL);
    waitpid(self->pid, NULL, 0);
    children->count--;
    children->running--;
    return sh_fail_errno(error, "starting a thread");
}

sh_status sh_children_start(sh_children **children, const sh_children_options *options)
{
    const size_t bytes = sizeof(sh_children) + options->count * sizeof(child);
    sh_children *fresh = calloc(1, bytes);
    if (fresh == NULL)
        return sh_fail_memory(bytes, "the local devices");
    fresh->mailbox = options->mailbox;
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&fresh->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    for (uint32_t i = 0; i < options->count; i++) {
        const sh_status status = start_child(fresh, options, i);
        if (status != SH_OK) {
            sh_children_stop(fresh, 0);
            return status;
        }
    }
    *children = fresh;
    return SH_OK;
}

void sh_children_stop(sh_children *children, uint32_t patience_ms)
{
    if (children == NULL)
        return;
    const uint64_t end_ns = sh_clock_now_ns(sh_clock_system()) + (uint64_t)patience_ms * 1000000u;
    const struct timespec deadline = {.tv_sec = (time_t)(end_ns / 1000000000u),
                                      .tv_nsec = (long)(end_ns % 1000000000u)};
    pthread_mutex_lock(&children->lock);
    while (children->running > 0 &&
           pthread_cond_timedwait(&children->changed, &children->lock, &deadline) == 0)
        ;
    for (uint32_t i = 0; i < children->count; i++)
        if (!children->items[i].waited)
            kill(children->items[i].pid, SIGKILL);
    pthread_mutex_unlock(&children->lock);
    for (uint32_t i = 0; i < children->count; i++)
        pthread_join(children->items[i].waiter, NULL);
    pthread_cond_destroy(&children->changed);
    pthread_mutex_destroy(&children->lock);
    free(children);
}
