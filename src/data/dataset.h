/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of labelled images: a training and a validation split, read one sample at a time.
 *
 *     sh_dataset *data;
 *     SH_TRY(sh_dataset_open(&data, "mnist:/data/mnist"));
 *     const sh_dataset_info *info = sh_dataset_about(data);
 *     SH_TRY(sh_dataset_read(data, SH_SPLIT_TRAIN, sh_order_at(&order, i), pixels, &label));
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

typedef struct sh_dataset_info {
    const char *name;               /* "digits", "mnist": static */
    size_t channels, height, width; /* of one sample */
    uint32_t classes;               /* labels are 0 .. classes - 1; at least 2 */
    uint32_t count[SH_SPLITS];      /* samples, by sh_split; at least 1 */

    /* Equal on two devices that hold the same data. Each kind of data says what it covers. */
    char fingerprint[SH_DIGEST_TEXT];
} sh_dataset_info;

/*
 * Opens what `spec` (copied where kept) names:
 *
 *     digits                      built in, 10000 training and 2000 validation samples
 *     digits:TRAIN/VALIDATION     as many of each as said
 *     mnist:DIR                   the IDX files of MNIST, Fashion-MNIST and their like
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
 * Reads sample `index` of a split: `pixels` gets channels * height * width floats, [C][H][W],
 * normalised to about zero mean and unit variance, the same bits on every device; `label` its
 * class. May block on the disk; allocates nothing. On failure `label` is untouched and `pixels`
 * undefined. Fails with SH_INVALID (no such sample) and SH_IO, SH_CORRUPT (a file that changed).
 */
sh_status sh_dataset_read(const sh_dataset *dataset, sh_split split, uint32_t index, float *pixels,
                          int32_t *label) SHOAL_CHECKED;

/* Frees it. NULL is fine. */
void sh_dataset_close(sh_dataset *dataset);

#endif
