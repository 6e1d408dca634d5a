/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data set as bytes for devices without a copy: a few files, and the places of the samples in
 * them.
 *
 * The files are canonical: equal for equal samples in equal order, whatever the storage. A
 * compressed file counts as its content, CIFAR-10's five training files as one.
 *
 *     const sh_contents *contents;
 *     SH_TRY(sh_contents_of(&contents, dataset));
 *     SH_TRY(sh_contents_read(dataset, 0, offset, bytes, sizeof bytes));   // of contents->file[0]
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_CONTENTS_H
#define SHOAL_DATA_CONTENTS_H

#include "data/dataset.h"

#define SH_CONTENTS_FILES 16
#define SH_CONTENTS_NAME 48                 /* with NUL */
#define SH_CONTENTS_BYTES_MOST (1ull << 40) /* of all files */
#define SH_CONTENTS_SIDE_MOST 65536         /* channels, height, width */
#define SH_CONTENTS_SAMPLE_MOST (1u << 26)  /* bytes */
#define SH_CONTENTS_BYTE_CLASSES 256        /* for classes stored as one byte */
#define SH_CONTENTS_OUTPUTS_MOST 65536      /* classes, labels or numbers */

typedef struct sh_contents_file {
    char name[SH_CONTENTS_NAME]; /* letters, digits, '.', '_' and '-' */
    uint64_t bytes;
} sh_contents_file;

/* Item i of a split begins at byte first + i * stride of the file. */
typedef struct sh_contents_place {
    uint32_t file;
    uint64_t first, stride;
} sh_contents_place;

typedef struct sh_contents {
    uint32_t files; /* at least 1 */
    sh_contents_file file[SH_CONTENTS_FILES];
    sh_contents_place sample[SH_SPLITS]; /* sh_dataset_bytes each */
    sh_contents_place target[SH_SPLITS]; /* target_bytes each */
    uint32_t target_bytes;               /* 1: a class as a byte; else sh_target_bytes */
} sh_contents;

static inline uint64_t sh_contents_offset(const sh_contents_place *place, uint32_t index)
{
    return place->first + index * place->stride;
}

/* Decodes a stored target as sh_dataset_read returns it. SH_CORRUPT: not a class of the set, or not
 * finite. */
sh_status sh_contents_target(void *target, const sh_contents *contents, const sh_dataset_info *info,
                             const uint8_t *stored) SHOAL_CHECKED;

/* Borrowed until the set is closed. SH_UNSUPPORTED: generated, not stored. */
sh_status sh_contents_of(const sh_contents **contents, const sh_dataset *dataset) SHOAL_CHECKED;

/* May block. Fails with SH_INVALID (outside the files), SH_IO, SH_CORRUPT (the file changed),
 * SH_NOT_FOUND (missing in a partial copy). */
sh_status sh_contents_read(const sh_dataset *dataset, uint32_t file, uint64_t offset,
                           uint8_t *bytes, size_t count) SHOAL_CHECKED;

/*
 * Checks untrusted contents against `info`: names, sizes, samples within files. Fails with
 * SH_FORMAT, SH_LIMIT.
 */
sh_status sh_contents_check(const sh_contents *contents, const sh_dataset_info *info) SHOAL_CHECKED;

#endif
