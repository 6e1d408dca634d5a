/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"

sh_status sh_cache_path(char path[SH_CACHE_PATH])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (cache != NULL && cache[0] == '/') /* the XDG specification ignores relative paths */
        length = snprintf(path, SH_CACHE_PATH, "%s/shoal", cache);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, SH_CACHE_PATH, "%s/.cache/shoal", home);
    else
        return sh_fail(SH_NOT_FOUND,
                       "there is no cache folder: set XDG_CACHE_HOME or HOME to an absolute path");
    if (length < 0 || length >= SH_CACHE_PATH)
        return sh_fail(SH_LIMIT, "the path of the cache folder is too long");
    return SH_OK;
}

bool sh_cache_is_own(int fd)
{
    struct stat about;
    return fstat(fd, &about) == 0 && about.st_uid == geteuid() &&
           (about.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int keep_own(int folder, const char *path, const char *name)
{
    if (sh_cache_is_own(folder))
        return folder;
    close(folder);
    sh_log(SH_LOG_WARN, "cache.refused",
           "folder=\"%s%s\" reason=\"another user owns it or can write it, so its content is not "
           "trusted\" remedy=\"chown and chmod go-w, or remove it\"",
           path, name);
    errno = EPERM;
    return -1;
}

int sh_cache_open(char path[SH_CACHE_PATH])
{
    if (sh_cache_path(path) != SH_OK)
        return -1;
    for (char *at = path + 1;; at++)
        if (*at == '/' || *at == '\0') {
            const char end = *at;
            *at = '\0';
            (void)mkdir(path, 0700); /* the open() below reports errors */
            *at = end;
            if (end == '\0')
                break;
        }
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd < 0 ? -1 : keep_own(fd, path, "");
}

int sh_cache_folder(int above, const char *path, const char *name)
{
    char shown[NAME_MAX + 2];
    if (mkdirat(above, name, 0700) != 0 && errno != EEXIST)
        return -1;
    const int fd = openat(above, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    snprintf(shown, sizeof shown, "/%.255s", name);
    return fd < 0 ? -1 : keep_own(fd, path, shown);
}

int sh_cache_lock(int folder, int operation)
{
    const int lock = openat(folder, "lock", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    int locked = -1;
    if (lock < 0)
        return -1;
    do
        locked = flock(lock, operation);
    while (locked != 0 && errno == EINTR);
    if (locked == 0)
        return lock;
    const int error = errno;
    close(lock);
    errno = error;
    return -1;
}

DIR *sh_cache_list(int folder)
{
    const int listed = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = listed < 0 ? NULL : fdopendir(listed);
    if (entries == NULL && listed >= 0) {
        const int error = errno;
        close(listed);
        errno = error;
    }
    return entries;
}

sh_status sh_cache_unnamed(int *fd, const char **folder, const char *what)
{
    char name[SH_CACHE_PATH];
    const char *place = getenv("TMPDIR");
    if (place == NULL || place[0] == '\0')
        place = "/tmp";
    const int length = snprintf(name, sizeof name, "%s/shoal-XXXXXX", place);
    if (length < 0 || (size_t)length >= sizeof name)
        return sh_fail(SH_INVALID, "the path in TMPDIR is too long");
    const int fresh = mkstemp(name);
    if (fresh < 0)
        return sh_fail_errno(errno, "can write neither the cache nor %s for %s", place, what);
    (void)unlink(name);
    (void)fcntl(fresh, F_SETFD, FD_CLOEXEC);
    *fd = fresh;
    *folder = place;
    return SH_OK;
}
