/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the tests of this layer: a folder of their own, with files plain and packed.
 *
 *     scratch s;
 *     scratch_new(&s);
 *     scratch_gzip(&s, "numbers.gz", bytes, sizeof bytes);
 *     assert_ok(sh_unpack_open(&fd, scratch_path(&s, "numbers.gz"), LIMIT));
 *     scratch_remove(&s);
 *
 * Threads: one. Failures fail the test.
 */
#ifndef SHOAL_DATA_SCRATCH_H
#define SHOAL_DATA_SCRATCH_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/test.h"

typedef struct scratch {
    char folder[256];
    char path[512]; /* the last that scratch_path made */
} scratch;

/* Makes the folder, with folders `cache` and `tmp` in it, and points XDG_CACHE_HOME and TMPDIR
 * there. */
static inline void scratch_new(scratch *s)
{
    snprintf(s->folder, sizeof s->folder, "/tmp/shoal-test-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    snprintf(s->path, sizeof s->path, "%s/cache", s->folder);
    assert_int_equal(mkdir(s->path, 0700), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", s->path, 1), 0);
    snprintf(s->path, sizeof s->path, "%s/tmp", s->folder);
    assert_int_equal(mkdir(s->path, 0700), 0);
    assert_int_equal(setenv("TMPDIR", s->path, 1), 0);
}

static inline void scratch_remove_all(const char *path)
{
    DIR *folder = opendir(path);
    if (folder == NULL) {
        assert_int_equal(unlink(path), 0);
        return;
    }
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        char inner[1024];
        const int length = snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        assert_in_range(length, 1, sizeof inner - 1);
        scratch_remove_all(inner);
    }
    closedir(folder);
    assert_int_equal(rmdir(path), 0);
}

static inline void scratch_remove(scratch *s)
{
    scratch_remove_all(s->folder);
}

/* The path of `name` in the folder; borrowed until the next call. */
static inline const char *scratch_path(scratch *s, const char *name)
{
    const int length = snprintf(s->path, sizeof s->path, "%s/%s", s->folder, name);
    assert_in_range(length, 1, sizeof s->path - 1);
    return s->path;
}

static inline void scratch_write(scratch *s, const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(scratch_path(s, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static inline void scratch_gzip(scratch *s, const char *name, const void *bytes, size_t count)
{
    gzFile file = gzopen(scratch_path(s, name), "wb1");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)count), count);
    assert_int_equal(gzclose(file), Z_OK);
}

/* How many names the folder `name` holds that contain `part`; the last of them goes to `found`. */
static inline int scratch_count(scratch *s, const char *name, const char *part, char found[256])
{
    DIR *folder = opendir(scratch_path(s, name));
    int count = 0;
    if (folder == NULL)
        return 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
        if (entry->d_name[0] != '.' && strstr(entry->d_name, part) != NULL) {
            snprintf(found, 256, "%s", entry->d_name);
            count++;
        }
    closedir(folder);
    return count;
}

#endif
