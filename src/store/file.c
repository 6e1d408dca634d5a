/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The new content of NAME is written to NAME.tmp-<process>-<number> in the same folder, because a
 * rename is atomic only within a file system. The steps are: write, fsync the file, rename, fsync
 * the folder. Without the first fsync, a power failure may leave an empty file.
 *
 * The temporary file is made with O_EXCL and mode 0666, and the kernel applies the umask, which the
 * program cannot read without changing it for other threads.
 */
#include "store/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define TEMPORARY_TRIES 1000

struct sh_file_writer {
    int fd; /* -1 once synced */
    uint64_t bytes;
    char path[SH_PATH_BYTES];
    char temporary[SH_PATH_BYTES];
};

static SHOAL_CHECKED sh_status fail_long(const char *path)
{
    return sh_fail(SH_LIMIT, "%.200s...: the path is longer than %d bytes", path,
                   SH_PATH_BYTES - 1);
}

sh_status sh_path_copy(char path[SH_PATH_BYTES], const char *from)
{
    const size_t length = strlen(from);
    if (length >= SH_PATH_BYTES)
        return fail_long(from);
    memcpy(path, from, length + 1);
    return SH_OK;
}

sh_status sh_path_join(char path[SH_PATH_BYTES], const char *folder, const char *name)
{
    char joined[SH_PATH_BYTES];
    const int wrote = snprintf(joined, sizeof joined, "%s/%s", folder, name);
    if (wrote < 0 || (size_t)wrote >= sizeof joined)
        return fail_long(folder);
    return sh_path_copy(path, joined);
}

sh_status sh_file_writer_open(sh_file_writer **writer, const char *path)
{
    sh_status status;
    sh_file_writer *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a file writer");
    SH_TRY_DONE(sh_path_copy(fresh->path, path));
    if (sh_folder_exists(path))
        SH_TRY_DONE(sh_fail(SH_INVALID, "%s: is a folder, cannot be written as a file", path));
    for (unsigned number = 0; number < TEMPORARY_TRIES; number++) {
        const int wrote = snprintf(fresh->temporary, SH_PATH_BYTES, "%s" SH_TEMPORARY_MARK "%ld-%u",
                                   path, (long)getpid(), number);
        if (wrote < 0 || wrote >= SH_PATH_BYTES)
            SH_TRY_DONE(fail_long(path));
        fresh->fd = open(fresh->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fresh->fd >= 0) {
            *writer = fresh;
            return SH_OK;
        }
        if (errno != EEXIST && errno != EINTR)
            SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot create", path));
    }
    status = sh_fail(SH_LIMIT,
                     "%s: %d temporaries (" SH_TEMPORARY_MARK "...) are beside it: remove them",
                     path, TEMPORARY_TRIES);
done:
    free(fresh);
    return status;
}

const char *sh_file_writer_path(const sh_file_writer *writer)
{
    return writer->path;
}

sh_status sh_file_writer_add(sh_file_writer *writer, const void *data, size_t bytes)
{
    SH_TRY(sh_file_writer_patch(writer, writer->bytes, data, bytes));
    writer->bytes += bytes;
    return SH_OK;
}

sh_status sh_file_writer_patch(sh_file_writer *writer, uint64_t offset, const void *data,
                               size_t bytes)
{
    for (const char *at = data; bytes > 0;) {
        const ssize_t wrote = pwrite(writer->fd, at, bytes, (off_t)offset);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return sh_fail_errno(wrote < 0 ? errno : ENOSPC, "%s: cannot write", writer->path);
        at += wrote;
        offset += (uint64_t)wrote;
        bytes -= (size_t)wrote;
    }
    return SH_OK;
}

static int sync_descriptor(int fd)
{
    int result;
    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result;
}

sh_status sh_file_writer_sync(sh_file_writer *writer)
{
    if (writer->fd < 0)
        return SH_OK;
    if (sync_descriptor(writer->fd) != 0)
        return sh_fail_errno(errno, "%s: cannot flush it to the disk", writer->path);
    const int fd = writer->fd;
    writer->fd = -1;
    /* Network file systems report a full disk here. After EINTR the file is closed, too. */
    if (close(fd) != 0 && errno != EINTR)
        return sh_fail_errno(errno, "%s: cannot close", writer->path);
    return SH_OK;
}

