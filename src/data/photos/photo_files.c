/* SPDX-License-Identifier: Apache-2.0 */
#include "data/photos/photo_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/utf8.h"
#include "data/dataset_impl.h"
#include "data/photos/photo.h"

#define DEPTH_MOST 32
#define FOLDERS_MOST 1000000

/* above[0 .. depth - 1] contain the current folder. */
typedef struct walk {
    sh_photo_files *files;
    size_t root; /* bytes of the root folder's path, with the slash */
    char path[SH_PHOTO_PATH];
    size_t depth;
    struct {
        dev_t device;
        ino_t inode;
    } above[DEPTH_MOST];
} walk;

void sh_photo_files_init(sh_photo_files *files)
{
    *files = (sh_photo_files){0};
    sh_arena_init(&files->names);
}

void sh_photo_files_release(sh_photo_files *files)
{
    free(files->items);
    sh_arena_release(&files->names);
    *files = (sh_photo_files){0};
}

static sh_status keep_name(const char **kept, sh_photo_files *files, const char *name)
{
    *kept = sh_arena_text(&files->names, name);
    return *kept == NULL ? sh_fail_memory(strlen(name) + 1, "the names of photos") : SH_OK;
}

static sh_status add_photo(walk *w, const struct stat *about)
{
    sh_photo_files *files = w->files;
    if (files->count >= SH_PHOTO_FILES_MOST)
        return sh_fail(SH_LIMIT, "%.*s: holds more than %u photos", (int)w->root, w->path,
                       SH_PHOTO_FILES_MOST);
    SH_TRY(sh_array_grow((void **)&files->items, &files->capacity, files->count + 1,
                         sizeof *files->items));
    sh_photo_file *item = &files->items[files->count];
    *item = (sh_photo_file){.bytes = about == NULL ? 0 : (uint64_t)about->st_size};
    if (about != NULL)
        item->changed_ns = (int64_t)about->st_mtim.tv_sec * 1000000000 + about->st_mtim.tv_nsec;
    SH_TRY(keep_name(&item->name, files, w->path + w->root));
    files->count++;
    return SH_OK;
}

/* Keeps the first in byte order, independent of readdir. */
static sh_status keep_first(const char **kept, sh_photo_files *files, const char *name)
{
    return *kept != NULL && strcmp(*kept, name) <= 0 ? SH_OK : keep_name(kept, files, name);
}

static sh_status add_other(walk *w)
{
    w->files->others++;
    return keep_first(&w->files->other, w->files, w->path + w->root);
}

static sh_status fail_path(int error, const char *path)
{
    char clean[512];
    return sh_fail_errno(error, "%s: cannot read the folder",
                         sh_utf8_clean(clean, sizeof clean, path));
}

/* False if it does not fit. */
static bool append(char path[SH_PHOTO_PATH], size_t length, const char *name)
{
    const size_t left = SH_PHOTO_PATH - length;
    const int added = snprintf(path + length, left, "%s%s",
                               length > 0 && path[length - 1] != '/' ? "/" : "", name);
    return added >= 0 && (size_t)added < left;
}

static sh_status walk_folder(walk *w, const struct stat *about);

static sh_status walk_entry(walk *w, const char *name)
{
    struct stat about;
    const bool known = stat(w->path, &about) == 0;
    if (known && S_ISDIR(about.st_mode))
        return walk_folder(w, &about);
    if (!sh_photo_is_named(name) || (known && !S_ISREG(about.st_mode)))
        return add_other(w);
    return add_photo(w, known ? &about : NULL);
}

static sh_status walk_entries(walk *w, DIR *entries)
{
    const size_t length = strlen(w->path);
    for (;;) {
        errno = 0;
        const struct dirent *each = readdir(entries);
        if (each == NULL)
            return errno == 0 ? SH_OK : fail_path(errno, w->path);
        if (sh_name_is_hidden(each->d_name))
            continue;
        if (!append(w->path, length, each->d_name))
            return sh_fail(SH_LIMIT, "%.200s...: a path of more than %d bytes", w->path,
                           SH_PHOTO_PATH - 1);
        SH_TRY(walk_entry(w, each->d_name));
        w->path[length] = '\0';
    }
}

