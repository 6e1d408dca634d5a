/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format `photos:DIR`: folders of photos (photo_list.h), each decoded and resized to a square
 * (photo.h). Samples are grey if the headers of all files say so.
 *
 * The digest covers the names, sizes, modification times and labels of all photos, in order, and
 * the options.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "data/extent.h"
#include "data/file_reader.h"
#include "data/packed.h"
#include "data/photos/photo_list.h"
#include "data/photos/photo_load.h"
#include "data/trained.h"

#define HEAD_FIRST 4096 /* bytes read first */
#define LOOKED_MOST 512 /* entries of a folder that are examined */

typedef struct photos {
    sh_source base;
    char *folder; /* owned */
    sh_photo_list *list;
    sh_read_options options; /* its texts are `task` and `target` */
    char *task, *target;     /* owned */
    sh_photo_form form;
} photos;

static const photos *photos_of(const sh_source *source)
{
    return (const photos *)source;
}

static const sh_photo_file *file_of(const photos *p, sh_split split, uint32_t index)
{
    const size_t first = split == SH_SPLIT_TRAIN ? 0 : p->list->count[SH_SPLIT_TRAIN];
    return &p->list->files.items[first + index];
}

/* --- reading --- */

static sh_status path_of(char path[SH_PHOTO_PATH], const photos *p, const char *name)
{
    const int length = snprintf(path, SH_PHOTO_PATH, "%s/%s", p->folder, name);
    return length >= 0 && (size_t)length < SH_PHOTO_PATH
               ? SH_OK
               : sh_fail(SH_CORRUPT, "its path is too long");
}

static sh_status read_photo(uint8_t *sample, const photos *p, const char *name)
{
    char path[SH_PHOTO_PATH];
    SH_TRY(path_of(path, p, name));
    return sh_photo_load(sample, &p->form, path);
}

static sh_status photos_read(const sh_source *source, sh_split split, uint32_t index, void *sample,
                             void *target)
{
    const photos *p = photos_of(source);
    const sh_photo_file *file = file_of(p, split, index);
    const sh_status status = read_photo(sample, p, file->name);
    if (status != SH_OK) {
        char clean[512];
        return sh_fail_in(status, "%s", sh_utf8_clean(clean, sizeof clean, file->name));
    }
    if (p->list->target == SH_TARGET_CLASS) {
        const int32_t class = (int32_t)file->label;
        memcpy(target, &class, sizeof class);
    } else if (p->list->target != SH_TARGET_SAMPLE) {
        const size_t outputs = p->list->outputs;
        memcpy(target, p->list->values + file->label * outputs, outputs * sizeof(float));
    }
    return SH_OK;
}

static void photos_name(const sh_source *source, sh_split split, uint32_t index, char *text,
                        size_t bytes)
{
    (void)sh_utf8_clean(text, bytes, file_of(photos_of(source), split, index)->name);
}

/* --- changes --- */

static sh_status fail_changed(const photos *p, const char *name, const char *what)
{
    char clean[512];
    return sh_fail(SH_CORRUPT,
                   "%s/%s %s while the folder was packed; try again when it is complete", p->folder,
                   sh_utf8_clean(clean, sizeof clean, name), what);
}

static sh_status compare(const photos *p, const sh_photo_list *now)
{
    const sh_photo_files *then = &p->list->files, *files = &now->files;
    size_t i = 0;
    while (i < then->count && i < files->count &&
           strcmp(then->items[i].name, files->items[i].name) == 0) {
        const sh_photo_file *a = &then->items[i], *b = &files->items[i++];
        if (a->bytes != b->bytes || a->changed_ns != b->changed_ns || a->label != b->label ||
            a->split != b->split)
            return fail_changed(p, a->name, "changed");
    }
    if (i < then->count && (i == files->count || then->count >= files->count))
        return fail_changed(p, then->items[i].name, "disappeared");
    if (i < files->count)
        return fail_changed(p, files->items[i].name, "appeared");
    return SH_OK;
}

static sh_status photos_unchanged(const sh_source *source)
{
    const photos *p = photos_of(source);
    sh_photo_list *now;
    SH_TRY(sh_fail_in(sh_photo_list_make(&now, p->folder, &p->options),
                      "the folder changed while it was packed"));
    const sh_status status = compare(p, now);
    sh_photo_list_free(now);
    return status;
}

