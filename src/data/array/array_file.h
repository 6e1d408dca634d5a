/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of numbers in a file: NAME.npy in a folder, or a member NAME.npy of an .npz archive. The
 * numbers stay in the file.
 *
 *     sh_array x;
 *     SH_TRY(sh_array_open(&x, "/data/mine.npz", "x"));
 *     SH_TRY(sh_array_read(&x, 10 * 784, numbers, 784)); // row 10 of an array [N][784]
 *     sh_array_close(&x);
 *
 * Threads: any for the read functions; for the others the caller locks.
 */
#ifndef SHOAL_DATA_ARRAY_ARRAY_FILE_H
#define SHOAL_DATA_ARRAY_ARRAY_FILE_H

#include "base/digest.h"
#include "data/array/npy.h"

#define SH_ARRAY_NAME 512 /* with the terminating zero */

typedef struct sh_array {
    int fd;      /* the file, the archive, or an unpacked member */
    uint64_t at; /* offset of the numbers in fd */
    sh_npy_header header;
    char *path; /* of the file or archive; owned */
    uint64_t file_bytes;
    int64_t changed_s, changed_ns;
    char name[SH_ARRAY_NAME]; /* for messages: "x.npy", "x.npy in mine.npz" */
} sh_array;

/*
 * Opens array `name` of the folder or archive `place`. `*array` is owned. Fails with SH_NOT_FOUND
 * if it does not exist, and as sh_npy_parse and sh_zip_find do.
 */
sh_status sh_array_open(sh_array *array, const char *place, const char *name) SHOAL_CHECKED;

/* Opens the .npy file `path`, which is also its name in messages. Fails as sh_array_open. */
sh_status sh_array_open_file(sh_array *array, const char *path) SHOAL_CHECKED;

/* Reads the numbers first .. first + count - 1, which must lie in the array. */
sh_status sh_array_read(const sh_array *array, uint64_t first, double *numbers,
                        size_t count) SHOAL_CHECKED;

/* As sh_array_read, for an array of single bytes. */
sh_status sh_array_read_bytes(const sh_array *array, uint64_t first, uint8_t *bytes,
                              size_t count) SHOAL_CHECKED;

/*
 * Adds the type, shape and content to `digest`. For an array of more than 256 MB, its path, size
 * and modification time replace the content. May block.
 */
sh_status sh_array_digest(const sh_array *array, sh_digest *digest) SHOAL_CHECKED;

/* SH_CORRUPT if the file was replaced or modified since it was opened. */
sh_status sh_array_unchanged(const sh_array *array) SHOAL_CHECKED;

/* Does nothing for a zeroed array. */
void sh_array_close(sh_array *array);

#endif
