/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a network is given of a data set: its samples augmented, resized and normalised.
 *
 *     sh_pipeline *pipeline;
 *     const sh_pipeline_options options = {.augment = "crop,flip", .resize = 64, .seed = 1};
 *     SH_TRY(sh_pipeline_open(&pipeline, "cifar10:/data/cifar10", &options));
 *     SH_TRY(sh_pipeline_read(pipeline, SH_SPLIT_TRAIN, epoch, index, values, &class));
 *     sh_pipeline_close(pipeline);
 *
 * A sample goes, in this order, through
 *
 *     augmentation   training samples only; what a crop sees beside the image is black (augment.h)
 *     resizing       bilinear, pixels being areas: PyTorch's interpolate(mode="bilinear",
 *                    align_corners=False)
 *     normalisation  (byte / 255 - mean) / deviation, by channel
 *
 * and comes to the same bits on every device. Samples of floats are augmented, no more.
 *
 * Threads: an open pipeline never changes, so any thread may read and several may at once; open
 * and close it while nobody reads.
 */
#ifndef SHOAL_DATA_PIPELINE_H
#define SHOAL_DATA_PIPELINE_H

#include "data/dataset.h"
#include "data/order.h"

#define SH_PIPELINE_SIDE_LEAST 8 /* pixels that images can be resized to */
#define SH_PIPELINE_SIDE_MOST 1024

/* Bytes of a published image that can be augmented or resized; any can be normalised. */
#define SH_PIPELINE_BYTES_MOST 262144 /* 4 x 256 x 256 */

typedef struct sh_pipeline sh_pipeline;

/* Texts are borrowed for the call. */
typedef struct sh_pipeline_options {
    const char *augment;   /* as sh_augment_parse; NULL: none */
    uint32_t resize;       /* height and width of what is given; 0: as published */
    const char *normalize; /* "dataset": mean and deviation of the training images, "imagenet":
                              those of ImageNet, "none": 0 and 1. NULL or "": "dataset" */
    uint64_t seed;         /* of the augmentation */
    sh_read_options read;  /* what sh_pipeline_open hands to sh_dataset_open */
} sh_pipeline_options;

/*
 * Opens the data set `spec` (as sh_dataset_open). `*pipeline` is owned: sh_pipeline_close it.
 * Fails as sh_dataset_open does and with SH_INVALID for an option, or one that this data cannot
 * have.
 */
sh_status sh_pipeline_open(sh_pipeline **pipeline, const char *spec,
                           const sh_pipeline_options *options) SHOAL_CHECKED;

/* As sh_pipeline_open for an open data set, which is taken over (owned) also on failure. */
sh_status sh_pipeline_adopt(sh_pipeline **pipeline, sh_dataset *dataset,
                            const sh_pipeline_options *options) SHOAL_CHECKED;

/* As far as they can be checked without the data: whether the options are well-formed. */
sh_status sh_pipeline_check(const sh_pipeline_options *options) SHOAL_CHECKED;

/*
 * What a pipeline with these options would make of data that are not here: turns what a data set is
 * (sh_trained has it) into what sh_pipeline_about would say. `info` is untouched on failure.
 */
sh_status sh_pipeline_foresee(sh_dataset_info *info,
                              const sh_pipeline_options *options) SHOAL_CHECKED;

/*
 * As sh_dataset_about, with the height and width that the pipeline gives and the mean and
 * deviation that it normalises by; the fingerprint is that of the data alone. Borrowed until the
 * pipeline is closed.
 */
const sh_dataset_info *sh_pipeline_about(const sh_pipeline *pipeline);

/* The data set behind it. Borrowed until the pipeline is closed. */
const sh_dataset *sh_pipeline_dataset(const sh_pipeline *pipeline);

/* About the stack that a thread touches while it reads, in bytes: for planning memory. */
size_t sh_pipeline_stack_bytes(const sh_pipeline *pipeline);

/*
 * Reads sample `index` of a split as seen in `epoch` (from 0; means nothing for validation):
 * `values` gets channels * height * width floats, [C][H][W], `target` its target, as
 * sh_dataset_read gives it, or an int32_t without a meaning where samples are their own targets.
 * May block on the disk; allocates nothing. On failure both are undefined. Fails as sh_dataset_read
 * does.
 */
sh_status sh_pipeline_read(const sh_pipeline *pipeline, sh_split split, uint32_t epoch,
                           uint32_t index, float *values, void *target) SHOAL_CHECKED;

/* Whether training samples are mixed with others: mixup, cutmix. */
bool sh_pipeline_mixes(const sh_pipeline *pipeline);

/* As sh_pipeline_read for the training sample at a position of an epoch's order. */
sh_status sh_pipeline_read_at(const sh_pipeline *pipeline, const sh_order *order, uint32_t position,
                              float *values, void *target) SHOAL_CHECKED;

/*
 * The same, mixed with the sample's partner by mixup or cutmix: its loss is `*weight` times that
 * for `target` and 1 - `*weight` times that for `other_target`. `spare` is room for as many floats
 * as `values`. If the augmentation mixes nothing, `*weight` is 1 and `other_target` equals
 * `target`. On failure all are undefined.
 */
sh_status sh_pipeline_read_mixed(const sh_pipeline *pipeline, const sh_order *order,
                                 uint32_t position, float *values, float *spare, void *target,
                                 void *other_target, float *weight) SHOAL_CHECKED;

/* The training sample that the one at this position is mixed with; the same one if none. */
uint32_t sh_pipeline_partner(const sh_pipeline *pipeline, const sh_order *order, uint32_t position);

/* Closes the data set too. NULL is fine. */
void sh_pipeline_close(sh_pipeline *pipeline);

#endif
