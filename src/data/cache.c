/* SPDX-License-Identifier: Apache-2.0 */
#include "data/cache.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes `folder` and the folders above it where they are missing. */
static void make_folders(char *folder)
{
    for (char *at = folder + 1; *at != '\0'; at++)
        if (*at == '/') {
            *at = '\0';
            (void)mkdir(folder, 0700); /* what is wrong shows when it is opened */
            *at = '/';
        }
    (void)mkdir(folder, 0700);
}

int sh_cache_open(char path[SH_CACHE_PATH])
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int length;
    if (cache != NULL && cache[0] == '/') /* the XDG specification: relative ones are ignored */
        length = snprintf(path, SH_CACHE_PATH, "%s/shoal", cache);
    else if (home != NULL && home[0] == '/')
        length = snprintf(path, SH_CACHE_PATH, "%s/.cache/shoal", home);
    else
        return -1;
    if (length < 0 || length >= SH_CACHE_PATH)
        return -1;
    make_folders(path);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct stat about;
    if (fd < 0)
        return -1;
    if (fstat(fd, &about) == 0 && about.st_uid == geteuid() && (about.st_mode & 0022) == 0)
        return fd;
    close(fd);
    return -1;
}
