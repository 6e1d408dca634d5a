/* SPDX-License-Identifier: Apache-2.0 */
#include "data/series/series_files.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "data/dataset_impl.h"
#include "data/label_pattern.h"

static bool ends_in(const char *name, size_t length, const char *ending)
{
    const size_t bytes = strlen(ending);
    return length > bytes && memcmp(name + length - bytes, ending, bytes) == 0;
}

static bool is_series(const char *name)
{
    size_t length = strlen(name);
    if (ends_in(name, length, ".gz"))
        length -= 3;
    return ends_in(name, length, ".csv") || ends_in(name, length, ".tsv") ||
           ends_in(name, length, ".txt");
}

static sh_status add_file(sh_series_files *files, const char *path, const char *name,
                          const struct stat *about)
{
    if (files->count == SH_SERIES_FILES_MOST)
        return sh_fail(SH_LIMIT, "there are more than %u files", SH_SERIES_FILES_MOST);
    SH_TRY(sh_array_grow((void **)&files->items, &files->capacity, files->count + 1,
                         sizeof *files->items));
    sh_series_file *file = &files->items[files->count];
    char clean[PATH_MAX];
    char *copy = sh_arena_text(&files->arena, path);
    char *shown = sh_arena_text(&files->arena, sh_utf8_clean(clean, sizeof clean, name));
    if (copy == NULL || shown == NULL)
        return sh_fail_memory(strlen(path), "the names of files");
    *file = (sh_series_file){.path = copy,
                             .below = copy + (name - path),
                             .name = shown,
                             .group = copy + (name - path),
                             .bytes = (uint64_t)about->st_size,
                             .changed_s = about->st_mtim.tv_sec,
                             .changed_ns = about->st_mtim.tv_nsec};
    files->count++;
    return SH_OK;
}

/* `path` has room for PATH_MAX. `name` is the offset of the part below the place. */
static sh_status walk(sh_series_files *files, char *path, size_t name, int depth)
{
    const size_t length = strlen(path);
    DIR *folder = opendir(path);
    if (folder == NULL)
        return sh_fail_errno(errno, "%s: cannot list the folder", path);
    sh_status status = SH_OK;
    for (const struct dirent *each; status == SH_OK && (each = readdir(folder)) != NULL;) {
        struct stat about;
        if (sh_name_is_hidden(each->d_name))
            continue;
        const int added = snprintf(path + length, PATH_MAX - length, "/%s", each->d_name);
        if (added < 0 || (size_t)added >= PATH_MAX - length)
            status = sh_fail(SH_LIMIT, "%.200s...: its path is too long", path);
        else if (stat(path, &about) != 0)
            files->others++; /* a dangling link */
        else if (S_ISDIR(about.st_mode))
            status =
                depth < SH_SERIES_DEPTH_MOST
                    ? walk(files, path, name, depth + 1)
                    : sh_fail(SH_LIMIT,
                              "%s: is more than %d folders deep; is it a link that leads back?",
                              path, SH_SERIES_DEPTH_MOST);
        else if (S_ISREG(about.st_mode) && is_series(each->d_name))
            status = add_file(files, path, path + name, &about);
        else
            files->others++;
        path[length] = '\0';
    }
    closedir(folder);
    return status;
}

static int by_path(const void *a, const void *b)
{
    const sh_series_file *x = a, *y = b;
    return strcmp(x->below, y->below);
}

static sh_status list(sh_series_files *files, const char *place)
{
    struct stat about;
    char path[PATH_MAX];
    const int length = snprintf(path, sizeof path, "%s", place);
    if (length < 0 || (size_t)length >= sizeof path)
        return sh_fail(SH_LIMIT, "%.200s...: its path is too long", place);
    if (stat(path, &about) != 0)
        return sh_fail_errno(errno, "%s: cannot open it", place);
    files->folder = S_ISDIR(about.st_mode);
    if (!files->folder) {
        const char *last = strrchr(path, '/');
        return add_file(files, path, last == NULL ? path : last + 1, &about);
    }
    size_t end = (size_t)length;
    while (end > 1 && path[end - 1] == '/')
        path[--end] = '\0';
    SH_TRY(walk(files, path, end + 1, 0));
    if (files->count == 0)
        return sh_fail(SH_NOT_FOUND, "%s: there is no .csv, .tsv or .txt file in it", place);
    qsort(files->items, files->count, sizeof *files->items, by_path);
    return SH_OK;
}

