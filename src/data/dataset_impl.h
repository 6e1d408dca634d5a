/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between sh_dataset and the formats of data. A format is one file, which defines its row,
 * and one line in formats.def:
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
 * `open` makes the set. Where samples of one size lie in files it is sh_stored_dataset, and `fill`
 * says where they lie; where they are drawn, as in digits.c, the set has operations of its own.
 *
 * Threads: a set's `read`, `touch` and `fetch` any, several at once; the others one at a time per
 * set.
 */
#ifndef SHOAL_DATA_DATASET_IMPL_H
#define SHOAL_DATA_DATASET_IMPL_H

#include "data/dataset.h"

/* A format of data: static storage. */
typedef struct sh_format sh_format;
struct sh_file_reader;
struct sh_source;
struct sh_stored;
struct sh_trained;
struct sh_format {
    const char *name;    /* required: what stands before the colon of a spec */
    const char *usage;   /* how a spec is written, for messages; NULL: not among what is proposed */
    const char *summary; /* required where `usage` is set: what it is, for help */
    const char *files;   /* the names that mark a folder of this format, for messages; NULL: no
                            folder is ever of this format */
    bool gzip;           /* files may also be there as NAME.gz */
    const void *variant; /* the reader's: what tells formats of one reader apart */

    /* Required where `files` is set, may block: whether the folder has a mark of this format, or
     * the file is of it by its name. */
    bool (*recognises)(const sh_format *format, const char *path);

    /*
     * Required, may block. `argument` is what follows the colon, NULL without a colon;
     * borrowed for the call, as `options` are. Makes a set (owned by the caller) with `base` filled
     * in.
     */
    sh_status (*open)(sh_dataset **dataset, const sh_format *format, const char *argument,
                      const sh_read_options *options);

    /* Required where `open` is sh_packed_dataset, may block: looks through what `argument` names,
     * which is a path and not empty (source.h). `*source` is owned by the caller. */
    sh_status (*look)(struct sh_source **source, const sh_format *format, const char *argument,
                      const sh_read_options *options);

    /* Reads new files for a trained model (file_reader.h); NULL: there are no single files. */
    sh_status (*file_reader)(struct sh_file_reader **reader, const struct sh_trained *trained,
                             const sh_read_options *options);

    bool as_trained; /* `look` heeds options->trained; it may leave the training split empty */

    /* Required where `open` is sh_stored_dataset, may block: opens the files in `folder` and
     * completes the set (stored.h). */
    sh_status (*fill)(struct sh_stored *set, const char *folder);
};

/* What an open set can do. */
typedef struct sh_contents sh_contents; /* data/contents.h */

typedef struct sh_dataset_ops {
    /* Required, may block: as sh_dataset_read; `split` and `index` are already checked. */
    sh_status (*read)(const sh_dataset *dataset, sh_split split, uint32_t index, void *sample,
                      void *target);

    /* May block: the target alone, as `read` gives it; NULL if that takes as long as `read`. */
    sh_status (*read_target)(const sh_dataset *dataset, sh_split split, uint32_t index,
                             void *target);

    /* NULL where samples are on no disk; may block: as sh_dataset_touch. */
    bool (*touch)(const sh_dataset *dataset, sh_split split, uint32_t index);

    /* Required where the set has contents, may block: as sh_contents_read; the range is already
     * checked. */
    sh_status (*fetch)(const sh_dataset *dataset, uint32_t file, uint64_t offset, uint8_t *bytes,
                       size_t count);

    /* Frees all; `dataset` is not NULL. NULL where it is one block of the heap. */
    void (*close)(sh_dataset *dataset);
} sh_dataset_ops;

struct sh_dataset {
    const sh_dataset_ops *ops;
    sh_dataset_info info;
    const sh_contents *contents; /* borrowed from the set itself; NULL: samples are on no disk */
    const char *about;           /* as sh_dataset_description; borrowed likewise, or NULL */
};

/* The format of this name (sh_dataset_info has it); NULL: there is none. */
const sh_format *sh_format_find(const char *name);

/* The place of a split in a message: "training" or "validation". */
const char *sh_split_name(sh_split split);

/* A number of 1 .. most in a spec, and the character behind it: `*text` goes on behind both. False,
 * and nothing is changed, where something else stands there. */
bool sh_count_read(const char **text, size_t most, char end, size_t *count);

/* Whether a file or folder is not the user's: its name begins with a dot, or a desktop leaves it in
 * every folder (Thumbs.db, desktop.ini, __MACOSX). */
bool sh_name_is_hidden(const char *name);

/* Fails unless `folder` is a folder that can be read, saying which it is not. */
sh_status sh_folder_check(const char *folder) SHOAL_CHECKED;

#define SH_FORMAT(name) extern const sh_format sh_##name##_format;
#include "data/formats.def"
#undef SH_FORMAT

#endif