sh_status sh_file_writer_commit(sh_file_writer *writer)
{
    sh_status status = sh_file_writer_sync(writer);
    if (status == SH_OK && rename(writer->temporary, writer->path) != 0)
        status = sh_fail_errno(errno, "%s: cannot replace", writer->path);
    if (status != SH_OK) {
        sh_file_writer_discard(writer);
        return status;
    }
    char folder[SH_PATH_BYTES] = ".";
    const char *slash = strrchr(writer->path, '/');
    if (slash != NULL)
        snprintf(folder, sizeof folder, "%.*s",
                 slash == writer->path ? 1 : (int)(slash - writer->path), writer->path);
    free(writer);
    return sh_folder_sync(folder);
}

void sh_file_writer_discard(sh_file_writer *writer)
{
    if (writer == NULL)
        return;
    if (writer->fd >= 0)
        close(writer->fd);
    unlink(writer->temporary);
    free(writer);
}

static sh_status replace(const char *path, const void *data, size_t bytes, bool private)
{
    sh_file_writer *writer;
    sh_status status;
    SH_TRY(sh_file_writer_open(&writer, path));
    if (private && fchmod(writer->fd, S_IRUSR | S_IWUSR) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot make it private", path));
    SH_TRY_DONE(sh_file_writer_add(writer, data, bytes));
    return sh_file_writer_commit(writer);
done:
    sh_file_writer_discard(writer);
    return status;
}

sh_status sh_file_replace(const char *path, const void *data, size_t bytes)
{
    return replace(path, data, bytes, false);
}

sh_status sh_file_replace_private(const char *path, const void *data, size_t bytes)
{
    return replace(path, data, bytes, true);
}

static bool is_link(const char *path)
{
    struct stat about;
    return lstat(path, &about) == 0 && S_ISLNK(about.st_mode);
}

static SHOAL_CHECKED sh_status refuse_link(const char *path)
{
    return sh_fail(SH_REFUSED,
                   "%s: is a symbolic link, which could lead anywhere: replace it with its target, "
                   "or remove it",
                   path);
}

sh_status sh_file_open_own(int *fd, const char *path, int flags)
{
    struct stat about;
    sh_status status;
    /* A pipe would wait for its other end. */
    const int fresh = open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
    if (fresh < 0) {
        const int error = errno;
        return is_link(path) ? refuse_link(path) : sh_fail_errno(error, "%s: cannot open", path);
    }
    if (fstat(fresh, &about) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot examine it", path));
    if (!S_ISREG(about.st_mode))
        SH_TRY_DONE(sh_fail(SH_INVALID, "%s: is not a file", path));
    *fd = fresh;
    return SH_OK;
done:
    close(fresh);
    return status;
}

sh_status sh_file_size(uint64_t *bytes, const char *path)
{
    struct stat about;
    if (stat(path, &about) != 0)
        return sh_fail_errno(errno, "%s: cannot examine it", path);
    if (!S_ISREG(about.st_mode))
        return sh_fail(SH_INVALID, "%s: is not a file", path);
    *bytes = (uint64_t)about.st_size;
    return SH_OK;
}

/* Takes over `fd`. */
static sh_status read_whole(char **text, size_t *bytes, int fd, const char *path,
                            size_t limit_bytes)
{
    struct stat about;
    char *buffer = NULL;
    size_t have = 0;
    sh_status status = SH_OK;
    if (fstat(fd, &about) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot examine it", path));
    if (!S_ISREG(about.st_mode))
        SH_TRY_DONE(sh_fail(SH_INVALID, "%s: is not a file", path));
    const uint64_t size = (uint64_t)about.st_size;
    if (size > limit_bytes)
        SH_TRY_DONE(sh_fail(SH_LIMIT, "%s: %llu bytes, at most %zu are expected here", path,
                            (unsigned long long)size, limit_bytes));
    /* One byte more detects that the file has grown. */
    buffer = malloc((size_t)size + 1);
    if (buffer == NULL)
        SH_TRY_DONE(sh_fail_memory((size_t)size + 1, path));
    while (have <= size) {
        const ssize_t got = read(fd, buffer + have, (size_t)size + 1 - have);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot read at byte %zu", path, have));
        if (got == 0)
            break;
        have += (size_t)got;
    }
    if (have > size)
        SH_TRY_DONE(sh_fail(SH_IO, "%s: grew while it was read: try again", path));
    buffer[have] = '\0';
    *text = buffer;
    buffer = NULL;
    if (bytes != NULL)
        *bytes = have;
done:
    close(fd);
    free(buffer);
    return status;
}

sh_status sh_file_read(char **text, size_t *bytes, const char *path, size_t limit_bytes)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not block on a pipe */
    if (fd < 0)
        return sh_fail_errno(errno, "%s: cannot open", path);
    return read_whole(text, bytes, fd, path, limit_bytes);
}

sh_status sh_file_read_own(char **text, size_t *bytes, const char *path, size_t limit_bytes)
{
    int fd;
    SH_TRY(sh_file_open_own(&fd, path, O_RDONLY));
    return read_whole(text, bytes, fd, path, limit_bytes);
}

sh_status sh_file_append_line(const char *path, const char *line)
{
    struct stat about;
    char last = '\n';
    sh_status status = SH_OK;
    if (strchr(line, '\n') != NULL)
        return sh_fail(SH_INVALID, "%s: a line to append contains a newline", path);
    int fd;
    SH_TRY(sh_file_open_own(&fd, path, O_RDWR | O_CREAT | O_APPEND));
    if (fstat(fd, &about) != 0)
        SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot examine it", path));
    if (about.st_size > 0 && pread(fd, &last, 1, about.st_size - 1) != 1)
        SH_TRY_DONE(sh_fail_errno(errno, "%s: cannot read its last byte", path));
    struct iovec parts[3] = {
        {.iov_base = (char[]){'\n'}, .iov_len = last == '\n' ? 0 : 1},
        {.iov_base = (void *)(uintptr_t)line, .iov_len = strlen(line)},
        {.iov_base = (char[]){'\n'}, .iov_len = 1},
    };
    const size_t bytes = parts[0].iov_len + parts[1].iov_len + 1;
    ssize_t wrote;
    do
        wrote = writev(fd, parts, 3);
    while (wrote < 0 && errno == EINTR);
    if (wrote < 0 || (size_t)wrote != bytes) {
        /* Removes an incomplete line. */
        const int error = wrote < 0 ? errno : ENOSPC;
        const char *kept = ftruncate(fd, about.st_size) == 0 ? "" : " (and its last line is cut)";
        status = sh_fail_errno(error, "%s: cannot append%s", path, kept);
    }
done:
    close(fd);
    return status;
}

bool sh_folder_exists(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

sh_status sh_folder_make(const char *path)
{
    const size_t length = strlen(path);
    if (length == 0)
        return sh_fail(SH_INVALID, "a folder's path is empty");
    char part[SH_PATH_BYTES];
    SH_TRY(sh_path_copy(part, path));
    for (size_t i = 1; i <= length; i++) {
        if (path[i] != '/' && path[i] != '\0')
            continue;
        part[i] = '\0';
        const int error = sh_folder_exists(part) || mkdir(part, 0777) == 0 ? 0 : errno;
        if (error != 0 && !sh_folder_exists(part)) /* else another process made it first */
            return error == EEXIST
                       ? sh_fail(SH_INVALID, "%s: is a file, not a folder: choose another path",
                                 part)
                       : sh_fail_errno(error, "%s: cannot make the folder", part);
        part[i] = path[i];
    }
    return SH_OK;
}

sh_status sh_folder_check_own(const char *path)
{
    return is_link(path) ? refuse_link(path) : SH_OK;
}

sh_status sh_folder_sync(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sh_fail_errno(errno, "%s: cannot open the folder", path);
    /* EINVAL: this file system cannot sync folders. */
    const int error = sync_descriptor(fd) == 0 || errno == EINVAL ? 0 : errno;
    close(fd);
    return error == 0 ? SH_OK : sh_fail_errno(error, "%s: cannot flush it to the disk", path);
}

sh_status sh_folder_sweep(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL)
        return sh_fail_errno(errno, "%s: cannot list", path);
    sh_status status = SH_OK;
    for (const struct dirent *item; status == SH_OK && (item = readdir(folder)) != NULL;) {
        if (strstr(item->d_name, SH_TEMPORARY_MARK) == NULL)
            continue;
        char name[SH_PATH_BYTES];
        status = sh_path_join(name, path, item->d_name);
        if (status == SH_OK && unlink(name) != 0 && errno != ENOENT)
            status = sh_fail_errno(errno, "%s: cannot remove", name);
    }
    closedir(folder);
    return status;
}
