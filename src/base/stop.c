/* SPDX-License-Identifier: Apache-2.0 */
#include "base/stop.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.h"

struct sh_stop {
    atomic_bool requested; /* lock-free, so safe in a signal handler */
    int fd;
};

sh_status sh_stop_new(sh_stop **stop)
{
    sh_stop *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a stop request");
    fresh->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fresh->fd < 0) {
        const int error = errno;
        free(fresh);
        return sh_fail_errno(error, "making a stop request");
    }
    *stop = fresh;
    return SH_OK;
}

void sh_stop_request(sh_stop *stop)
{
    const int saved = errno; /* a signal handler must preserve it */
    const uint64_t one = 1;
    atomic_store(&stop->requested, true);
    const ssize_t wrote = write(stop->fd, &one, sizeof one);
    (void)wrote; /* a full counter is readable */
    errno = saved;
}

void sh_stop_free(sh_stop *stop)
{
    if (stop == NULL)
        return;
    close(stop->fd);
    free(stop);
}

bool sh_stop_requested(const sh_stop *stop)
{
    return stop != NULL && atomic_load(&stop->requested);
}

int sh_stop_fd(const sh_stop *stop)
{
    return stop == NULL ? -1 : stop->fd;
}
