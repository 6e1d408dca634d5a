/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between sh_dataset and the kinds of data. A kind is one file that fills this table,
 * and one line in the list in dataset.c.
 *
 *     typedef struct faces { sh_dataset base; int fd; } faces;   // base first
 *     const sh_dataset_ops sh_faces_ops = {.name = "faces", .usage = "faces:DIR", ...};
 *
 * Threads: `read`, `touch`, `contents` and `fetch` any, several at once; the others one at a time
 * per set.
 */
#ifndef SHOAL_DATA_DATASET_IMPL_H
#define SHOAL_DATA_DATASET_IMPL_H

#include "data/contents.h"
#include "data/dataset.h"

typedef struct sh_dataset_ops {
    const char *name;  /* required: what stands before the colon of a spec */
    const char *usage; /* how a spec is written, for messages; NULL: not among what is proposed */
    const char *files; /* the names that mark a folder of this kind, for messages; NULL: no folder
                          is ever of this kind */

    /*
     * Required, may block. `argument` is what follows the colon, NULL where there is none;
     * borrowed for the call. Makes a set (owned by the caller) with `base` filled in.
     */
    sh_status (*open)(sh_dataset **dataset, const char *argument);

    /* Required where `files` is set, may block: whether the folder has a mark of this kind. */
    bool (*recognises)(const char *folder);

    /* Required, may block: as sh_dataset_read; `split` and `index` are already checked. */
    sh_status (*read)(const sh_dataset *dataset, sh_split split, uint32_t index, uint8_t *bytes,
                      int32_t *label);

    /* NULL where samples are on no disk; may block: as sh_dataset_touch. */
    bool (*touch)(const sh_dataset *dataset, sh_split split, uint32_t index);

    /* NULL where samples are on no disk: fills in zeroed contents, as sh_contents_of. */
    void (*contents)(const sh_dataset *dataset, sh_contents *contents);

    /* Required where `contents` is set, may block: as sh_contents_read; the range is already
     * checked. */
    sh_status (*fetch)(const sh_dataset *dataset, uint32_t file, uint64_t offset, uint8_t *bytes,
                       size_t count);

    /* Required: frees all; `dataset` is not NULL. */
    void (*close)(sh_dataset *dataset);
} sh_dataset_ops;

struct sh_dataset {
    const sh_dataset_ops *ops;
    sh_dataset_info info;
};

/* The place of a split in a message: "training" or "validation". */
const char *sh_split_name(sh_split split);

/* Fails unless `folder` is a folder that can be read, saying which it is not. */
sh_status sh_folder_check(const char *folder) SHOAL_CHECKED;

extern const sh_dataset_ops sh_digits_ops;   /* digits.c */
extern const sh_dataset_ops sh_mnist_ops;    /* mnist.c */
extern const sh_dataset_ops sh_cifar10_ops;  /* cifar_set.c */
extern const sh_dataset_ops sh_cifar100_ops; /* cifar_set.c */
extern const sh_dataset_ops sh_noise_ops;    /* noise.c */

#endif
