/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Equally sized samples with targets, in a training and a validation split. A pipeline (pipeline.h)
 * turns them into network inputs.
 *
 *     SH_TRY(sh_dataset_open(&data, "mnist:/data/mnist", NULL));
 *     SH_TRY(sh_dataset_read(data, SH_SPLIT_TRAIN, 41, bytes, &class));
 *
 * Samples stay on disk or are generated; an open set uses a few kilobytes.
 *
 * Threads: any may read an open set; open and close it while none reads.
 */
#ifndef SHOAL_DATA_DATASET_H
#define SHOAL_DATA_DATASET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/digest.h"
#include "base/fail.h"
#include "tensor/target.h"

typedef struct sh_dataset sh_dataset;

typedef enum sh_split {
    SH_SPLIT_TRAIN,
    SH_SPLIT_VALIDATION,
} sh_split;

#define SH_SPLITS 2
#define SH_DATASET_CHANNELS_MOST 4 /* of samples of bytes */

typedef enum sh_element {
    SH_ELEMENT_BYTE,  /* pixels; 0: black, no ink */
    SH_ELEMENT_FLOAT, /* little-endian, finite; passed to the network unchanged */
} sh_element;

typedef struct sh_dataset_info {
    const char *name; /* static */
    size_t channels, height, width;
    sh_element element;
    sh_target target;
    uint32_t outputs; /* classes (at least 2), labels, numbers, or elements if samples are their own
                         targets */
    uint32_t count[SH_SPLITS]; /* at least 1 */

    /* Bytes only: per channel of the training images, scaled to 0..1. */
    float mean[SH_DATASET_CHANNELS_MOST], deviation[SH_DATASET_CHANNELS_MOST];

    /* Equal for equal data. Each format defines what it covers. */
    char fingerprint[SH_DIGEST_TEXT];
} sh_dataset_info;

static inline size_t sh_dataset_elements(const sh_dataset_info *info)
{
    return info->channels * info->height * info->width;
}

static inline size_t sh_dataset_bytes(const sh_dataset_info *info)
{
    return sh_dataset_elements(info) * (info->element == SH_ELEMENT_FLOAT ? sizeof(float) : 1);
}

/* Options for conversion to a packed set (source.h), named as in the job. All but the last two
 * affect the samples. NULL, 0 and "": defaults. Strings are borrowed for the call. */
typedef struct sh_read_options {
    const char *task;        /* a name of sh_target; "": inferred */
    float val_split;         /* if the data have no split; 0: 0.2 */
    uint32_t resize;         /* photos: side in pixels; 0: SH_READ_SIDE */
    const char *fit;         /* photos: "crop", "pad", "stretch"; "": crop */
    bool no_exif;            /* photos: ignore EXIF orientation */
    const char *target;      /* tables: columns, "price,size"; "": last */
    const char *inputs;      /* tables: columns and kinds; "": all, inferred */
    uint32_t skip_lines;     /* tables: before the header */
    const char *label_from;  /* series, audio: "{label}_{group}_{}.wav"; "": folder */
    uint32_t window, stride; /* series, text: samples per window, and its step; 0: reader's */
    uint32_t rate;           /* audio: samples per second; 0: reader's */
    bool skip_damaged;
    const struct sh_trained *trained; /* read the data like this set; trained.h */
    void (*on_progress)(void *context, uint64_t packed, uint64_t samples); /* calling thread */
    void *context;
} sh_read_options;

#define SH_READ_SIDE 64

/*
 * `options` may be NULL.
 *
 *     FORMAT, FORMAT:ARGUMENT     of formats.def: "digits", "mnist:/data/mnist"
 *     DIR                         a folder, recognised by its files
 *     FILE                        a file, recognised by its name
 *
 * Blocks: checks all files and reads all labels. Keeps no reference to `spec`. Fails with
 * SH_INVALID (spec), SH_NOT_FOUND, SH_PERMISSION, SH_FORMAT or SH_CORRUPT (file), SH_NO_SPACE
 * (unpacking).
 */
sh_status sh_dataset_open(sh_dataset **dataset, const char *spec,
                          const sh_read_options *options) SHOAL_CHECKED;
sh_status sh_dataset_name_check(const char *spec) SHOAL_CHECKED; /* opens nothing */

/* Borrowed until the set is closed. */
const sh_dataset_info *sh_dataset_about(const sh_dataset *dataset);

/* JSON (source.h: `about`), or NULL. Borrowed likewise. */
const char *sh_dataset_description(const sh_dataset *dataset);

/*
 * Writes sh_dataset_bytes to `sample`, [C][H][W], and sh_target_bytes to `target`
 * (tensor/target.h). May block on the disk; allocates nothing. On failure both are undefined.
 * SH_INVALID: no such sample; SH_CORRUPT: the file changed; SH_IO.
 */
sh_status sh_dataset_read(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                          void *target) SHOAL_CHECKED;

/* `spare` has room for a sample, which some sets must read too. */
sh_status sh_dataset_read_target(const sh_dataset *dataset, sh_split split, uint32_t index,
                                 void *spare, void *target) SHOAL_CHECKED;

/* Loads a valid sample into the system's page cache; may block. False: not supported, or failed;
 * reading reports why. */
bool sh_dataset_touch(const sh_dataset *dataset, sh_split split, uint32_t index);

bool sh_dataset_touches(const sh_dataset *dataset);

void sh_dataset_close(sh_dataset *dataset);

#endif
