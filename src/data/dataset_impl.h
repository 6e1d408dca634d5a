/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between sh_dataset and the data formats. A format is one file, which defines its
 * row, and one line in formats.def.
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
 * Threads: `read`, `touch` and `fetch`: any, concurrently; the rest one at a time per set.
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
    const char *name;    /* required */
    const char *usage;   /* syntax, for messages; NULL: not suggested */
    const char *summary; /* required with `usage`, for help */
    const char *files;   /* file names of such a folder, for messages, or NULL */
    bool gzip;           /* accepts NAME.gz */
    const void *variant; /* selects among a reader's formats */

    /* Required with `files`, may block: recognises a folder, or a file by its name. */
    bool (*recognises)(const sh_format *format, const char *path);

    /* Required, may block. `argument` follows the colon, or is NULL; borrowed for the call, like
     * `options`. Sets `base`; the caller owns the set. */
    sh_status (*open)(sh_dataset **dataset, const sh_format *format, const char *argument,
                      const sh_read_options *options);

    /* Required if `open` is sh_packed_dataset, may block: surveys a non-empty path (source.h).
     * `*source` is owned. */
    sh_status (*look)(struct sh_source **source, const sh_format *format, const char *argument,
                      const sh_read_options *options);

    /* For a trained model's new files (file_reader.h); NULL: no single files. */
    sh_status (*file_reader)(struct sh_file_reader **reader, const struct sh_trained *trained,
                             const sh_read_options *options);

    bool as_trained; /* `look` honours options->trained; the training split may be empty */

    /* Required if `open` is sh_stored_dataset, may block: completes the set (stored.h). */
    sh_status (*fill)(struct sh_stored *set, const char *folder);
};

typedef struct sh_contents sh_contents; /* data/contents.h */

typedef struct sh_dataset_ops {
    /* Required, may block: sh_dataset_read of a valid sample. */
    sh_status (*read)(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                      void *target);

    /* May block; NULL if as slow as `read`. */
    sh_status (*read_target)(const sh_dataset *dataset, sh_split split, uint32_t index,
                             void *target);

    /* May block; NULL if not on disk. */
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
    const char *about;           /* borrowed likewise, or NULL */
};

/* NULL: no such format. */
const sh_format *sh_format_find(const char *name);

const char *sh_split_name(sh_split split);

/* Parses 1 .. most before the character `end` and moves `*text` past both. On mismatch returns
 * false and changes nothing. */
bool sh_count_read(const char **text, size_t most, char end, size_t *count);

/* True for dot files and those of a desktop (Thumbs.db, desktop.ini, __MACOSX). */
bool sh_name_is_hidden(const char *name);

sh_status sh_folder_check(const char *folder) SHOAL_CHECKED;

#define SH_FORMAT(name) extern const sh_format sh_##name##_format;
#include "data/formats.def"
#undef SH_FORMAT

#endif
