/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between what people have and packed sets (packed.h): a *source* is a folder or a file
 * that a reader has looked through, with samples of one size that it can decode one by one.
 *
 *     sh_source *source;
 *     SH_TRY(format->look(&source, format, "/data/flowers", &options));
 *     SH_TRY(source->ops->read(source, SH_SPLIT_TRAIN, 41, pixels, &class));
 *     sh_source_close(source);
 *
 * A reader is one file, which defines its row in formats.def with .open = sh_packed_dataset and
 * .look = its function above. It looks at names, headers and small files when it opens, and decodes
 * when it is asked for a sample. Training never sees it: packed.h makes a packed set of it, once.
 *
 * Threads: `read` any, several at once; the rest one at a time.
 */
#ifndef SHOAL_DATA_SOURCE_H
#define SHOAL_DATA_SOURCE_H

#include <jansson.h>

#include "data/dataset_impl.h"

typedef struct sh_source sh_source;

typedef struct sh_source_ops {
    /*
     * Required, may block. Decodes a sample: `sample` gets sh_dataset_bytes(&source->info) bytes,
     * [C][H][W] in bytes or floats, `target` gets sh_target_bytes of it. The same bits for the same
     * sources wherever it is called. Fails with SH_CORRUPT or SH_FORMAT where this sample is
     * damaged (the message names the file and the place, on one line), which is counted and may be
     * left out; every other failure ends the packing.
     */
    sh_status (*read)(const sh_source *source, sh_split split, uint32_t index, void *sample,
                      void *target);

    /*
     * Optional, may block: fails where sources have changed since they were looked at (a folder
     * that is being written). Called when all samples are packed.
     */
    sh_status (*unchanged)(const sh_source *source);

    /* Required: where sample `index` comes from, for messages and lists: "roses/17.jpg", "line 42".
     */
    void (*name)(const sh_source *source, sh_split split, uint32_t index, char *text, size_t bytes);

    /* Required: frees all of the reader's; `source` is not NULL. */
    void (*close)(sh_source *source);
} sh_source_ops;

/* The head of every reader's own struct. */
struct sh_source {
    const sh_source_ops *ops;
    const char *place; /* the folder or file, for messages; the reader's */

    /* All but mean, deviation and fingerprint, which packing makes. */
    sh_dataset_info info;

    /*
     * Over the names, sizes and times of change of all files that samples come from, and over each
     * option that decides them: equal digests are equal samples. Cheap: no file is read for it.
     */
    char digest[SH_DIGEST_TEXT];

    /*
     * What stands in the packed set beside samples, owned, a JSON object:
     *     "classes"    names of classes or labels, in the order of their numbers (classification,
     *                  multi-label)
     *     "target"     the column of the class, of a table
     *     "targets"    [{"name", "mean", "deviation"}], where the target is numbers: a packed
     * number is (value - mean) / deviation, figures of the training samples "inputs"     what the
     * reader did to make numbers of what it read, its own form: columns with their treatment, rate
     * and window of a recording; enough to do it again to a new sample in prediction "notes"
     * [text]: what a user should know of this data: missing values, odd files, classes that only
     * one split has; each one line
     */
    json_t *about;
};

/* NULL is fine. */
static inline void sh_source_close(sh_source *source)
{
    if (source != NULL)
        source->ops->close(source);
}

#endif
