/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/watchdog.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/thread.h"

struct sh_watchdog {
    sh_watchdog_options options;
    pthread_t thread;
    int over; /* an eventfd: the course has ended */
};

/* Whether `descriptor` becomes readable before the course is over; -1: it never does. */
static bool comes_first(const sh_watchdog *watchdog, int descriptor, int timeout_ms,
                        bool *timed_out)
{
    struct pollfd ways[] = {{watchdog->over, POLLIN, 0}, {descriptor, POLLIN, 0}};
    int got;
    do
        got = poll(ways, 2, timeout_ms);
    while (got < 0 && errno == EINTR);
    *timed_out = got == 0;
    return ways[0].revents == 0 && ways[1].revents != 0;
}

static void *keep(void *argument)
{
    const sh_watchdog *watchdog = argument;
    bool overdue;
    if (!comes_first(watchdog, sh_stop_fd(watchdog->options.stop), -1, &overdue))
        return NULL;
    (void)comes_first(watchdog, -1, watchdog->options.patience_ms, &overdue);
    if (overdue)
        watchdog->options.on_overdue(watchdog->options.context);
    return NULL;
}

sh_status sh_watchdog_start(sh_watchdog **watchdog, const sh_watchdog_options *options)
{
    sh_watchdog *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a watchdog");
    fresh->options = *options;
    fresh->over = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int error = fresh->over < 0 ? errno : 0;
    if (error == 0)
        error = sh_thread_start(&fresh->thread, keep, fresh);
    if (error != 0) {
        if (fresh->over >= 0)
            close(fresh->over);
        free(fresh);
        return sh_fail_errno(error, "starting a watchdog");
    }
    *watchdog = fresh;
    return SH_OK;
}

void sh_watchdog_stop(sh_watchdog *watchdog)
{
    const uint64_t one = 1;
    if (watchdog == NULL)
        return;
    const ssize_t wrote = write(watchdog->over, &one, sizeof one);
    (void)wrote; /* a fresh eventfd takes it */
    pthread_join(watchdog->thread, NULL);
    close(watchdog->over);
    free(watchdog);
}
