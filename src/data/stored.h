/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data set whose samples lie in files, all of one size. A format's reader opens its files and
 * says where in them images and labels lie; reading samples, bringing them into the page cache,
 * giving them to other devices and the fingerprint are then the same for every format.
 *
 *     static sh_status faces_fill(sh_stored *set, const char *folder)
 *     {
 *         SH_TRY(sh_stored_open(&part, set, sh_stored_file(set, "faces"), folder, "faces.bin"));
 *         set->contents.sample[SH_SPLIT_TRAIN] = (sh_contents_place){0, 16, 4096}; // and others
 *         set->base.info.height = 64;                                             // and others
 *         return sh_stored_seal(set, stamps, check_label);
 *     }
 *
 * The files are those of the contents (contents.h), each made of one or more parts on the disk.
 *
 * A sample is read from its file each time: the system's page cache makes that fast, and gives the
 * memory back when a process needs it.
 *
 * Threads: one while the set is made; then as dataset.h says.
 */
#ifndef SHOAL_DATA_STORED_H
#define SHOAL_DATA_STORED_H

#include "data/contents.h"
#include "data/dataset_impl.h"

#define SH_STORED_PARTS 16  /* at most, of all files */
#define SH_STORED_STAMP 96  /* bytes of a split's stamp, with the end */
#define SH_STORED_NAMES 128 /* bytes of a list of missing files, with the end */

/* A file on the disk: a range of a file of the contents. */
typedef struct sh_stored_part {
    uint32_t file;
    uint64_t first, bytes; /* of that file */
    int fd;                /* owned, like `name` */
    char *name;            /* its path, for messages */
} sh_stored_part;

typedef struct sh_stored {
    sh_dataset
        base; /* `fill` sets `info`, but for the name and the fingerprint; `about` is owned */
    const sh_format *format;
    sh_contents contents; /* `fill` sets the places */
    uint32_t label_bytes; /* that are checked of each sample; the last is its label: 1 by default */
    uint32_t part_count;
    sh_stored_part parts[SH_STORED_PARTS];
} sh_stored;

/* Whether the folder has a file, plain or packed. */
bool sh_stored_has(const sh_format *format, const char *folder, const char *name);

/* Lists those of the files `names` (NULL behind the last) that `folder` lacks; how many these are.
 */
size_t sh_stored_missing(char missing[SH_STORED_NAMES], const sh_format *format, const char *folder,
                         const char *const *names);

/* An empty set, for `open`s of their own; owned: sh_dataset_close it. */
sh_status sh_stored_new(sh_stored **set, const sh_format *format) SHOAL_CHECKED;

/* A format's `open`: the set that its `fill` makes of a folder. Fails with SH_INVALID where the
 * folder is missing in the spec, and where it is not a folder that can be read. */
sh_status sh_stored_dataset(sh_dataset **dataset, const sh_format *format, const char *folder,
                            const sh_read_options *options) SHOAL_CHECKED;

/* Begins the next file of the contents; its number. */
uint32_t sh_stored_file(sh_stored *set, const char *name);

/*
 * Opens `name` in `folder`, or `name`.gz through unpack.h where the format allows that, and appends
 * it to file `file`, the newest. `*part` is borrowed until the set is closed. Fails with SH_FORMAT
 * (not a regular file), and as opening it does.
 */
sh_status sh_stored_open(const sh_stored_part **part, sh_stored *set, uint32_t file,
                         const char *folder, const char *name) SHOAL_CHECKED;

/* The same for an open file, which is taken over (owned) also on failure. `path` is copied, for
 * messages. */
sh_status sh_stored_take(const sh_stored_part **part, sh_stored *set, uint32_t file, int fd,
                         const char *path) SHOAL_CHECKED;

/* The path of the file in which the label of sample `*index` lies, for messages; `*index` becomes
 * the sample's number in that file. */
const char *sh_stored_name(const sh_stored *set, sh_split split, uint32_t *index);

/* Checks the `label_bytes` of a sample. Called for all samples in order; it may still change
 * `info.outputs`. */
typedef sh_status sh_stored_label_fn(sh_stored *set, sh_split split, uint32_t index,
                                     const uint8_t *label);

/*
 * Completes the set: reads and checks every label, so that a wrong one is told before the training
 * and not in its middle, and makes the fingerprint. That covers `stamps`, all labels and 64 images
 * of each split, spread evenly: enough to tell sets, subsets and orders apart without reading all.
 * It is of the content: equal for plain and packed files, and for one part or five. Fails as
 * `check` does, and with SH_IO, SH_CORRUPT (a file that changed).
 */
sh_status sh_stored_seal(sh_stored *set, char stamps[SH_SPLITS][SH_STORED_STAMP],
                         sh_stored_label_fn *check) SHOAL_CHECKED;

#endif
