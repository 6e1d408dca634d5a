/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of photos, looked through: which photos there are, what each is labelled with, and which
 * validate.
 *
 *     sh_photo_list *list;
 *     SH_TRY(sh_photo_list_make(&list, "/data/flowers", &options));
 *     list->files.items[41].label        // its class
 *     sh_photo_list_free(list);
 *
 * A folder is laid out in one of these ways:
 *
 *     train/CLASS/...  with val/, valid/, validation/ or test/CLASS/...
 *     CLASS/...        divided by the names of the files (data/split.h)
 *     labels.csv or metadata.csv, beside the photos or above them (photo_labels.h); in train/ and
 *                      val/ too
 *
 * Classes are in the order of their names' bytes.
 *
 * Threads: caller locks; a list that is made never changes.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_LIST_H
#define SHOAL_DATA_PHOTOS_PHOTO_LIST_H

#include <jansson.h>

#include "data/photos/photo_files.h"

typedef struct sh_photo_list {
    sh_photo_files files; /* training first, each split by path */
    uint32_t count[SH_SPLITS];
    sh_target target;
    uint32_t outputs; /* classes, labels or numbers; 0 where a sample is its own target */
    size_t rows;      /* of the CSV files */
    float *values;    /* labels, or numbers standardised by the training photos': `outputs` of each
                         row, which a file's `label` is the index of; owned */
    double *numbers;  /* as they are in the files, while the list is made; owned */
    json_t *about;    /* "classes", "targets", "notes" as in data/source.h; owned */
} sh_photo_list;

/* `*list` is owned. Fails with SH_INVALID, which names all that is wrong with the folder, or the
 * first of it, and as the disk does. */
sh_status sh_photo_list_make(sh_photo_list **list, const char *folder,
                             const sh_read_options *options) SHOAL_CHECKED;

/* NULL is fine. */
void sh_photo_list_free(sh_photo_list *list);

#endif
