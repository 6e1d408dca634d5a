/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a fresh working folder, and a small disk to fill. Failures fail the test.
 *
 *     char folder[SCRATCH_BYTES];
 *     scratch_make(folder);
 *     scratch_remove(folder); // with its contents
 *
 * Threads: one.
 */
#ifndef SHOAL_BASE_SCRATCH_H
#define SHOAL_BASE_SCRATCH_H

#include <dirent.h>
#include <errno.h>
#include <linux/sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/test.h"

#define SCRATCH_BYTES 4096 /* of a path */

static inline void scratch_make(char folder[SCRATCH_BYTES])
{
    const char *root = getenv("TMPDIR");
    const int length =
        snprintf(folder, SCRATCH_BYTES, "%s/shoal-test-XXXXXX", root == NULL ? "/tmp" : root);
    assert_in_range(length, 1, SCRATCH_BYTES - 1);
    assert_non_null(mkdtemp(folder));
}

static inline void scratch_remove(const char *path)
{
    struct stat about;
    if (lstat(path, &about) == 0 && S_ISDIR(about.st_mode)) {
        DIR *folder = opendir(path);
        assert_non_null(folder);
        for (const struct dirent *item; (item = readdir(folder)) != NULL;) {
            char inner[SCRATCH_BYTES + 256];
            if (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0)
                continue;
            const int length = snprintf(inner, sizeof inner, "%s/%s", path, item->d_name);
            assert_in_range(length, 1,
                            sizeof inner - 1); /* a cut path would remove something else */
            scratch_remove(inner);
        }
        closedir(folder);
        rmdir(path);
        return;
    }
    unlink(path);
}

/* Used by cmocka_unit_test_setup_teardown(test, scratch_set_up, ...). */
static char scratch_folder[SCRATCH_BYTES];

static inline int scratch_set_up(void **state)
{
    (void)state;
    scratch_make(scratch_folder);
    return 0;
}

static inline int scratch_tear_down(void **state)
{
    (void)state;
    scratch_remove(scratch_folder);
    return 0;
}

static inline size_t scratch_count(const char *path)
{
    DIR *folder = opendir(path);
    assert_non_null(folder);
    size_t count = 0;
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count - 2; /* . and .. */
}

static inline void scratch_write(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static inline void scratch_expect(const char *path, const char *text)
{
    char found[4096];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t bytes = fread(found, 1, sizeof found - 1, file);
    found[bytes] = '\0';
    fclose(file);
    assert_string_equal(found, text);
}

/* Mounts a disk for this process only; skips the test if not permitted. */
static inline void scratch_mount(const char *folder, size_t bytes)
{
    char size[64];
    snprintf(size, sizeof size, "size=%zu", bytes);
    if (syscall(SYS_unshare, CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, size) != 0) {
        const int why = errno;
        scratch_remove(folder);
        skip_because("a small disk cannot be mounted here: %s", strerror(why));
    }
}

static inline void scratch_unmount(const char *folder)
{
    assert_int_equal(umount2(folder, MNT_DETACH), 0);
}

#endif
