/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For targets that feed the reader of a format of data: a folder whose files lie in memory, and the
 * set in it, opened and read at its ends.
 */
#ifndef SHOAL_FUZZ_FOLDER_H
#define SHOAL_FUZZ_FOLDER_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "data/dataset.h"

#define FOLDER_FILES 4 /* at most */

static char folder_path[64];
static char folder_names[FOLDER_FILES][128];
static int folder_fds[FOLDER_FILES];
static size_t folder_files;

static void folder_remove(void)
{
    for (size_t i = 0; i < folder_files; i++)
        unlink(folder_names[i]);
    rmdir(folder_path);
}

/* Makes the folder the first time: each name is a link to a file without one. */
static inline void folder_make(const char *const *names, size_t count)
{
    if (folder_files > 0)
        return;
    snprintf(folder_path, sizeof folder_path, "/tmp/shoal-fuzz-XXXXXX");
    if (mkdtemp(folder_path) == NULL || atexit(folder_remove) != 0)
        abort();
    for (; folder_files < count; folder_files++) {
        char target[32];
        const int fd = folder_fds[folder_files] = memfd_create("file", MFD_CLOEXEC);
        snprintf(target, sizeof target, "/proc/self/fd/%d", fd);
        snprintf(folder_names[folder_files], sizeof *folder_names, "%s/%s", folder_path,
                 names[folder_files]);
        if (fd < 0 || symlink(target, folder_names[folder_files]) != 0)
            abort();
    }
}

/* File `file` has these bytes and as many zeros. */
static inline void folder_put(size_t file, const uint8_t *bytes, size_t count, size_t zeros)
{
    const int fd = folder_fds[file];
    if (ftruncate(fd, 0) != 0 || pwrite(fd, bytes, count, 0) != (ssize_t)count ||
        ftruncate(fd, (off_t)(count + zeros)) != 0)
        abort();
}

/* Opens the folder as data of a format: what is let through can be read. */
static inline void folder_read(const char *format)
{
    char spec[sizeof folder_path + 16];
    sh_dataset *data;
    snprintf(spec, sizeof spec, "%s:%s", format, folder_path);
    if (sh_dataset_open(&data, spec, NULL) != SH_OK)
        return;
    const sh_dataset_info *info = sh_dataset_about(data);
    uint8_t *bytes = malloc(sh_dataset_bytes(info));
    if (bytes == NULL)
        abort();
    for (int i = 0; i < 2 * SH_SPLITS; i++) {
        const sh_split split = (sh_split)(i / 2);
        const uint32_t index = i % 2 == 0 ? 0 : info->count[split] - 1;
        int32_t label = -1;
        if (!sh_dataset_touch(data, split, index) ||
            sh_dataset_read(data, split, index, bytes, &label) != SH_OK || label < 0 ||
            (uint32_t)label >= info->outputs)
            abort();
    }
    free(bytes);
    sh_dataset_close(data);
}

#endif
