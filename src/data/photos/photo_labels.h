/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of photos from CSV files: a header, then a row for each photo.
 *
 *     file_name,label            file_name,labels             file_name,x,y
 *     a/1.jpg,rose               1.jpg,indoor|night           1.jpg,0.25,-3
 *
 * The column of file paths is the first that exists of file_name, filename, image, file and path.
 * Paths are relative to the CSV file's folder. All other columns are labels, unless `columns`
 * selects some.
 *
 *     one column of words or whole numbers     classification
 *     one column of words separated by |       multi-label
 *     several columns of 0 and 1               multi-label, named by their columns
 *     several columns of words                 multi-label
 *     other numbers                            regression
 *
 * A given task overrides this. Classes and labels are sorted by bytes, or by value if all are whole
 * numbers. Fields may be quoted (RFC 4180). A UTF-8 byte order mark is skipped.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_LABELS_H
#define SHOAL_DATA_PHOTOS_PHOTO_LABELS_H

#include <jansson.h>

#include "base/diagnostics.h"
#include "data/photos/photo_files.h"

#define SH_PHOTO_COLUMNS_MOST 4096
#define SH_PHOTO_LABELS_BYTES (256u << 20) /* of a CSV file */

typedef struct sh_photo_labels sh_photo_labels;

/* `columns` lists the label columns, "a,b", or is "" for all; borrowed for the lifetime of
 * `*labels`. */
sh_status sh_photo_labels_new(sh_photo_labels **labels, const char *columns) SHOAL_CHECKED;

/* Adds the rows of `folder`/`name`, whose photos are below `folder`/`below`. All files must have
 * the same columns. Fails with SH_FORMAT, naming the line, and with errors of the disk. */
sh_status sh_photo_labels_read(sh_photo_labels *labels, const char *folder, const char *name,
                               const char *below) SHOAL_CHECKED;

/* The same from memory; `name` is for messages. */
sh_status sh_photo_labels_parse(sh_photo_labels *labels, const char *name, const char *below,
                                const char *bytes, size_t count) SHOAL_CHECKED;

/* Sets each photo's `label` to the index of its row. Adds photos without a row and rows without a
 * photo to `bad`. `files` must be sorted by name alone. */
void sh_photo_labels_match(const sh_photo_labels *labels, sh_photo_files *files,
                           sh_diagnostics *bad);

/* Only one of `classes`, `labels` and `numbers` is not NULL. */
typedef struct sh_photo_targets {
    sh_target target;
    uint32_t outputs;
    uint32_t *classes; /* [rows]; owned, as are the others */
    float *labels;     /* [rows][outputs], 0 or 1 */
    double *numbers;   /* [rows][outputs] */
    json_t *names;     /* of classes, labels or columns */
} sh_photo_targets;

/* `task` is a name of sh_target except SH_TARGET_SAMPLE's; "" chooses by the labels. Fails with
 * SH_INVALID, and with SH_FORMAT, naming the line. Then nothing needs to be released. */
sh_status sh_photo_labels_decide(sh_photo_targets *targets, const sh_photo_labels *labels,
                                 const char *task) SHOAL_CHECKED;

void sh_photo_targets_release(sh_photo_targets *targets);

size_t sh_photo_labels_rows(const sh_photo_labels *labels);

void sh_photo_labels_free(sh_photo_labels *labels);

#endif