static sh_status walk_folder(walk *w, const struct stat *about)
{
    for (size_t i = 0; i < w->depth; i++)
        if (w->above[i].device == about->st_dev && w->above[i].inode == about->st_ino)
            return keep_first(&w->files->loop, w->files, w->path + w->root);
    if (w->depth == DEPTH_MOST || ++w->files->folders > FOLDERS_MOST)
        return sh_fail(SH_LIMIT,
                       "%.500s: folders are nested more than %d deep, or number more than %d; do "
                       "links form a loop?",
                       w->path, DEPTH_MOST, FOLDERS_MOST);
    DIR *entries = opendir(w->path);
    if (entries == NULL)
        return fail_path(errno, w->path);
    w->above[w->depth].device = about->st_dev;
    w->above[w->depth++].inode = about->st_ino;
    const sh_status status = walk_entries(w, entries);
    w->depth--;
    closedir(entries);
    return status;
}

static sh_status set_path(char path[SH_PHOTO_PATH], const char *folder, const char *below)
{
    const int length = snprintf(path, SH_PHOTO_PATH, "%s", folder);
    if (length < 0 || length >= SH_PHOTO_PATH ||
        (below[0] != '\0' && !append(path, (size_t)length, below)))
        return sh_fail(SH_LIMIT, "%.200s...: a path of more than %d bytes", folder,
                       SH_PHOTO_PATH - 1);
    return SH_OK;
}

/* Records the folders from the root to `folder`/`below` in w->above. */
static sh_status walk_below(walk *w, const char *folder, const char *below)
{
    struct stat about;
    for (const char *end = below; *end != '\0' && w->depth < DEPTH_MOST; w->depth++) {
        if (stat(w->path, &about) != 0)
            return fail_path(errno, w->path);
        w->above[w->depth].device = about.st_dev;
        w->above[w->depth].inode = about.st_ino;
        end += strcspn(end, "/");
        SH_TRY(set_path(w->path, folder, below));
        w->path[strlen(w->path) - strlen(end)] = '\0';
        end += *end == '/';
    }
    return stat(w->path, &about) == 0 ? walk_folder(w, &about) : fail_path(errno, w->path);
}

sh_status sh_photo_files_add(sh_photo_files *files, const char *folder, const char *below)
{
    walk *w = calloc(1, sizeof *w);
    if (w == NULL)
        return sh_fail_memory(sizeof *w, "the names of photos");
    w->files = files;
    const size_t length = strlen(folder);
    w->root = length + (length > 0 && folder[length - 1] != '/');
    sh_status status = set_path(w->path, folder, "");
    if (status == SH_OK)
        status = walk_below(w, folder, below);
    free(w);
    return status;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static sh_status list_entry(sh_photo_folders *folders, sh_photo_files *files, const char *path,
                            const char *name)
{
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISDIR(about.st_mode)) {
        if (sh_photo_is_named(name)) {
            folders->photos++;
            return keep_first(&folders->photo, files, name);
        }
        return SH_OK;
    }
    SH_TRY(sh_array_grow((void **)&folders->names, &folders->capacity, folders->count + 1,
                         sizeof *folders->names));
    SH_TRY(keep_name(&folders->names[folders->count], files, name));
    folders->count++;
    return SH_OK;
}

sh_status sh_photo_folders_list(sh_photo_folders *folders, sh_photo_files *files,
                                const char *folder, const char *below)
{
    char path[SH_PHOTO_PATH];
    *folders = (sh_photo_folders){0};
    SH_TRY(set_path(path, folder, below));
    const size_t length = strlen(path);
    DIR *entries = opendir(path);
    if (entries == NULL)
        return fail_path(errno, path);
    sh_status status = SH_OK;
    for (const struct dirent *each; status == SH_OK && (each = readdir(entries)) != NULL;) {
        if (sh_name_is_hidden(each->d_name) || !append(path, length, each->d_name))
            continue;
        status = list_entry(folders, files, path, each->d_name);
    }
    closedir(entries);
    if (status == SH_OK && folders->count > 0)
        qsort(folders->names, folders->count, sizeof *folders->names, by_text);
    if (status != SH_OK) {
        free(folders->names);
        *folders = (sh_photo_folders){0};
    }
    return status;
}

static int by_place(const void *a, const void *b)
{
    const sh_photo_file *x = a, *y = b;
    if (x->split != y->split)
        return x->split < y->split ? -1 : 1;
    return strcmp(x->name, y->name);
}

void sh_photo_files_sort(sh_photo_files *files)
{
    if (files->count > 0)
        qsort(files->items, files->count, sizeof *files->items, by_place);
}
