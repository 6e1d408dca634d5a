/* SPDX-License-Identifier: Apache-2.0 */
#include "data/photos/photo_load.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/extent.h"

#define FILE_MOST (256u << 20)

sh_status sh_photo_open(int *fd, const char *path)
{
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    return *fd >= 0 ? SH_OK : sh_fail(SH_CORRUPT, "cannot be opened: %s", strerror(errno));
}

/* `*bytes` is owned. */
static sh_status read_file(uint8_t **bytes, size_t *count, int fd)
{
    struct stat about;
    if (fstat(fd, &about) != 0 || !S_ISREG(about.st_mode))
        return sh_fail(SH_CORRUPT, "is not a regular file");
    if (about.st_size > (off_t)FILE_MOST)
        return sh_fail(SH_CORRUPT, "is too large: %" PRIu64 " MB; photos have at most %u",
                       (uint64_t)about.st_size >> 20, FILE_MOST >> 20);
    const size_t size = (size_t)about.st_size;
    uint8_t *fresh = malloc(size + 1);
    if (fresh == NULL)
        return sh_fail_memory(size, "the file of a photo");
    const sh_status status = sh_extent_read(count, fd, 0, fresh, size);
    if (status == SH_OK)
        *bytes = fresh;
    else
        free(fresh);
    return status;
}

sh_status sh_photo_load(uint8_t *sample, const sh_photo_form *form, const char *path)
{
    int fd;
    uint8_t *bytes = NULL;
    size_t count = 0;
    SH_TRY(sh_photo_open(&fd, path));
    sh_status status = read_file(&bytes, &count, fd);
    close(fd);
    if (status == SH_OK)
        status = sh_photo_decode(sample, form, bytes, count);
    free(bytes);
    return status;
}
