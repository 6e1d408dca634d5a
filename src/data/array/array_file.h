/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An array of numbers in a file: NAME.npy in a folder, or a member NAME.npy of an .npz archive.
 *
 *     sh_array x;
 *     SH_TRY(sh_array_open(&x, "/data/mine.npz", "x"));
 *     SH_TRY(sh_array_read(&x, 10 * 784, numbers, 784)); // row 10 of an array [N][784]
 *     sh_array_close(&x);
 *
 * The numbers stay in the file and are read when they are asked for.
 *
 * Threads: `read` any, several at once; the rest one at a time.
 */
#ifndef SHOAL_DATA_ARRAY_ARRAY_FILE_H
#define SHOAL_DATA_ARRAY_ARRAY_FILE_H

#include "base/digest.h"
#include "data/array/npy.h"

#define SH_ARRAY_NAME 512 /* bytes of a name in messages */

typedef struct sh_array {
    int fd;      /* of the file, or of what a member was unpacked to */
    uint64_t at; /* where its numbers begin */
    sh_npy_header header;
    char *path; /* of the file or the archive; owned */
    uint64_t file_bytes;
    int64_t changed_s, changed_ns;
    char name[SH_ARRAY_NAME]; /* for messages: "x.npy", "x.npy in mine.npz" */
} sh_array;

/*
 * Opens array `name` of the folder or archive `place`. `*array` is released by sh_array_close.
 * SH_NOT_FOUND where it is not there; otherwise fails as sh_npy_parse and sh_zip_find do.
 */
sh_status sh_array_open(sh_array *array, const char *place, const char *name) SHOAL_CHECKED;

/* Opens the array in a file NAME.npy; its name in messages is the path. Fails likewise. */
sh_status sh_array_open_file(sh_array *array, const char *path) SHOAL_CHECKED;

/* Reads `count` numbers from number `first` on; all must be in the array. */
sh_status sh_array_read(const sh_array *array, uint64_t first, double *numbers,
                        size_t count) SHOAL_CHECKED;

/* As sh_array_read, of an array of single bytes, as they are. */
sh_status sh_array_read_bytes(const sh_array *array, uint64_t first, uint8_t *bytes,
                              size_t count) SHOAL_CHECKED;

/*
 * Adds what decides its numbers: type, shape and content of an array of at most 256 MB; of a larger
 * one its path, size and time of change in place of the content. May block.
 */
sh_status sh_array_digest(const sh_array *array, sh_digest *digest) SHOAL_CHECKED;

/* SH_CORRUPT where the file is another one, or has changed, since it was opened. */
sh_status sh_array_unchanged(const sh_array *array) SHOAL_CHECKED;

/* Closes and frees; of an array that is all zeros nothing. */
void sh_array_close(sh_array *array);

#endif
