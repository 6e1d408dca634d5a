/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file's name says of its samples: the form that a user gives with --label-from.
 *
 *     sh_label_form form;
 *     sh_label_match match;
 *     SH_TRY(sh_label_form_parse(&form, "{label}_{group}_{}.wav"));
 *     SH_TRY(sh_label_form_match(&match, &form, "digits/7_anna_12.wav"));
 *     // match.label is "7", match.group "anna"
 *
 * A form is text with placeholders:
 *
 *     {label}   the class
 *     {group}   who or what must never stand in both splits: a person, a device
 *     {split}   train or training; val, valid, validation or test
 *     {}        anything
 *
 * A form without `/` is matched against the last part of a path, the file's name; one with `/`
 * against the whole path below the folder, part by part. A placeholder takes at least one
 * character, never a `/`, and ends where the text behind it comes first; text at the end of a part
 * stands at its end.
 *
 * Threads: any; these are values.
 */
#ifndef SHOAL_DATA_LABEL_FORM_H
#define SHOAL_DATA_LABEL_FORM_H

#include "data/dataset.h"

#define SH_LABEL_FORM_BYTES 256 /* of a form, with its end */
#define SH_LABEL_FORM_PIECES 32
#define SH_LABEL_BYTES 256 /* of a label or group, with its end */

typedef enum sh_label_piece {
    SH_LABEL_TEXT,
    SH_LABEL_SLASH,
    SH_LABEL_ANY,
    SH_LABEL_CLASS,
    SH_LABEL_GROUP,
    SH_LABEL_SPLIT,
} sh_label_piece;

typedef struct sh_label_form {
    char text[SH_LABEL_FORM_BYTES]; /* as the user wrote it */
    bool has_label, has_group, has_split, has_slash;
    size_t count;
    struct {
        sh_label_piece kind;
        size_t at, length; /* in `text`; of SH_LABEL_TEXT alone */
    } pieces[SH_LABEL_FORM_PIECES];
} sh_label_form;

/* Only what the form has placeholders for is set; the rest is "" and SH_SPLIT_TRAIN. */
typedef struct sh_label_match {
    char label[SH_LABEL_BYTES], group[SH_LABEL_BYTES];
    sh_split split;
} sh_label_match;

/*
 * Reads a form (copied). SH_INVALID says what is wrong with it: an unknown placeholder, one that is
 * there twice, two with no text between, or no placeholder that says anything.
 */
sh_status sh_label_form_parse(sh_label_form *form, const char *text) SHOAL_CHECKED;

/* What `path`, of a file below the folder, says. SH_INVALID names a path that is not of the form,
 * or whose split has an unknown name. */
sh_status sh_label_form_match(sh_label_match *match, const sh_label_form *form,
                              const char *path) SHOAL_CHECKED;

/* The split that a folder or a name stands for, by the names above; false where it is none. */
bool sh_label_split(sh_split *split, const char *name);

#endif
