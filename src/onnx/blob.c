/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/quantity.h"

#define PART_BYTES 256 /* of a part of a path, with the terminating zero */

sh_blob sh_blob_of(const void *bytes, size_t count)
{
    return (sh_blob){.bytes = bytes, .fd = -1, .count = count};
}

/* Takes ownership of `fd`; closes it on failure. */
static sh_status blob_of_file(sh_blob *blob, int fd, uint64_t most_bytes)
{
    struct stat about;
    sh_quantity most;
    sh_status status;
    if (fstat(fd, &about) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "cannot be read"));
    if (!S_ISREG(about.st_mode))
        SH_TRY_DONE(sh_fail(SH_INVALID, "is not a file but a folder or a device"));
    if ((uint64_t)about.st_size > most_bytes)
        SH_TRY_DONE(sh_fail(SH_LIMIT, "has %" PRIu64 " bytes, more than the limit of %s MB",
                            (uint64_t)about.st_size, sh_quantity_megabytes(&most, most_bytes)));
    *blob = (sh_blob){.fd = fd, .count = (uint64_t)about.st_size};
    return SH_OK;
done:
    close(fd);
    return status;
}

/* O_NONBLOCK, because opening a FIFO would block. Regular files ignore the flag. */
sh_status sh_blob_open(sh_blob *blob, const char *path, uint64_t most_bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return sh_fail_errno(errno, "cannot be opened");
    return blob_of_file(blob, fd, most_bytes);
}

static sh_status next_part(char part[PART_BYTES], const char **path)
{
    const size_t length = strcspn(*path, "/");
    if (length >= PART_BYTES)
        return sh_fail(SH_INVALID, "has a name of more than %d bytes in its path", PART_BYTES - 1);
    memcpy(part, *path, length);
    part[length] = '\0';
    if (length == 0 || strcmp(part, ".") == 0 || strcmp(part, "..") == 0)
        return sh_fail(SH_INVALID,
                       "is not a plain path inside the model's folder: absolute paths, '.' and "
                       "'..' are not followed");
    *path += length;
    if (**path == '/') {
        ++*path;
        if (**path == '\0')
            return sh_fail(SH_INVALID, "ends like a folder");
    }
    return SH_OK;
}

sh_status sh_blob_open_within(sh_blob *blob, int folder, const char *path, uint64_t most_bytes)
{
    char part[PART_BYTES];
    for (const char *at = path;;) { /* all of it, before anything is opened */
        SH_TRY(next_part(part, &at));
        if (*at == '\0')
            break;
    }
    int at_folder = folder;
    for (;;) {
        SH_TRY(next_part(part, &path));
        const bool is_last = *path == '\0';
        const int flags = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | (is_last ? O_NONBLOCK : O_DIRECTORY);
        const int fd = openat(at_folder, part, flags);
        const int error = errno;
        struct stat about;
        const bool is_link = fd < 0 && fstatat(at_folder, part, &about, AT_SYMLINK_NOFOLLOW) == 0 &&
                             S_ISLNK(about.st_mode);
        if (at_folder != folder)
            close(at_folder);
        if (is_link)
            return sh_fail(SH_INVALID, "is a symbolic link, which could lead outside the model's "
                                       "folder: replace it with the file");
        if (fd < 0)
            return sh_fail_errno(error, "cannot be opened");
        if (is_last)
            return blob_of_file(blob, fd, most_bytes);
        at_folder = fd;
    }
}

void sh_blob_close(sh_blob *blob)
{
    if (blob->fd >= 0)
        close(blob->fd);
    *blob = sh_blob_of(NULL, 0);
}

sh_status sh_blob_read(const sh_blob *blob, void *buffer, size_t bytes, uint64_t offset)
{
    if (bytes > blob->count || offset > blob->count - bytes)
        return sh_fail(SH_CORRUPT,
                       "is cut short: has %" PRIu64 " bytes, and %zu more are needed at byte "
                       "%" PRIu64,
                       blob->count, bytes, offset);
    if (blob->fd < 0) {
        if (bytes > 0)
            memcpy(buffer, blob->bytes + offset, bytes);
        return SH_OK;
    }
    for (char *at = buffer; bytes > 0;) {
        const ssize_t got = pread(blob->fd, at, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return sh_fail_errno(errno, "cannot be read at byte %" PRIu64, offset);
        if (got == 0)
            return sh_fail(SH_CORRUPT, "became shorter while it was read: ends at byte %" PRIu64,
                           offset);
        at += got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return SH_OK;
}
