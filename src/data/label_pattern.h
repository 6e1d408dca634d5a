/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extracts label, group and split from file names by the form in --label-from.
 *
 * A form is text with placeholders, such as "{label}_{group}_{}.wav":
 *
 *     {label}   the class
 *     {group}   never divided between the splits: a person, a device
 *     {split}   train or training; val, valid, validation or test
 *     {}        anything
 *
 * Without `/` a form matches the file name; with `/` the whole path below the folder, part by part.
 * A placeholder matches at least one character but no `/`, up to the first occurrence of the text
 * after it. Text that ends a part matches only at its end.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_LABEL_PATTERN_H
#define SHOAL_DATA_LABEL_PATTERN_H

#include "data/dataset.h"

#define SH_LABEL_PATTERN_BYTES 256 /* with NUL */
#define SH_LABEL_PATTERN_PIECES 32
#define SH_LABEL_BYTES 256 /* with NUL */

typedef enum sh_label_piece {
    SH_LABEL_TEXT,
    SH_LABEL_SLASH,
    SH_LABEL_ANY,
    SH_LABEL_CLASS,
    SH_LABEL_GROUP,
    SH_LABEL_SPLIT,
} sh_label_piece;

typedef struct sh_label_pattern {
    char text[SH_LABEL_PATTERN_BYTES];
    bool has_label, has_group, has_split, has_slash;
    size_t count;
    struct {
        sh_label_piece kind;
        size_t at, length; /* in `text` */
    } pieces[SH_LABEL_PATTERN_PIECES];
} sh_label_pattern;

/* Absent placeholders leave "" and SH_SPLIT_TRAIN. */
typedef struct sh_label_match {
    char label[SH_LABEL_BYTES], group[SH_LABEL_BYTES];
    sh_split split;
} sh_label_match;

/* SH_INVALID: an unknown or repeated placeholder, two without text between, or only {}. */
sh_status sh_label_pattern_parse(sh_label_pattern *form, const char *text) SHOAL_CHECKED;

/* `path` is below the folder. SH_INVALID names a path without a match or with an unknown split. */
sh_status sh_label_pattern_match(sh_label_match *match, const sh_label_pattern *form,
                                 const char *path) SHOAL_CHECKED;

/* Finds a split by a name of {split}; false: none. */
bool sh_label_split(sh_split *split, const char *name);

#endif
