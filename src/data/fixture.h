/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a temporary folder for plain and gzipped files.
 *
 *     fixture s;
 *     fixture_new(&s);
 *     fixture_gzip(&s, "numbers.gz", bytes, sizeof bytes);
 *     assert_ok(sh_unpack_open(&fd, fixture_path(&s, "numbers.gz"), LIMIT));
 *     fixture_remove(&s);
 *
 * Threads: one. Errors fail the test.
 */
#ifndef SHOAL_DATA_FIXTURE_H
#define SHOAL_DATA_FIXTURE_H

#include <zlib.h>

#include "base/scratch.h"

typedef struct fixture {
    char folder[SCRATCH_BYTES];
    char path[SCRATCH_BYTES + 256];
} fixture;

/* With folders `cache` and `tmp` for XDG_CACHE_HOME and TMPDIR. */
static inline void fixture_new(fixture *s)
{
    scratch_make(s->folder);
    snprintf(s->path, sizeof s->path, "%s/cache", s->folder);
    assert_int_equal(mkdir(s->path, 0700), 0);
    assert_int_equal(setenv("XDG_CACHE_HOME", s->path, 1), 0);
    snprintf(s->path, sizeof s->path, "%s/tmp", s->folder);
    assert_int_equal(mkdir(s->path, 0700), 0);
    assert_int_equal(setenv("TMPDIR", s->path, 1), 0);
}

static inline void fixture_remove(fixture *s)
{
    scratch_remove(s->folder);
    unsetenv("TMPDIR");
}

/* Borrowed until the next call. */
static inline const char *fixture_path(fixture *s, const char *name)
{
    const int length = snprintf(s->path, sizeof s->path, "%s/%s", s->folder, name);
    assert_in_range(length, 1, sizeof s->path - 1);
    return s->path;
}

static inline void fixture_write(fixture *s, const char *name, const void *bytes, size_t count)
{
    FILE *file = fopen(fixture_path(s, name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
}

static inline void fixture_gzip(fixture *s, const char *name, const void *bytes, size_t count)
{
    gzFile file = gzopen(fixture_path(s, name), "wb1");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, bytes, (unsigned)count), count);
    assert_int_equal(gzclose(file), Z_OK);
}

/* Counts names that contain `part`; `found` is the last. */
static inline int fixture_count(fixture *s, const char *name, const char *part, char found[256])
{
    DIR *folder = opendir(fixture_path(s, name));
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
