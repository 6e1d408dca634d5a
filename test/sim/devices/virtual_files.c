/* SPDX-License-Identifier: Apache-2.0 */
/* Event files (eventfd) without the system, because each switch of threads asks which are readable.
 * The machine's figures are not available: they are no part of a course, and slow to read. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#include "monitor/probe.h"
#include "store/run.h"
#include "virtual_threads.h"

#define FILES 256
#define FIRST_FILE 1000000 /* above those of the system */

#define WRAPPED(result, name, arguments)                                                           \
    result __real_##name arguments;                                                                \
    result __wrap_##name arguments;
WRAPPED(int, eventfd, (unsigned, int))
WRAPPED(ssize_t, read, (int, void *, size_t))
WRAPPED(ssize_t, write, (int, const void *, size_t))
WRAPPED(int, close, (int))
WRAPPED(ssize_t, pwrite64, (int, const void *, size_t, off_t))
WRAPPED(ssize_t, writev, (int, const struct iovec *, int))
WRAPPED(int, fsync, (int))
WRAPPED(int, flock, (int, int))
WRAPPED(void, sh_run_log_sink, (void *, sh_log_level, const char *))
WRAPPED(uint64_t, sh_process_peak_rss_bytes, (void))
WRAPPED(bool, sh_probe_text, (const sh_probe *, char *, size_t))
WRAPPED(bool, sh_probe_line, (const sh_probe *, char *, size_t))

typedef struct event_file {
    bool open, one_by_one;
    uint64_t count;
} event_file;

static event_file files[FILES];

static event_file *file_of(int fd)
{
    return fd < FIRST_FILE ? NULL : &files[fd - FIRST_FILE];
}

int __wrap_eventfd(unsigned count, int flags)
{
    if (!virtual_has_begun())
        return __real_eventfd(count, flags);
    for (int i = 0; i < FILES; i++)
        if (!files[i].open) {
            files[i] = (event_file){
                .open = true, .one_by_one = (flags & EFD_SEMAPHORE) != 0, .count = count};
            return FIRST_FILE + i;
        }
    errno = EMFILE;
    return -1;
}

ssize_t __wrap_read(int fd, void *place, size_t bytes)
{
    event_file *file = file_of(fd);
    if (file == NULL)
        return __real_read(fd, place, bytes);
    if (file->count == 0) {
        errno = EAGAIN;
        return -1;
    }
    const uint64_t taken = file->one_by_one ? 1 : file->count;
    *(uint64_t *)place = taken;
    file->count -= taken;
    return sizeof taken;
}

ssize_t __wrap_write(int fd, const void *place, size_t bytes)
{
    event_file *file = file_of(fd);
    if (file == NULL)
        return __real_write(fd, place, bytes);
    file->count += *(const uint64_t *)place;
    return sizeof file->count;
}

int __wrap_close(int fd)
{
    event_file *file = file_of(fd);
    if (file == NULL)
        return __real_close(fd);
    file->open = false;
    return 0;
}

int virtual_files_poll(struct pollfd *fds, nfds_t count)
{
    int ready = 0;
    for (nfds_t i = 0; i < count; i++) {
        const event_file *file = file_of(fds[i].fd);
        if (file == NULL && fds[i].fd >= 0)
            abort(); /* nobody waits for a file of the system */
        fds[i].revents = file != NULL && file->count > 0 ? POLLIN & fds[i].events : 0;
        ready += fds[i].revents != 0;
    }
    return ready;
}

/* ---- the disk of device 0 -------------------------------------------------------------------- */

#define LATELY_NS (10 * 1000 * VIRTUAL_MS)

static bool disk_full, disk_hangs;
static uint64_t full_until_ns;

void virtual_disk(bool full, bool hangs)
{
    if (disk_full && !full)
        full_until_ns = virtual_now_ns();
    disk_full = full;
    disk_hangs = hangs;
}

bool virtual_disk_was_full(void)
{
    return disk_full || (full_until_ns > 0 && virtual_now_ns() - full_until_ns < LATELY_NS);
}

/* Waits while the disk hangs; false: it is full. */
static bool disk_takes(void)
{
    const uint32_t device = virtual_this_device();
    if (!virtual_has_begun() || (device != 0 && device != VIRTUAL_AGAIN))
        return true;
    while (disk_hangs)
        virtual_sleep(50 * VIRTUAL_MS);
    if (disk_full)
        errno = ENOSPC;
    return !disk_full;
}

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t count, off_t offset)
{
    return disk_takes() ? __real_pwrite64(fd, bytes, count, offset) : -1;
}

ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
    return disk_takes() ? __real_writev(fd, parts, count) : -1;
}

/* The system keeps the locks of a device that was killed, because its process lives. */
int __wrap_flock(int fd, int how)
{
    return virtual_has_begun() ? 0 : __real_flock(fd, how);
}

int __wrap_fsync(int fd)
{
    return disk_takes() ? __real_fsync(fd) : -1;
}

/* All devices share the lock of the log, which a write that hangs would hold. */
void __wrap_sh_run_log_sink(void *run, sh_log_level level, const char *line)
{
    if (!disk_hangs)
        __real_sh_run_log_sink(run, level, line);
}

/* ---- figures of the machine ------------------------------------------------------------------ */

uint64_t __wrap_sh_process_peak_rss_bytes(void)
{
    return 64 << 20;
}

bool __wrap_sh_probe_text(const sh_probe *probe, char *text, size_t bytes)
{
    return !virtual_has_begun() && __real_sh_probe_text(probe, text, bytes);
}

bool __wrap_sh_probe_line(const sh_probe *probe, char *line, size_t bytes)
{
    return !virtual_has_begun() && __real_sh_probe_line(probe, line, bytes);
}
