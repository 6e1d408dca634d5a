/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A set of samples of one size, each with its target: a training and a validation split, read one
 * sample at a time. What a network is given is made of it by a pipeline (pipeline.h).
 *
 *     sh_dataset *data;
 *     SH_TRY(sh_dataset_open(&data, "mnist:/data/mnist", NULL));
 *     const sh_dataset_info *info = sh_dataset_about(data);
 *     SH_TRY(sh_dataset_read(data, SH_SPLIT_TRAIN, 41, bytes, &class));
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
#include "tensor/target.h"

typedef struct sh_dataset sh_dataset;

typedef enum sh_split {
    SH_SPLIT_TRAIN,
    SH_SPLIT_VALIDATION,
} sh_split;

#define SH_SPLITS 2
#define SH_DATASET_CHANNELS_MOST 4 /* of samples that are bytes */

typedef enum sh_element {
    SH_ELEMENT_BYTE,  /* pixels: 0 black or without ink */
    SH_ELEMENT_FLOAT, /* little-endian, finite; given to a network as they are */
} sh_element;

typedef struct sh_dataset_info {
    const char *name;               /* "digits", "mnist": static */
    size_t channels, height, width; /* of one sample */
    sh_element element;
    sh_target target;
    uint32_t outputs;          /* classes (at least 2), labels or numbers of a target, elements of a
                                  sample that is its own target */
    uint32_t count[SH_SPLITS]; /* samples, by sh_split; at least 1 */

    /* Of bytes: of each channel of the training images, as parts of 255: what normalisation takes
     * away and divides by. */
    float mean[SH_DATASET_CHANNELS_MOST], deviation[SH_DATASET_CHANNELS_MOST];

    /* Equal on two devices that hold the same data. Each format says what it covers. */
    char fingerprint[SH_DIGEST_TEXT];
} sh_dataset_info;

/* Elements and bytes of one sample. */
static inline size_t sh_dataset_elements(const sh_dataset_info *info)
{
    return info->channels * info->height * info->width;
}

static inline size_t sh_dataset_bytes(const sh_dataset_info *info)
{
    return sh_dataset_elements(info) * (info->element == SH_ELEMENT_FLOAT ? sizeof(float) : 1);
}

/*
 * What a user says of data that are made into a packed set (source.h, packed.h): options of a job,
 * of the same names. All but the last three decide the samples. NULL, 0 and "" are the defaults.
 * Texts are borrowed for the call.
 */
typedef struct sh_read_options {
    const char *task; /* a name of sh_target; "": by what the targets are */
    float val_split;  /* part of the samples for validation where the data have no split; 0: 0.2 */
    uint32_t resize;  /* photos: pixels each way; 0: SH_READ_SIDE */
    const char *fit;  /* photos: "crop", "pad" or "stretch"; "": crop */
    bool no_exif;     /* photos: lie as they are stored */
    const char *target; /* tables: columns, "price,size"; "": the last */
    const char
        *inputs; /* tables: columns and what they are, reader's form; "": all by what they hold */
    uint32_t skip_lines;    /* tables: before the header */
    const char *label_from; /* series, audio: "{label}_{group}_{}.wav"; "": the folder's name */
    uint32_t window,
        stride;        /* series, text: samples of a window, and between windows; 0: reader's */
    uint32_t rate;     /* audio: samples a second; 0: reader's */
    bool skip_damaged; /* leave samples out that cannot be decoded */
    const struct sh_trained *trained; /* other data, to read these as those were; trained.h */
    void (*on_progress)(void *context, uint64_t packed, uint64_t samples); /* the calling thread */
    void *context;
} sh_read_options;

#define SH_READ_SIDE 64

/*
 * Opens what `spec` (copied where kept) names; `options` may be NULL.
 *
 *     FORMAT, FORMAT:ARGUMENT     a format of formats.def: "digits", "mnist:/data/mnist"
 *     DIR                         a folder that is recognised by its files
 *     FILE                        a file that is recognised by its name
 *
 * Blocking: checks all files and reads all labels. `*dataset` is owned: sh_dataset_close it.
 * Fails with SH_INVALID (the spec), SH_NOT_FOUND, SH_PERMISSION, SH_FORMAT or SH_CORRUPT (a file
 * that is not what it should be), SH_NO_SPACE (while unpacking).
 */
sh_status sh_dataset_open(sh_dataset **dataset, const char *spec,
                          const sh_read_options *options) SHOAL_CHECKED;
sh_status sh_dataset_name_check(const char *spec) SHOAL_CHECKED; /* opens nothing */

/* What it holds. Borrowed until the set is closed. */
const sh_dataset_info *sh_dataset_about(const sh_dataset *dataset);

/* The names of its classes or columns and how it was made, as JSON (source.h: `about`); NULL for
 * sets that have none. Borrowed until the set is closed. */
const char *sh_dataset_description(const sh_dataset *dataset);

/*
 * Reads sample `index` of a split: `sample` gets sh_dataset_bytes of it, [C][H][W]; `target` gets
 * sh_target_bytes of its own (tensor/target.h). May block on the disk; allocates nothing. On
 * failure both are undefined. Fails with SH_INVALID (no such sample) and SH_IO, SH_CORRUPT (a file
 * that changed).
 */
sh_status sh_dataset_read(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                          void *target) SHOAL_CHECKED;

/*
 * Reads the target of sample `index` alone, as sh_dataset_read does. `spare` is room for a sample,
 * which some sets have to read too.
 */
sh_status sh_dataset_read_target(const sh_dataset *dataset, sh_split split, uint32_t index,
                                 void *spare, void *target) SHOAL_CHECKED;

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
