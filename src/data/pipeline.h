/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares samples for a network: augments, resizes and normalises them, in this order.
 *
 *     augmentation   training samples only; crops are padded with black (augment.h)
 *     resizing       bilinear, pixels being areas: PyTorch's interpolate(mode="bilinear",
 *                    align_corners=False)
 *     normalisation  (byte / 255 - mean) / deviation, by channel
 *
 * Results are bitwise equal on every device. Floats are only augmented.
 *
 * Threads: any may read an open pipeline; open and close it while none reads.
 */
#ifndef SHOAL_DATA_PIPELINE_H
#define SHOAL_DATA_PIPELINE_H

#include "data/dataset.h"
#include "data/order.h"

#define SH_PIPELINE_SIDE_LEAST 8 /* pixels */
#define SH_PIPELINE_SIDE_MOST 1024

/* The largest original image for augmentation or resizing; normalisation has no limit. */
#define SH_PIPELINE_BYTES_MOST 262144 /* 4 x 256 x 256 */

typedef struct sh_pipeline sh_pipeline;

/* Strings are borrowed for the call. */
typedef struct sh_pipeline_options {
    const char *augment;   /* of sh_augment_parse; NULL: none */
    uint32_t resize;       /* height and width; 0: original */
    const char *normalize; /* "dataset" (default, also NULL and ""): the training images' mean and
                              deviation; "imagenet": ImageNet's; "none": 0 and 1 */
    uint64_t seed;         /* for augmentation */
    sh_read_options read;
} sh_pipeline_options;

/* Fails like sh_dataset_open and with SH_INVALID for an option that is malformed or unsuitable for
 * the data. */
sh_status sh_pipeline_open(sh_pipeline **pipeline, const char *spec,
                           const sh_pipeline_options *options) SHOAL_CHECKED;

/* Likewise; takes ownership of `dataset`, also on failure. */
sh_status sh_pipeline_adopt(sh_pipeline **pipeline, sh_dataset *dataset,
                            const sh_pipeline_options *options) SHOAL_CHECKED;

/* Checks as far as possible without data. */
sh_status sh_pipeline_check(const sh_pipeline_options *options) SHOAL_CHECKED;

/* Changes the `info` of absent data (from sh_trained) to what sh_pipeline_about would return.
 * Unchanged on failure. */
sh_status sh_pipeline_foresee(sh_dataset_info *info,
                              const sh_pipeline_options *options) SHOAL_CHECKED;

/* Has the final height, width, mean and deviation, and the data's fingerprint. Borrowed until the
 * pipeline is closed. */
const sh_dataset_info *sh_pipeline_about(const sh_pipeline *pipeline);

/* Borrowed likewise. */
const sh_dataset *sh_pipeline_dataset(const sh_pipeline *pipeline);

/* Approximate stack use of reading, for planning memory. */
size_t sh_pipeline_stack_bytes(const sh_pipeline *pipeline);

/*
 * Reads sample `index` as seen in `epoch` (from 0; ignored for validation): floats [C][H][W], and
 * its target like sh_dataset_read, or a meaningless int32_t if samples are their own targets. May
 * block on the disk; allocates nothing. On failure both are undefined. Fails like sh_dataset_read.
 */
sh_status sh_pipeline_read(const sh_pipeline *pipeline, sh_split split, uint32_t epoch,
                           uint32_t index, float *values, void *target) SHOAL_CHECKED;

bool sh_pipeline_mixes(const sh_pipeline *pipeline);

/* Reads the training sample at a position of an epoch's order. */
sh_status sh_pipeline_read_at(const sh_pipeline *pipeline, const sh_order *order, uint32_t position,
                              float *values, void *target) SHOAL_CHECKED;

/*
 * Likewise, mixed with its partner: the loss is `*weight` times that for `target` plus 1 -
 * `*weight` times that for `other_target`. `spare` is as large as `values`. Without mixing,
 * `*weight` is 1 and `other_target` equals `target`. On failure all are undefined.
 */
sh_status sh_pipeline_read_mixed(const sh_pipeline *pipeline, const sh_order *order,
                                 uint32_t position, float *values, float *spare, void *target,
                                 void *other_target, float *weight) SHOAL_CHECKED;

/* The training sample mixed into the one at a position; itself without mixing. */
uint32_t sh_pipeline_partner(const sh_pipeline *pipeline, const sh_order *order, uint32_t position);

/* Also closes the data set. */
void sh_pipeline_close(sh_pipeline *pipeline);

#endif
