/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The photos of a folder, their labels, and their split.
 *
 * Layouts of the folder:
 *
 *     train/CLASS/...  with val/, valid/, validation/ or test/CLASS/...
 *     CLASS/...        split by the names of the files (data/split.h)
 *     labels.csv or metadata.csv, beside the photos or above them (photo_labels.h); in train/ and
 *                      val/ too
 *
 * Classes are in the order of their names' bytes.
 *
 * Threads: caller locks; a made list does not change.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_LIST_H
#define SHOAL_DATA_PHOTOS_PHOTO_LIST_H

#include <jansson.h>

#include "data/photos/photo_files.h"

typedef struct sh_photo_list {
    sh_photo_files files; /* training photos first, each split sorted by path */
    uint32_t count[SH_SPLITS];
    sh_target target;
    uint32_t outputs; /* classes, labels or numbers; 0 if a sample is its own target */
    size_t rows;      /* of all CSV files */
    float *values;    /* labels, or numbers standardised by the training photos': [rows][outputs]; a
                         file's row is its `label`. Owned */
    double *numbers;  /* unstandardised, only while the list is made; owned */
    json_t *about;    /* "classes", "targets", "notes" as in data/source.h; owned */
} sh_photo_list;

/* Fails with SH_INVALID, listing the problems of the folder, and with errors of the disk. */
sh_status sh_photo_list_make(sh_photo_list **list, const char *folder,
                             const sh_read_options *options) SHOAL_CHECKED;

void sh_photo_list_free(sh_photo_list *list);

#endif
