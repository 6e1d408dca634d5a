/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The items are sorted three times: by label, to number the classes; by group, to check them;
 * finally by split and path.
 */
#include "data/sound/sound_list.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "data/dataset_impl.h"
#include "data/label_pattern.h"
#include "data/split.h"

#define NOTE_BYTES 512
#define VAL_SPLIT 0.2

typedef struct labelling {
    const sh_label_pattern *form; /* or NULL: folders only */
    bool splits;                  /* the first folder of each path is the split */
} labelling;

/* --- labels --- */

/* True if the first folder of a path is "train" or "training". Unless names give the class
 * (`labelled`), it must contain the folder of a class; otherwise "train" is a class itself. */
static bool has_split_folders(const sh_sound_folder *folder, bool labelled)
{
    for (size_t i = 0; i < folder->count; i++) {
        const char *path = folder->files[i].path;
        const size_t length = strcspn(path, "/");
        if (path[length] == '/' && (length == 5 || length == 8) &&
            strncmp(path, "training", length) == 0 &&
            (labelled || strchr(path + length + 1, '/') != NULL))
            return true;
    }
    return false;
}

/* Copies the folder at `*at` and advances past its slash. False if only the file name is left. */
static bool next_folder(char name[SH_LABEL_BYTES], const char **at)
{
    const size_t length = strcspn(*at, "/");
    if ((*at)[length] != '/' || length >= SH_LABEL_BYTES)
        return false;
    memcpy(name, *at, length);
    name[length] = '\0';
    *at += length + 1;
    return true;
}

static sh_status read_path(sh_label_match *match, const labelling *way, const char *place,
                           const char *path)
{
    const char *at = path;
    char name[SH_LABEL_BYTES];
    *match = (sh_label_match){.split = SH_SPLIT_TRAIN};
    if (way->form != NULL)
        SH_TRY(sh_fail_in(sh_label_pattern_match(match, way->form, path), "%s", place));
    if (way->splits && (!next_folder(name, &at) || !sh_label_split(&match->split, name)))
        return sh_fail(SH_INVALID,
                       "%s: %s is not in train, val, valid, validation or test, unlike others",
                       place, path);
    if (way->form != NULL && way->form->has_label)
        return SH_OK;
    if (!next_folder(match->label, &at))
        return sh_fail(SH_INVALID,
                       "%s: %s has no label: put recordings into a folder for each class, or "
                       "describe their names: --label-from '{label}_{}.wav'",
                       place, path);
    return SH_OK;
}

/* Stores a text in the arena. Reuses `before`, the previous item's text, if it is equal. */
static sh_status keep(const char **kept, sh_sound_list *list, const char *before, const char *text)
{
    *kept = before != NULL && strcmp(before, text) == 0 ? before
                                                        : sh_arena_text(&list->folder.arena, text);
    return *kept == NULL ? sh_fail_memory(strlen(text), "names of classes") : SH_OK;
}

static sh_status label(sh_sound_list *list, const labelling *way)
{
    for (size_t i = 0; i < list->count; i++) {
        sh_sound_item *item = &list->items[i];
        const sh_sound_item *before = i > 0 ? item - 1 : NULL;
        sh_label_match match;
        SH_TRY(read_path(&match, way, list->folder.place, list->folder.files[i].path));
        item->file = (uint32_t)i;
        item->split = match.split;
        SH_TRY(keep(&item->label, list, before == NULL ? NULL : before->label, match.label));
        SH_TRY(keep(&item->group, list, before == NULL ? NULL : before->group, match.group));
    }
    return SH_OK;
}

static int by_label(const void *a, const void *b)
{
    return strcmp(((const sh_sound_item *)a)->label, ((const sh_sound_item *)b)->label);
}

static int by_group(const void *a, const void *b)
{
    const sh_sound_item *x = a, *y = b;
    const int order = strcmp(x->group, y->group);
    return order != 0 ? order : (x->split > y->split) - (x->split < y->split);
}

