/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data set of equally sized samples in files. A format's reader records where images and labels
 * are; the rest is common.
 *
 *     static sh_status faces_fill(sh_stored *set, const char *folder)
 *     {
 *         SH_TRY(sh_stored_open(&part, set, sh_stored_file(set, "faces"), folder, "faces.bin"));
 *         set->contents.sample[SH_SPLIT_TRAIN] = (sh_contents_place){0, 16, 4096}; // and others
 *         return sh_stored_seal(set, stamps, check_label);
 *     }
 *
 * A file of the contents (contents.h) has one or more parts on disk.
 *
 * Threads: one until complete; then as in dataset.h.
 */
#ifndef SHOAL_DATA_STORED_H
#define SHOAL_DATA_STORED_H

#include "data/contents.h"
#include "data/dataset_impl.h"

#define SH_STORED_PARTS 16  /* of all files */
#define SH_STORED_STAMP 96  /* with NUL */
#define SH_STORED_NAMES 128 /* a list of missing files, with NUL */

typedef struct sh_stored_part {
    uint32_t file;
    uint64_t first, bytes; /* in `file` */
    int fd;                /* owned, like `name` */
    char *name;            /* for messages */
} sh_stored_part;

typedef struct sh_stored {
    sh_dataset base; /* `fill` sets `info` but name and fingerprint; `about` is owned */
    const sh_format *format;
    sh_contents contents; /* `fill` sets the places */
    uint32_t label_bytes; /* checked per sample; the last is the label; default 1 */
    uint32_t part_count;
    sh_stored_part parts[SH_STORED_PARTS];
} sh_stored;

/* Whether the folder has the file, plain or gzipped. */
bool sh_stored_has(const sh_format *format, const char *folder, const char *name);

/* Lists the `names` (NULL-terminated) that `folder` lacks; returns their number. */
size_t sh_stored_missing(char missing[SH_STORED_NAMES], const sh_format *format, const char *folder,
                         const char *const *names);

/* An empty set, for custom `open`s. Free with sh_dataset_close. */
sh_status sh_stored_new(sh_stored **set, const sh_format *format) SHOAL_CHECKED;

/* A format's `open`: calls its `fill` for a folder. SH_INVALID: no folder in the spec; fails like
 * sh_folder_check. */
sh_status sh_stored_dataset(sh_dataset **dataset, const sh_format *format, const char *folder,
                            const sh_read_options *options) SHOAL_CHECKED;

/* Starts the next file of the contents; returns its number. */
uint32_t sh_stored_file(sh_stored *set, const char *name);

/*
 * Opens `name` in `folder`, or `name`.gz if the format allows it, and appends it to `file`, the
 * newest. `*part` is borrowed until the set is closed. SH_FORMAT: not a regular file; fails like
 * opening.
 */
sh_status sh_stored_open(const sh_stored_part **part, sh_stored *set, uint32_t file,
                         const char *folder, const char *name) SHOAL_CHECKED;

/* Likewise for an open file; takes ownership of `fd`, also on failure. Copies `path`. */
sh_status sh_stored_take(const sh_stored_part **part, sh_stored *set, uint32_t file, int fd,
                         const char *path) SHOAL_CHECKED;

/* The path of the file with a sample's label; `*index` becomes the number in that file. */
const char *sh_stored_name(const sh_stored *set, sh_split split, uint32_t *index);

/* Checks a sample's `label_bytes`. Called for all samples in order; may change `info.outputs`. */
typedef sh_status sh_stored_label_fn(sh_stored *set, sh_split split, uint32_t index,
                                     const uint8_t *label);

/*
 * Completes the set: checks every label, so that errors precede the training, and computes the
 * fingerprint of `stamps`, all labels and 64 evenly spaced images per split: enough to distinguish
 * sets, subsets and orders. Plain and gzipped files, one part or five have equal fingerprints.
 * Fails like `check`, and with SH_IO, SH_CORRUPT (a file changed).
 */
sh_status sh_stored_seal(sh_stored *set, char stamps[SH_SPLITS][SH_STORED_STAMP],
                         sh_stored_label_fn *check) SHOAL_CHECKED;

#endif
