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
    int over; /* an eventfd */
};

static int wait_for(struct pollfd *ways, nfds_t count, int timeout_ms)
{
    int ready;
    do
        ready = poll(ways, count, timeout_ms);
    while (ready < 0 && errno == EINTR);
    return ready;
}

static void *keep(void *argument)
{
    const sh_watchdog *watchdog = argument;
    const sh_watchdog_options *options = &watchdog->options;
    struct pollfd ways[] = {{watchdog->over, POLLIN, 0}, {sh_stop_fd(options->stop), POLLIN, 0}};
    const bool looks = options->look != NULL;
    bool asked = false;
    for (;;) {
        const int timeout_ms = looks || asked ? options->patience_ms : -1;
        const int ready = wait_for(ways, asked ? 1 : 2, timeout_ms);
        if (ways[0].revents != 0 || ready < 0)
            return NULL;
        const bool passed = ready == 0;
        asked = asked || ways[1].revents != 0;
        if (looks ? options->look(options->context, asked) : passed)
            options->on_overdue(options->context);
        if (!looks && passed)
            return NULL;
    }
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
    (void)wrote; /* a new eventfd accepts it */
    pthread_join(watchdog->thread, NULL);
    close(watchdog->over);
    free(watchdog);
}