static int by_place(const void *a, const void *b)
{
    const sh_sound_item *x = a, *y = b;
    if (x->split != y->split)
        return x->split < y->split ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

static sh_status number(sh_sound_list *list)
{
    const char *place = list->folder.place;
    size_t capacity = 0;
    qsort(list->items, list->count, sizeof *list->items, by_label);
    for (size_t i = 0; i < list->count; i++) {
        sh_sound_item *item = &list->items[i];
        if (i == 0 || strcmp(item->label, item[-1].label) != 0) {
            if (list->class_count == SH_SOUND_CLASSES_MOST)
                return sh_fail(SH_LIMIT, "%s: has more than %d classes; is {label} the right part?",
                               place, SH_SOUND_CLASSES_MOST);
            SH_TRY(sh_array_grow((void **)&list->classes, &capacity, list->class_count + 1,
                                 sizeof *list->classes));
            list->classes[list->class_count++] = item->label;
        }
        item->class = list->class_count - 1;
    }
    if (list->class_count == 1)
        return sh_fail(SH_INVALID,
                       "%s: all recordings are of one class, '%s': there is nothing to distinguish",
                       place, list->classes[0]);
    return SH_OK;
}

/* --- splits --- */

static sh_status divide(sh_sound_list *list, double part)
{
    size_t bytes;
    if (!sh_size_mul(list->count, sizeof(sh_split_item), &bytes))
        return sh_fail_memory(SIZE_MAX, "the split of the data");
    sh_split_item *items = malloc(bytes > 0 ? bytes : 1);
    if (items == NULL)
        return sh_fail_memory(bytes, "the split of the data");
    for (size_t i = 0; i < list->count; i++) {
        const sh_sound_item *item = &list->items[i];
        items[i] = (sh_split_item){.name = list->grouped ? item->group
                                                         : list->folder.files[item->file].path,
                                   .class = item->class};
    }
    const sh_status status = sh_fail_in(
        sh_split_assign(items, list->count, list->class_count, part), "%s", list->folder.place);
    for (size_t i = 0; status == SH_OK && i < list->count; i++)
        list->items[i].split = items[i].split;
    free(items);
    return status;
}

static sh_status check_groups(sh_sound_list *list)
{
    qsort(list->items, list->count, sizeof *list->items, by_group);
    for (size_t i = 1; i < list->count; i++) {
        const sh_sound_item *a = &list->items[i - 1], *b = &list->items[i];
        if (strcmp(a->group, b->group) == 0 && a->split != b->split)
            return sh_fail(SH_INVALID,
                           "%s: group '%s' has recordings in both splits, for example %s and %s; "
                           "results would be too good: move them to one",
                           list->folder.place, a->group, list->folder.files[a->file].path,
                           list->folder.files[b->file].path);
    }
    return SH_OK;
}

static sh_status check_splits(sh_sound_list *list)
{
    const char *place = list->folder.place;
    uint32_t *learned = calloc(list->class_count, sizeof *learned);
    if (learned == NULL)
        return sh_fail_memory(list->class_count * sizeof *learned, "the split of the data");
    const sh_sound_item *lonely = NULL;
    for (size_t i = 0; i < list->count; i++) {
        list->in[list->items[i].split]++;
        if (list->items[i].split == SH_SPLIT_TRAIN)
            learned[list->items[i].class]++;
    }
    for (size_t i = 0; lonely == NULL && i < list->count; i++)
        if (learned[list->items[i].class] == 0)
            lonely = &list->items[i];
    free(learned);
    for (int split = 0; split < SH_SPLITS; split++)
        if (list->in[split] == 0)
            return sh_fail(SH_INVALID, "%s: there are no %s recordings", place,
                           sh_split_name((sh_split)split));
    if (lonely == NULL)
        return SH_OK;
    if (list->grouped)
        return sh_fail(SH_INVALID,
                       "%s: class '%s' has only recordings of group '%s', which is for validation: "
                       "it cannot be learnt; add recordings of other groups",
                       place, lonely->label, lonely->group);
    return sh_fail(SH_INVALID,
                   "%s: class '%s' has recordings for validation but none for training, such as %s",
                   place, lonely->label, list->folder.files[lonely->file].path);
}

static sh_status fill(sh_sound_list *list, const labelling *way, const sh_read_options *options)
{
    list->count = list->folder.count;
    list->items = calloc(list->count, sizeof *list->items);
    if (list->items == NULL)
        return sh_fail_memory(list->count * sizeof *list->items, "the list of recordings");
    if (list->folder.empty != NULL && (way->form == NULL || !way->form->has_label))
        return sh_fail(SH_INVALID,
                       "%s: the folder %s is empty: put the recordings of its class there, or "
                       "remove it",
                       list->folder.place, list->folder.empty);
    SH_TRY(label(list, way));
    SH_TRY(number(list));
    bool validates = false;
    for (size_t i = 0; i < list->count; i++)
        validates |= list->items[i].split == SH_SPLIT_VALIDATION;
    if (!validates)
        SH_TRY(divide(list, options->val_split > 0 ? (double)options->val_split : VAL_SPLIT));
    else if (list->grouped)
        SH_TRY(check_groups(list));
    SH_TRY(check_splits(list));
    qsort(list->items, list->count, sizeof *list->items, by_place);
    return SH_OK;
}

sh_status sh_sound_list_make(sh_sound_list *list, const char *place, const sh_read_options *options)
{
    sh_sound_list fresh = {.count = 0};
    sh_label_pattern form;
    labelling way = {.form = NULL};
    if (options->label_from != NULL && options->label_from[0] != '\0') {
        SH_TRY(sh_label_pattern_parse(&form, options->label_from));
        way.form = &form;
        fresh.grouped = form.has_group;
    }
    SH_TRY(sh_sound_folder_open(&fresh.folder, place));
    if (way.form == NULL || (!form.has_split && !form.has_slash))
        way.splits = has_split_folders(&fresh.folder, way.form != NULL && form.has_label);
    const sh_status status = fill(&fresh, &way, options);
    if (status != SH_OK) {
        sh_sound_list_release(&fresh);
        return status;
    }
    *list = fresh;
    return SH_OK;
}

/* --- notes --- */

sh_status sh_sound_note(json_t *notes, const char *format, ...)
{
    char text[NOTE_BYTES], clean[NOTE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (json_array_append_new(notes, json_string(sh_utf8_clean(clean, sizeof clean, text))) != 0)
        return sh_fail_memory(sizeof text, "notes");
    return SH_OK;
}

/* Adds the groups of a split and their numbers of recordings. Items must be sorted by group. */
static sh_status note_groups(const sh_sound_list *list, json_t *notes, sh_split split)
{
    char text[NOTE_BYTES / 2] = "";
    size_t used = 0, groups = 0;
    for (size_t i = 0, end; i < list->count; i = end) {
        const sh_sound_item *first = &list->items[i];
        for (end = i + 1; end < list->count; end++)
            if (strcmp(list->items[end].group, first->group) != 0)
                break;
        if (first->split != split)
            continue;
        groups++;
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %zu",
                                     groups > 1 ? ", " : "", first->group, end - i);
    }
    return sh_sound_note(notes, "groups of the %s split and their recordings: %s%s (%zu groups)",
                         sh_split_name(split), text, used >= sizeof text ? " ..." : "", groups);
}

static sh_status note_classes(const sh_sound_list *list, json_t *notes)
{
    bool *validated = calloc(list->class_count, sizeof *validated);
    if (validated == NULL)
        return sh_fail_memory(list->class_count, "notes");
    for (size_t i = 0; i < list->count; i++)
        if (list->items[i].split == SH_SPLIT_VALIDATION)
            validated[list->items[i].class] = true;
    sh_status status = SH_OK;
    for (uint32_t class = 0; class < list->class_count && status == SH_OK; class ++)
        if (!validated[class])
            status = sh_sound_note(notes, "class '%s' has no recordings in validation",
                                   list->classes[class]);
    free(validated);
    return status;
}

sh_status sh_sound_list_note(sh_sound_list *list, json_t *notes)
{
    if (list->grouped) {
        qsort(list->items, list->count, sizeof *list->items, by_group);
        sh_status status = SH_OK;
        for (int split = 0; split < SH_SPLITS && status == SH_OK; split++)
            status = note_groups(list, notes, (sh_split)split);
        qsort(list->items, list->count, sizeof *list->items, by_place);
        SH_TRY(status);
    }
    SH_TRY(note_classes(list, notes));
    if (list->folder.others > 0)
        return sh_sound_note(
            notes, "%llu other files are left out: their names do not end like those of recordings",
            (unsigned long long)list->folder.others);
    return SH_OK;
}

void sh_sound_list_release(sh_sound_list *list)
{
    sh_sound_folder_close(&list->folder);
    free(list->items);
    free(list->classes);
    *list = (sh_sound_list){.folder = {.fd = -1}};
}
