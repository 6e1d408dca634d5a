/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between user data and packed sets (packed.h). A *source* is a folder or file that a
 * reader has surveyed and decodes sample by sample.
 *
 * A reader is one file with a row in formats.def, whose .open is sh_packed_dataset. Its .look
 * examines names, headers and small files.
 *
 *     sh_source *source;
 *     SH_TRY(format->look(&source, format, "/data/flowers", &options));
 *     SH_TRY(source->ops->read(source, SH_SPLIT_TRAIN, 41, pixels, &class));
 *     sh_source_close(source);
 *
 * Threads: `read` any, concurrently; the rest one at a time.
 */
#ifndef SHOAL_DATA_SOURCE_H
#define SHOAL_DATA_SOURCE_H

#include <jansson.h>

#include "data/dataset_impl.h"

typedef struct sh_source sh_source;

typedef struct sh_source_ops {
    /*
     * Required, may block. Decodes sh_dataset_bytes(&source->info) into `sample`, [C][H][W] bytes
     * or floats, and sh_target_bytes into `target`. The result depends only on the sources.
     * SH_CORRUPT, SH_FORMAT: a damaged sample (the message, one line, names file and place), which
     * may be skipped. Other failures end the packing.
     */
    sh_status (*read)(const sh_source *source, sh_split split, uint32_t index, void *sample,
                      void *target);

    /* Optional, may block: fails if sources have changed since the survey. Called after packing. */
    sh_status (*unchanged)(const sh_source *source);

    /* Required: a sample's origin, "roses/17.jpg" or "line 42". */
    void (*name)(const sh_source *source, sh_split split, uint32_t index, char *text, size_t bytes);

    /* Required; not called with NULL. */
    void (*close)(sh_source *source);
} sh_source_ops;

/* First member of every reader's struct. */
struct sh_source {
    const sh_source_ops *ops;
    const char *place; /* for messages; owned by the reader */

    /* Packing sets mean, deviation and fingerprint. */
    sh_dataset_info info;

    /* Covers names, sizes and modification times of all sample files, and options that affect
     * samples: equal digests mean equal samples. */
    char digest[SH_DIGEST_TEXT];

    /*
     * For the packed set; owned, a JSON object:
     *
     *     "classes"    names of classes or labels by number
     *     "target"     tables: the column of the class
     *     "targets"    [{"name", "mean", "deviation"}] for numbers, of training samples: a packed
     *                  number is (value - mean) / deviation
     *     "inputs"     how the reader made numbers, in its own format: enough to repeat it in
     *                  prediction
     *     "notes"      [text]: lines for the user
     */
    json_t *about;
};

static inline void sh_source_close(sh_source *source)
{
    if (source != NULL)
        source->ops->close(source);
}

#endif