static void photos_close(sh_source *source)
{
    photos *p = (photos *)source;
    sh_photo_list_free(p->list);
    json_decref(p->base.about);
    free(p->folder);
    free(p->task);
    free(p->target);
    free(p);
}

static const sh_source_ops photos_ops = {
    .read = photos_read,
    .unchanged = photos_unchanged,
    .name = photos_name,
    .close = photos_close,
};

/* --- looking --- */

/* A photo that cannot be opened counts as grey: it is reported as damaged later. */
static sh_status is_grey(bool *grey, const photos *p, const char *name, uint8_t *room)
{
    int fd;
    size_t got = 0;
    char path[SH_PHOTO_PATH];
    *grey = true;
    if (path_of(path, p, name) != SH_OK || sh_photo_open(&fd, path) != SH_OK)
        return SH_OK;
    sh_status status = sh_extent_read(&got, fd, 0, room, HEAD_FIRST);
    *grey = status == SH_OK && sh_photo_is_grey(room, got);
    if (status == SH_OK && !*grey && got == HEAD_FIRST) { /* the header may be longer */
        status = sh_extent_read(&got, fd, 0, room, SH_PHOTO_HEAD_BYTES);
        *grey = status == SH_OK && sh_photo_is_grey(room, got);
    }
    close(fd);
    return SH_OK;
}

/* Stops at the first photo in colour. */
static sh_status find_channels(photos *p)
{
    const sh_photo_files *files = &p->list->files;
    uint8_t *room = malloc(SH_PHOTO_HEAD_BYTES);
    bool grey = true;
    sh_status status = SH_OK;
    if (room == NULL)
        return sh_fail_memory(SH_PHOTO_HEAD_BYTES, "the head of a photo");
    for (size_t i = 0; i < files->count && grey && status == SH_OK; i++)
        status = is_grey(&grey, p, files->items[i].name, room);
    free(room);
    p->form.channels = grey ? 1 : 3;
    const sh_trained *trained = p->options.trained;
    if (trained == NULL || status != SH_OK)
        return status;
    if (!grey && trained->info.channels == 1)
        return sh_fail(SH_MISMATCH,
                       "%s: has photos in colour, but the run was trained with grey ones; make "
                       "them grey",
                       p->folder);
    p->form.channels = trained->info.channels == 1 ? 1 : 3;
    return SH_OK;
}

static sh_status make_digest(photos *p)
{
    sh_digest *digest;
    char text[256];
    SH_TRY(sh_digest_new(&digest));
    const sh_photo_list *list = p->list;
    int length = snprintf(text, sizeof text, "photos 1 %" PRIu32 " %" PRIu32 " %s %d %d %" PRIu32,
                          p->form.side, p->form.channels, sh_fit_name(p->form.fit), p->form.no_exif,
                          (int)list->target, list->outputs);
    sh_digest_add(digest, text, (size_t)length + 1);
    for (size_t i = 0; i < list->files.count; i++) {
        const sh_photo_file *file = &list->files.items[i];
        length = snprintf(text, sizeof text, "%" PRIu64 " %" PRId64 " %" PRIu32 " %d", file->bytes,
                          file->changed_ns, file->label, (int)file->split);
        sh_digest_add(digest, file->name, strlen(file->name) + 1);
        sh_digest_add(digest, text, (size_t)length + 1);
        if (list->values != NULL)
            sh_digest_add(digest, list->values + (size_t)file->label * list->outputs,
                          list->outputs * sizeof *list->values);
    }
    char *about = json_dumps(p->base.about, JSON_COMPACT | JSON_SORT_KEYS);
    if (about != NULL)
        sh_digest_add(digest, about, strlen(about));
    const sh_status status = sh_digest_finish(digest, p->base.digest);
    const bool told = about != NULL;
    free(about);
    SH_TRY(status);
    return told ? SH_OK : sh_fail_memory(0, "the description of photos");
}

