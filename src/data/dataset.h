/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of labelled images as published: a training and a validation split, read one sample at a
 * time. What a network is given is made of it by a pipeline (pipeline.h).
 *
 *     sh_dataset *data;
 *     SH_TRY(sh_dataset_open(&data, "mnist:/data/mnist"));
 *     const sh_dataset_info *info = sh_dataset_about(data);
 *     SH_TRY(sh_dataset_read(data, SH_SPLIT_TRAIN, 41, bytes, &label));
 *     sh_dataset_close(data);
 *
 * The samples stay where they are, on disk or not yet drawn: an open set takes a few kilobytes of
 * memory whatever its size.
 *
 * Threads: an open set never changes, so any thread may read and several may at once; open and
 * close it while nobody reads.
 */
#ifndef SHOAL_DATA_DATASET_H
#define SHOAL_DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fail.h"

typedef struct sh_dataset sh_dataset;

typedef enum sh_split {
    SH_SPLIT_TRAIN,
    SH_SPLIT_VALIDATION,
} sh_split;

#define SH_SPLITS 2
#define SH_DATASET_CHANNELS_MOST 4

typedef struct sh_dataset_info {
    const char *name;               /* "digits", "mnist": static */
    size_t channels, height, width; /* of one sample */
    uint32_t classes;               /* labels are 0 .. classes - 1; at least 2 */
    uint32_t count[SH_SPLITS];      /* samples, by sh_split; at least 1 */

    /* Of each channel of the training images, as parts of 255: what normalisation takes away and
     * divides by. */
    float mean[SH_DATASET_CHANNELS_MOST], deviation[SH_DATASET_CHANNELS_MOST];

    /* Equal on two devices that hold the same data. Each format says what it covers. */
    char fingerprint[SH_DIGEST_TEXT];
} sh_dataset_info;

/* Bytes of one sample. */
static inline size_t sh_dataset_bytes(const sh_dataset_info *info)
{
    return info->channels * info->height * info->width;
}

/*
 * Opens what `spec` (copied where kept) names:
 *
 *     FORMAT, FORMAT:ARGUMENT     a format of formats.def: "digits", "mnist:/data/mnist"
 *     DIR                         a folder that is recognised by its files
 *
 * Blocking: checks all files and reads all labels. `*dataset` is owned: sh_dataset_close it.
 * Fails with SH_INVALID (the spec), SH_NOT_FOUND, SH_PERMISSION, SH_FORMAT or SH_CORRUPT (a file
 * that is not what it should be), SH_NO_SPACE (while unpacking).
 */
sh_status sh_dataset_open(sh_dataset **dataset, const char *spec) SHOAL_CHECKED;

/* What it holds. Borrowed until the set is closed. */
const sh_dataset_info *sh_dataset_about(const sh_dataset *dataset);

/*
 * Reads sample `index` of a split: `bytes` gets channels * height * width of them, [C][H][W], 0
 * black or without ink; `label` its class. May block on the disk; allocates nothing. On failure
 * `label` is untouched and `bytes` undefined. Fails with SH_INVALID (no such sample) and SH_IO,
 * SH_CORRUPT (a file that changed).
 */
sh_status sh_dataset_read(const sh_dataset *dataset, sh_split split, uint32_t index, uint8_t *bytes,
                          int32_t *label) SHOAL_CHECKED;

/*
 * Brings a sample to where reading it is fast: from disk into the system's page cache. Never
 * changes what is read. May block on the disk. `index` is one that there is. False where that does
 * nothing for this data, or failed: reading the sample will say why.
 */
bool sh_dataset_touch(const sh_dataset *dataset, sh_split split, uint32_t index);

/* Whether touching does anything for this data. */
bool sh_dataset_touches(const sh_dataset *dataset);

/* Frees it. NULL is fine. */
void sh_dataset_close(sh_dataset *dataset);

#endif