/* Copies the first folder and advances `*path`. False if only the file name is left. */
static bool take_part(char part[NAME_MAX + 1], const char **path)
{
    const char *end = strchr(*path, '/');
    if (end == NULL || end - *path > NAME_MAX)
        return false;
    memcpy(part, *path, (size_t)(end - *path));
    part[end - *path] = '\0';
    *path = end + 1;
    return true;
}

static sh_status name_by_folders(sh_series_files *files)
{
    size_t parted = 0;
    char part[NAME_MAX + 1];
    for (size_t i = 0; i < files->count; i++) {
        const char *rest = files->items[i].below;
        parted += take_part(part, &rest) && sh_label_split(&files->items[i].split, part) ? 1 : 0;
    }
    for (size_t i = 0; i < files->count; i++) {
        sh_series_file *file = &files->items[i];
        const char *rest = file->below;
        if (parted == files->count)
            (void)take_part(part, &rest);
        if (!take_part(part, &rest))
            continue;
        char clean[NAME_MAX + 1];
        file->label = sh_arena_text(&files->arena, sh_utf8_clean(clean, sizeof clean, part));
        if (file->label == NULL)
            return sh_fail_memory(sizeof part, "labels");
    }
    files->splits = parted == files->count;
    return SH_OK;
}

static sh_status name_by_form(sh_series_files *files, const char *text)
{
    sh_label_pattern form;
    sh_label_match match;
    SH_TRY(sh_label_pattern_parse(&form, text));
    for (size_t i = 0; i < files->count; i++) {
        sh_series_file *file = &files->items[i];
        SH_TRY(sh_label_pattern_match(&match, &form, file->below));
        if (form.has_label)
            file->label = sh_arena_text(&files->arena, match.label);
        if (form.has_group)
            file->group = sh_arena_text(&files->arena, match.group);
        if ((form.has_label && file->label == NULL) || file->group == NULL)
            return sh_fail_memory(sizeof match, "labels");
        file->split = match.split;
    }
    files->splits = form.has_split;
    return SH_OK;
}

static sh_status find(sh_series_files *files, const char *place, const char *form)
{
    SH_TRY(list(files, place));
    SH_TRY(form != NULL && form[0] != '\0' ? name_by_form(files, form) : name_by_folders(files));
    size_t in[SH_SPLITS] = {0}, labels = 0;
    for (size_t i = 0; i < files->count; i++) {
        in[files->items[i].split]++;
        labels += files->items[i].label != NULL ? 1 : 0;
    }
    files->labels = labels == files->count;
    files->splits = files->splits && in[SH_SPLIT_TRAIN] > 0 && in[SH_SPLIT_VALIDATION] > 0;
    return SH_OK;
}

sh_status sh_series_files_find(sh_series_files *files, const char *place, const char *form)
{
    sh_series_files fresh = {0};
    sh_arena_init(&fresh.arena);
    const sh_status status = find(&fresh, place, form);
    if (status != SH_OK) {
        sh_series_files_release(&fresh);
        return status;
    }
    *files = fresh;
    return SH_OK;
}

void sh_series_files_digest(const sh_series_files *files, sh_digest *digest)
{
    for (size_t i = 0; i < files->count; i++) {
        const sh_series_file *file = &files->items[i];
        const int64_t figures[] = {(int64_t)file->bytes, file->changed_s, file->changed_ns};
        sh_digest_add(digest, file->below, strlen(file->below) + 1);
        sh_digest_add(digest, figures, sizeof figures);
    }
}

sh_status sh_series_files_unchanged(const sh_series_files *files)
{
    for (size_t i = 0; i < files->count; i++) {
        const sh_series_file *file = &files->items[i];
        struct stat about;
        if (stat(file->path, &about) != 0 || (uint64_t)about.st_size != file->bytes ||
            about.st_mtim.tv_sec != file->changed_s || about.st_mtim.tv_nsec != file->changed_ns)
            return sh_fail(SH_CORRUPT, "%s: has changed while it was packed; start again",
                           file->path);
    }
    return SH_OK;
}

void sh_series_files_release(sh_series_files *files)
{
    free(files->items);
    sh_arena_release(&files->arena);
    *files = (sh_series_files){0};
}