static sh_status describe(photos *p)
{
    const sh_photo_list *list = p->list;
    sh_dataset_info *info = &p->base.info;
    info->channels = p->form.channels;
    info->height = info->width = p->form.side;
    info->element = SH_ELEMENT_BYTE;
    info->target = list->target;
    info->outputs =
        list->target == SH_TARGET_SAMPLE ? (uint32_t)sh_dataset_elements(info) : list->outputs;
    for (int split = 0; split < SH_SPLITS; split++)
        info->count[split] = list->count[split];
    p->base.about = json_deep_copy(list->about);
    json_t *inputs = json_pack("{s:s, s:i, s:i, s:s, s:b}", "kind", "photo", "side",
                               (int)p->form.side, "channels", (int)p->form.channels, "fit",
                               sh_fit_name(p->form.fit), "exif", p->form.no_exif ? 0 : 1);
    if (json_object_set_new(p->base.about, "inputs", inputs) != 0)
        return sh_fail_memory(0, "the description of photos");
    return SH_OK;
}

static sh_status take_options(photos *p, const sh_read_options *options)
{
    p->options = *options;
    p->options.on_progress = NULL;
    p->task = strdup(options->task == NULL ? "" : options->task);
    p->target = strdup(options->target == NULL ? "" : options->target);
    if (p->task == NULL || p->target == NULL)
        return sh_fail_memory(0, "the options of photos");
    p->options.task = p->task;
    p->options.target = p->target;
    p->form = (sh_photo_form){.side = options->resize > 0 ? options->resize : SH_READ_SIDE,
                              .no_exif = options->no_exif};
    if (p->form.side > SH_FIT_SIDE_MOST)
        return sh_fail(SH_INVALID, "--resize %u: photos can be resized to at most %d pixels",
                       p->form.side, SH_FIT_SIDE_MOST);
    if (!sh_fit_find(&p->form.fit, options->fit == NULL ? "" : options->fit))
        return sh_fail(SH_INVALID, "--fit %s: must be crop, pad or stretch", options->fit);
    return SH_OK;
}

static sh_status photos_look(sh_source **source, const sh_format *format, const char *argument,
                             const sh_read_options *options)
{
    sh_status status;
    photos *p = calloc(1, sizeof *p);
    if (p == NULL)
        return sh_fail_memory(sizeof *p, "the photos");
    p->base.ops = &photos_ops;
    p->base.info.name = format->name;
    p->folder = strdup(argument);
    p->base.place = p->folder;
    if (p->folder == NULL)
        SH_TRY_DONE(sh_fail_memory(0, "the photos"));
    SH_TRY_DONE(take_options(p, options));
    SH_TRY_DONE(sh_photo_list_make(&p->list, p->folder, &p->options));
    SH_TRY_DONE(find_channels(p));
    SH_TRY_DONE(describe(p));
    status = make_digest(p);
done:
    if (status == SH_OK)
        *source = &p->base;
    else
        photos_close(&p->base);
    return status;
}

/* --- recognising --- */

/* Searches `depth` levels below `folder`. Photos directly in it count only if `beside`. */
static bool holds_photo(const char *folder, int depth, bool beside)
{
    DIR *entries = opendir(folder);
    bool found = false;
    if (entries == NULL)
        return false;
    const struct dirent *each;
    for (int i = 0; i < LOOKED_MOST && !found && (each = readdir(entries)) != NULL; i++) {
        char path[SH_PHOTO_PATH];
        struct stat about;
        const int length = snprintf(path, sizeof path, "%s/%s", folder, each->d_name);
        if (each->d_name[0] == '.' || length < 0 || (size_t)length >= sizeof path ||
            stat(path, &about) != 0)
            continue;
        found = S_ISDIR(about.st_mode) ? depth > 0 && holds_photo(path, depth - 1, true)
                                       : beside && sh_photo_is_named(each->d_name);
    }
    closedir(entries);
    return found;
}

static bool has_labels(const char *folder, const char *name)
{
    char path[SH_PHOTO_PATH];
    const int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path && access(path, R_OK) == 0;
}

/* Photos directly in the folder count only with a CSV file of labels: other formats may have
 * pictures beside their data. */
static bool photos_recognises(const sh_format *format, const char *folder)
{
    (void)format;
    return holds_photo(folder, 2,
                       has_labels(folder, "labels.csv") || has_labels(folder, "metadata.csv"));
}

const sh_format sh_photos_format = {
    .name = "photos",
    .usage = "photos:DIR",
    .summary = "folders of photos, one for each class, or photos with labels.csv",
    .files = "folders of photos, one for each class",
    .recognises = photos_recognises,
    .open = sh_packed_dataset,
    .as_trained = true,
    .file_reader = sh_photo_reader,
    .look = photos_look,
};
