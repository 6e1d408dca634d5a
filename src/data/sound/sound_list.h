/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recordings of a folder, each with its class and split.
 *
 *     sh_sound_list list;
 *     SH_TRY(sh_sound_list_make(&list, "/data/digits", options));
 *     const sh_sound_item *item = &list.items[list.in[SH_SPLIT_TRAIN] + 7];
 *     sh_sound_list_release(&list);
 *
 * Labels come from the files' names where --label-from has {label} (label_form.h), else from the
 * folder CLASS of train/CLASS/... (with val, valid, validation or test beside train) or of
 * CLASS/.... Where the data have no split it is made by split.h: by {group} where the form has it,
 * else by path.
 *
 * Threads: one.
 */
#ifndef SHOAL_DATA_SOUND_SOUND_LIST_H
#define SHOAL_DATA_SOUND_SOUND_LIST_H

#include <jansson.h>

#include "data/dataset.h"
#include "data/sound/sound_folder.h"

#define SH_SOUND_CLASSES_MOST 65536

typedef struct sh_sound_item {
    uint32_t file; /* of the folder */
    uint32_t class;
    sh_split split;
    const char *label; /* texts are the folder's */
    const char *group; /* "" where the form has none */
} sh_sound_item;

typedef struct sh_sound_list {
    sh_sound_folder folder;
    sh_sound_item *items; /* one for each file; training before validation, each by path; owned */
    size_t count;
    const char **classes; /* by their bytes; owned */
    uint32_t class_count;
    uint32_t in[SH_SPLITS]; /* items of each split */
    bool grouped;           /* items have groups */
} sh_sound_list;

/*
 * Fills the list, to be released. Fails as sh_sound_folder_open, and with SH_INVALID where a file
 * has no label, there is one class alone, a class is only in validation or a group in both splits.
 */
sh_status sh_sound_list_make(sh_sound_list *list, const char *place,
                             const sh_read_options *options) SHOAL_CHECKED;

/* Appends lines to an array: groups, classes that validation lacks, files left out. */
sh_status sh_sound_list_note(sh_sound_list *list, json_t *notes) SHOAL_CHECKED;

/* Appends one line to an array, safe to show. */
sh_status sh_sound_note(json_t *notes, const char *format, ...) SHOAL_CHECKED
    __attribute__((format(printf, 2, 3)));

void sh_sound_list_release(sh_sound_list *list);

#endif
