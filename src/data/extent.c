/* SPDX-License-Identifier: Apache-2.0 */
#include "data/extent.h"

#include <errno.h>
#include <unistd.h>

#define TOUCHED 8192 /* bytes per call; enough for a small image */

sh_status sh_extent_read(size_t *got, int fd, uint64_t offset, uint8_t *bytes, size_t count)
{
    size_t done = 0;
    while (done < count) {
        const ssize_t more = pread(fd, bytes + done, count - done, (off_t)(offset + done));
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0)
            return sh_fail_errno(errno, "cannot read it");
        if (more == 0)
            break;
        done += (size_t)more;
    }
    *got = done;
    return SH_OK;
}

sh_status sh_extent_read_all(int fd, uint64_t offset, uint8_t *bytes, size_t count)
{
    size_t got;
    SH_TRY(sh_extent_read(&got, fd, offset, bytes, count));
    if (got < count)
        return sh_fail(SH_CORRUPT, "became shorter while it was in use");
    return SH_OK;
}

sh_status sh_extent_write(int fd, uint64_t offset, const uint8_t *bytes, size_t count)
{
    while (count > 0) {
        const ssize_t done = pwrite(fd, bytes, count, (off_t)offset);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return sh_fail_errno(errno, "cannot write it");
        bytes += done;
        offset += (uint64_t)done;
        count -= (size_t)done;
    }
    return SH_OK;
}

bool sh_extent_touch(int fd, uint64_t offset, size_t count)
{
    while (count > 0) {
        uint8_t bytes[TOUCHED];
        const size_t chunk = count < TOUCHED ? count : TOUCHED;
        size_t got;
        if (sh_extent_read(&got, fd, offset, bytes, chunk) != SH_OK || got < chunk)
            return false;
        offset += chunk;
        count -= chunk;
    }
    return true;
}
