/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Labels of photos from CSV files: a header, then a row for each photo.
 *
 *     file_name,label            file_name,labels             file_name,x,y
 *     a/1.jpg,rose               1.jpg,indoor|night           1.jpg,0.25,-3
 *
 * The column of the files is called file_name, filename, image, file or path, the first of these
 * that there is; paths are below the CSV file's folder. All other columns are labels, or those that
 * `columns` names.
 *
 *     one column of words or whole numbers     classification
 *     one column of words parted by |          multi-label
 *     several columns of 0 and 1               multi-label, named by their columns
 *     several columns of words                 multi-label
 *     other numbers                            regression
 *
 * A task that is given decides instead. Classes and labels are sorted by their bytes, or by number
 * where all are whole numbers. Fields may be quoted (RFC 4180); a mark of UTF-8 at the beginning is
 * passed over.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_LABELS_H
#define SHOAL_DATA_PHOTOS_PHOTO_LABELS_H

#include <jansson.h>

#include "base/complaints.h"
#include "data/photos/photo_files.h"

#define SH_PHOTO_COLUMNS_MOST 4096
#define SH_PHOTO_LABELS_BYTES (256u << 20) /* of a CSV file, at most */

typedef struct sh_photo_labels sh_photo_labels;

/* `columns` are names of columns that are labels, "a,b", or ""; borrowed. `*labels` is owned. */
sh_status sh_photo_labels_new(sh_photo_labels **labels, const char *columns) SHOAL_CHECKED;

/* Adds the rows of `folder`/`name`, whose photos lie below `folder`/`below`. Both files of a folder
 * have the same columns. Fails with SH_FORMAT, naming the line, and as the disk does. */
sh_status sh_photo_labels_read(sh_photo_labels *labels, const char *folder, const char *name,
                               const char *below) SHOAL_CHECKED;

/* Of bytes in memory; `name` is for messages. */
sh_status sh_photo_labels_parse(sh_photo_labels *labels, const char *name, const char *below,
                                const char *bytes, size_t count) SHOAL_CHECKED;

/*
 * Finds the row of each photo, which becomes its `label`, and notes photos without a row and rows
 * without a photo. `files` are sorted by name alone.
 */
void sh_photo_labels_match(const sh_photo_labels *labels, sh_photo_files *files,
                           sh_complaints *bad);

/* What the labels are. */
typedef struct sh_photo_targets {
    sh_target target;
    uint32_t outputs;
    uint32_t *classes; /* of each row, where that is the target; owned, as are the others */
    float *labels;     /* `outputs` of each row, 0 or 1, where those are the target */
    double *numbers;   /* `outputs` of each row, where those are the target */
    json_t *names;     /* of classes, labels or columns */
} sh_photo_targets;

/* `task` is a name of sh_target, but not of SH_TARGET_SAMPLE, or "": by what the labels are. On
 * failure there is nothing to release. Fails with SH_INVALID, SH_FORMAT, naming the line. */
sh_status sh_photo_labels_decide(sh_photo_targets *targets, const sh_photo_labels *labels,
                                 const char *task) SHOAL_CHECKED;

void sh_photo_targets_release(sh_photo_targets *targets);

/* Rows so far. */
size_t sh_photo_labels_rows(const sh_photo_labels *labels);

/* NULL is fine. */
void sh_photo_labels_free(sh_photo_labels *labels);

#endif
