/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data set as bytes: a few files, and where in them the samples lie. This is what travels to a
 * device that has no copy.
 *
 *     const sh_contents *contents;
 *     SH_TRY(sh_contents_of(&contents, dataset));
 *     SH_TRY(sh_contents_read(dataset, 0, offset, bytes, sizeof bytes));   // of contents->file[0]
 *
 * The files are canonical: equal wherever the samples and their order are, however they are kept.
 * A packed file counts as what it unpacks to; CIFAR-10's five training files are one.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_CONTENTS_H
#define SHOAL_DATA_CONTENTS_H

#include "data/dataset.h"

#define SH_CONTENTS_FILES 16                /* at most */
#define SH_CONTENTS_NAME 48                 /* bytes of a file's name, with the end */
#define SH_CONTENTS_BYTES_MOST (1ull << 40) /* of all files */
#define SH_CONTENTS_SIDE_MOST 65536         /* of a sample each way, channels included */
#define SH_CONTENTS_SAMPLE_MOST (1u << 26)  /* bytes of a sample */
#define SH_CONTENTS_BYTE_CLASSES 256        /* where a class is stored as one byte */
#define SH_CONTENTS_OUTPUTS_MOST 65536      /* classes, labels or numbers */

typedef struct sh_contents_file {
    char name[SH_CONTENTS_NAME]; /* letters, digits, '.', '_' and '-' */
    uint64_t bytes;
} sh_contents_file;

/* Item i of a split begins at byte first + i * stride of a file. */
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

/* Where item `index` lies in the file of its place. */
static inline uint64_t sh_contents_offset(const sh_contents_place *place, uint32_t index)
{
    return place->first + index * place->stride;
}

/*
 * A target as sh_dataset_read gives it, of the `stored` bytes. Fails with SH_CORRUPT where they are
 * no class of the set, or no number.
 */
sh_status sh_contents_target(void *target, const sh_contents *contents, const sh_dataset_info *info,
                             const uint8_t *stored) SHOAL_CHECKED;

/* What a set is made of; borrowed until the set is closed. Fails with SH_UNSUPPORTED where it is on
 * no disk: such sets are made, not fetched. */
sh_status sh_contents_of(const sh_contents **contents, const sh_dataset *dataset) SHOAL_CHECKED;

/*
 * Reads `count` bytes of a file from `offset` on; all must be within it. May block on the disk.
 * Fails with SH_INVALID (outside of the files), SH_IO, SH_CORRUPT (a file that changed), and
 * SH_NOT_FOUND where the set is itself a partial copy that lacks them.
 */
sh_status sh_contents_read(const sh_dataset *dataset, uint32_t file, uint64_t offset,
                           uint8_t *bytes, size_t count) SHOAL_CHECKED;

/*
 * Whether the contents hold what `info` tells: names, sizes, and every sample within its file, none
 * of it taken for granted. Fails with SH_FORMAT, SH_LIMIT.
 */
sh_status sh_contents_check(const sh_contents *contents, const sh_dataset_info *info) SHOAL_CHECKED;

#endif
