/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files of CIFAR-10 and CIFAR-100 in their binary version (A. Krizhevsky: "Learning multiple layers
 * of features from tiny images", 2009; the format as the sets' page,
 * cs.toronto.edu/~kriz/cifar.html, has it): records and nothing else,
 *
 *     CIFAR-10     label,                     3072 bytes
 *     CIFAR-100    coarse label, fine label,  3072 bytes
 *
 * the pixels being a plane of 32 x 32 each for red, green and blue, row by row. A file may hold any
 * number of whole records. Of CIFAR-100's labels the fine one is used.
 *
 *     sh_cifar_file file;
 *     SH_TRY(sh_cifar_open(&file, "/data/cifar10/test_batch.bin", &sh_cifar10));
 *     SH_TRY(sh_cifar_read(&file, 41, bytes, &label));
 *     sh_cifar_close(&file);
 *
 * Records are read from the file when they are asked for; nothing is kept in memory or mapped.
 *
 * Threads: any may read an open file, several at once; the rest caller locks.
 */
#ifndef SHOAL_DATA_CIFAR_H
#define SHOAL_DATA_CIFAR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_CIFAR_SIDE 32
#define SH_CIFAR_PIXELS (3 * SH_CIFAR_SIDE * SH_CIFAR_SIDE) /* bytes of an image */
#define SH_CIFAR_LABELS_MOST 2                              /* bytes before it */

/* One of the two sets; static storage. */
typedef struct sh_cifar_kind {
    const char *name;  /* "cifar10": as a data set is named */
    const char *title; /* "CIFAR-10" */
    uint32_t labels;   /* bytes of labels in a record; the last is the one that is used */
    uint32_t classes[SH_CIFAR_LABELS_MOST];
} sh_cifar_kind;

extern const sh_cifar_kind sh_cifar10, sh_cifar100;

typedef struct sh_cifar_file {
    const sh_cifar_kind *kind;
    uint32_t count; /* records, at least 1 */
    int fd;
    char *name; /* for messages; owned */
} sh_cifar_file;

/* Bytes of one record. */
static inline size_t sh_cifar_record_bytes(const sh_cifar_kind *kind)
{
    return kind->labels + SH_CIFAR_PIXELS;
}

/*
 * Opens `path` and checks its size. `*file` is the caller's: sh_cifar_close it. Fails with
 * SH_CORRUPT (not a whole number of records), SH_FORMAT (empty, not a file), SH_NOT_FOUND,
 * SH_PERMISSION, SH_LIMIT.
 */
sh_status sh_cifar_open(sh_cifar_file *file, const char *path,
                        const sh_cifar_kind *kind) SHOAL_CHECKED;

/* As sh_cifar_open for an open file, which is taken over (owned) also on failure. `name` is
 * copied. */
sh_status sh_cifar_adopt(sh_cifar_file *file, int fd, const char *name,
                         const sh_cifar_kind *kind) SHOAL_CHECKED;

/*
 * Reads the label of every record and checks that it is in range: `each` (optional) gets them in
 * order. Fails with SH_FORMAT (names the record), SH_IO, SH_CORRUPT (the file became shorter).
 */
typedef void sh_cifar_label_fn(void *context, uint8_t label);
sh_status sh_cifar_check(const sh_cifar_file *file, sh_cifar_label_fn *each,
                         void *context) SHOAL_CHECKED;

/* Reads record `index` < count: SH_CIFAR_PIXELS bytes and the label, in range. Fails with SH_IO,
 * SH_CORRUPT (the file has changed). */
sh_status sh_cifar_read(const sh_cifar_file *file, uint32_t index, uint8_t *bytes,
                        int32_t *label) SHOAL_CHECKED;

/* Brings record `index` < count into the system's page cache; whether that was possible. */
bool sh_cifar_touch(const sh_cifar_file *file, uint32_t index);

/* Closes and frees; an sh_cifar_file of zeros is fine. */
void sh_cifar_close(sh_cifar_file *file);

#endif
