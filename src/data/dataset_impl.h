/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between sh_dataset and the data formats. A format is one file, which defines its
 * row, and one line in formats.def:
 *
 *     const sh_format sh_mnist_format = {
 *         .name = "mnist",
 *         .usage = "mnist:DIR",
 *         .summary = "the four files of MNIST",
 *         .files = "train-images-idx3-ubyte, ...",
 *         .recognises = mnist_recognises,
 *         .open = sh_stored_dataset,
 *         .fill = mnist_fill,
 *     };
 *
 * For equally sized samples in files, `open` is sh_stored_dataset and `fill` locates the samples.
 * Generated sets, such as digits.c, have their own operations.
 *
 * Threads: a set's `read`, `touch` and `fetch`: any, concurrently; the rest one at a time per set.
 */
#ifndef SHOAL_DATA_DATASET_IMPL_H
#define SHOAL_DATA_DATASET_IMPL_H

#include "data/dataset.h"

/* Static storage. */
typedef struct sh_format sh_format;
struct sh_file_reader;
struct sh_source;
struct sh_stored;
struct sh_trained;
struct sh_format {
    const char *name;    /* required: before the colon of a spec */
    const char *usage;   /* syntax, for messages; NULL: not suggested */
    const char *summary; /* required with `usage`, for help */
    const char *files;   /* file names of such a folder, for messages, or NULL */
    bool gzip;           /* accepts NAME.gz */
    const void *variant; /* selects among a reader's formats */

    /* Required with `files`, may block: recognises a folder, or a file by its name. */
    bool (*recognises)(const sh_format *format, const char *path);

    /*
     * Required, may block. `argument` follows the colon, or is NULL; borrowed for the call, like
     * `options`. Creates a set with its `base`, owned by the caller.
     */
    sh_status (*open)(sh_dataset **dataset, const sh_format *format, const char *argument,
                      const sh_read_options *options);

    /* Required if `open` is sh_packed_dataset, may block: surveys a non-empty path (source.h).
     * The caller owns `*source`. */
    sh_status (*look)(struct sh_source **source, const sh_format *format, const char *argument,
                      const sh_read_options *options);

    /* Reads new files for a trained model (file_reader.h); NULL: no single files. */
    sh_status (*file_reader)(struct sh_file_reader **reader, const struct sh_trained *trained,
                             const sh_read_options *options);

    bool as_trained; /* `look` honours options->trained; the training split may be empty */

    /* Required if `open` is sh_stored_dataset, may block: opens the files and completes the set
     * (stored.h). */
    sh_status (*fill)(struct sh_stored *set, const char *folder);
};

typedef struct sh_contents sh_contents; /* data/contents.h */

typedef struct sh_dataset_ops {
    /* Required, may block: sh_dataset_read with valid `split` and `index`. */
    sh_status (*read)(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                      void *target);

    /* May block: only the target; NULL if as slow as `read`. */
    sh_status (*read_target)(const sh_dataset *dataset, sh_split split, uint32_t index,
                             void *target);

    /* sh_dataset_touch, may block; NULL if not on disk. */
    bool (*touch)(const sh_dataset *dataset, sh_split split, uint32_t index);

    /* Required with contents, may block: sh_contents_read with a valid range. */
    sh_status (*fetch)(const sh_dataset *dataset, uint32_t file, uint64_t offset, uint8_t *bytes,
                       size_t count);

    /* Frees a non-NULL set. NULL: a single heap block. */
    void (*close)(sh_dataset *dataset);
} sh_dataset_ops;

struct sh_dataset {
    const sh_dataset_ops *ops;
    sh_dataset_info info;
    const sh_contents *contents; /* borrowed from the set; NULL: not on disk */
    const char *about;           /* sh_dataset_description; borrowed likewise, or NULL */
};

/* Finds a format by its name; NULL: none. */
const sh_format *sh_format_find(const char *name);

/* "training" or "validation", for messages. */
const char *sh_split_name(sh_split split);

/* Parses a number of 1 .. most before the character `end` and moves `*text` past both. On
 * mismatch returns false and changes nothing. */
bool sh_count_read(const char **text, size_t most, char end, size_t *count);

/* Whether a file or folder is a dot file or made by a desktop (Thumbs.db, desktop.ini,
 * __MACOSX). */
bool sh_name_is_hidden(const char *name);

/* Fails unless `folder` is a readable folder. */
sh_status sh_folder_check(const char *folder) SHOAL_CHECKED;

#define SH_FORMAT(name) extern const sh_format sh_##name##_format;
#include "data/formats.def"
#undef SH_FORMAT

#endif
