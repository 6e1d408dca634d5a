/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recordings of a folder, each with its class and split.
 *
 * Labels come from file names if --label-from contains {label} (label_pattern.h), otherwise from
 * the folder CLASS of train/CLASS/... (with val, valid, validation or test beside train) or of
 * CLASS/.... If the data define no split, split.h makes it: by {group} if the form has it,
 * otherwise by path.
 *
 *     sh_sound_list list;
 *     SH_TRY(sh_sound_list_make(&list, "/data/digits", options));
 *     const sh_sound_item *item = &list.items[list.in[SH_SPLIT_TRAIN] + 7];
 *     sh_sound_list_release(&list);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_SOUND_SOUND_LIST_H
#define SHOAL_DATA_SOUND_SOUND_LIST_H

#include <jansson.h>

#include "data/dataset.h"
#include "data/sound/sound_folder.h"

#define SH_SOUND_CLASSES_MOST 65536

typedef struct sh_sound_item {
    uint32_t file; /* in folder.files */
    uint32_t class;
    sh_split split;
    const char *label; /* texts belong to the folder */
    const char *group; /* "" without groups */
} sh_sound_item;

typedef struct sh_sound_list {
    sh_sound_folder folder;
    sh_sound_item *items; /* one for each file; training first, each split sorted by path; owned */
    size_t count;
    const char **classes; /* sorted by bytes; owned */
    uint32_t class_count;
    uint32_t in[SH_SPLITS]; /* items of each split */
    bool grouped;
} sh_sound_list;

/*
 * `*list` is owned. Fails as sh_sound_folder_open, and with SH_INVALID if a file has no label,
 * there is only one class, a class has no training recordings or a group is in both splits.
 */
sh_status sh_sound_list_make(sh_sound_list *list, const char *place,
                             const sh_read_options *options) SHOAL_CHECKED;

/* Appends groups, classes without validation recordings and skipped files. */
sh_status sh_sound_list_note(sh_sound_list *list, json_t *notes) SHOAL_CHECKED;

/* Appends one note, cleaned for display. */
sh_status sh_sound_note(json_t *notes, const char *format, ...) SHOAL_CHECKED
    __attribute__((format(printf, 2, 3)));

void sh_sound_list_release(sh_sound_list *list);

#endif
