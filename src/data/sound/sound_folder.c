/* SPDX-License-Identifier: Apache-2.0 */
#include "data/sound/sound_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "data/dataset_impl.h"
#include "data/sound/recording.h"

#define PATH_BYTES 4096

typedef struct walk {
    sh_sound_folder *folder;
    char path[PATH_BYTES]; /* current path, below the folder */
    size_t depth;
    struct {
        dev_t device;
        ino_t inode;
    } above[SH_SOUND_DEPTH_MOST]; /* the folders that contain `path` */
} walk;

static sh_status add_file(walk *w, const struct stat *about)
{
    sh_sound_folder *folder = w->folder;
    if (folder->count == SH_SOUND_FILES_MOST)
        return sh_fail(SH_LIMIT, "%s: has more than %u recordings", folder->place,
                       SH_SOUND_FILES_MOST);
    SH_TRY(sh_array_grow((void **)&folder->files, &folder->capacity, folder->count + 1,
                         sizeof *folder->files));
    const char *path = sh_arena_text(&folder->arena, w->path);
    if (path == NULL)
        return sh_fail_memory(strlen(w->path), "names of recordings");
    folder->files[folder->count++] =
        (sh_sound_file){path, (uint64_t)about->st_size,
                        (int64_t)about->st_mtim.tv_sec * 1000000000 + about->st_mtim.tv_nsec};
    return SH_OK;
}

/* Fails if the folder is already being walked. */
static sh_status enter(walk *w, const struct stat *about)
{
    if (w->depth == SH_SOUND_DEPTH_MOST)
        return sh_fail(SH_LIMIT, "%s/%s: is more than %d folders deep", w->folder->place, w->path,
                       SH_SOUND_DEPTH_MOST);
    for (size_t i = 0; i < w->depth; i++)
        if (w->above[i].device == about->st_dev && w->above[i].inode == about->st_ino)
            return sh_fail(SH_INVALID, "%s/%s: is a link to a folder that contains it; remove it",
                           w->folder->place, w->path);
    w->above[w->depth].device = about->st_dev;
    w->above[w->depth++].inode = about->st_ino;
    return SH_OK;
}

static sh_status list(walk *w, int parent, const char *name, size_t length);

/* `length` is that of the path of the folder `parent`. */
static sh_status take(walk *w, int parent, const char *name, size_t length)
{
    struct stat about;
    const bool named = sh_recording_is_named(name);
    const int added =
        snprintf(w->path + length, sizeof w->path - length, "%s%s", length > 0 ? "/" : "", name);
    if (added < 0 || (size_t)added >= sizeof w->path - length)
        return sh_fail(SH_LIMIT, "%s/%.200s...: its path has more than %d bytes", w->folder->place,
                       w->path, PATH_BYTES - 1);
    if (fstatat(parent, name, &about, 0) != 0) {
        if (!named) {
            w->folder->others++;
            return SH_OK;
        }
        return sh_fail_errno(errno, "%s/%s: cannot examine it", w->folder->place, w->path);
    }
    if (S_ISDIR(about.st_mode)) {
        SH_TRY(enter(w, &about));
        SH_TRY(list(w, parent, name, length + (size_t)added));
        w->depth--;
    } else if (named && S_ISREG(about.st_mode)) {
        SH_TRY(add_file(w, &about));
    } else {
        w->folder->others++;
    }
    return SH_OK;
}

static sh_status list(walk *w, int parent, const char *name, size_t length)
{
    const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = fd < 0 ? NULL : fdopendir(fd);
    if (entries == NULL) {
        const int error = errno;
        if (fd >= 0)
            close(fd);
        return sh_fail_errno(error, "%s/%s: cannot read the folder", w->folder->place, w->path);
    }
    sh_status status = SH_OK;
    bool empty = true;
    while (status == SH_OK) {
        errno = 0;
        const struct dirent *each = readdir(entries);
        if (each == NULL) {
            if (errno != 0)
                status = sh_fail_errno(errno, "%s: cannot read the folder", w->folder->place);
            break;
        }
        if (sh_name_is_hidden(each->d_name))
            continue;
        empty = false;
        status = take(w, dirfd(entries), each->d_name, length);
    }
    closedir(entries);
    w->path[length] = '\0';
    if (status != SH_OK || !empty || length == 0)
        return status;
    /* The first by path, independent of the order of readdir. */
    if (w->folder->empty == NULL || strcmp(w->path, w->folder->empty) < 0)
        w->folder->empty = sh_arena_text(&w->folder->arena, w->path);
    return SH_OK;
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const sh_sound_file *)a)->path, ((const sh_sound_file *)b)->path);
}

static sh_status fill(sh_sound_folder *folder, const char *place)
{
    struct stat about;
    walk w = {.folder = folder};
    folder->place = sh_arena_text(&folder->arena, place);
    if (folder->place == NULL)
        return sh_fail_memory(strlen(place), "names of recordings");
    SH_TRY(sh_folder_check(place));
    folder->fd = open(place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder->fd < 0 || fstat(folder->fd, &about) != 0)
        return sh_fail_errno(errno, "%s: cannot read the data folder", place);
    SH_TRY(enter(&w, &about));
    SH_TRY(list(&w, folder->fd, ".", 0));
    if (folder->count == 0)
        return sh_fail(SH_NOT_FOUND,
                       "%s: has no recordings (looked for names that end in .wav, .flac, .aiff or "
                       ".ogg, also in folders below)%s",
                       place,
                       folder->others > 0 ? "; convert others, for example with ffmpeg -i FILE "
                                            "NEW.wav"
                                          : "");
    qsort(folder->files, folder->count, sizeof *folder->files, by_path);
    return SH_OK;
}

sh_status sh_sound_folder_open(sh_sound_folder *folder, const char *place)
{
    sh_sound_folder fresh = {.fd = -1};
    sh_arena_init(&fresh.arena);
    const sh_status status = fill(&fresh, place);
    if (status != SH_OK) {
        sh_sound_folder_close(&fresh);
        return status;
    }
    *folder = fresh;
    return SH_OK;
}

sh_status sh_sound_folder_digest(char digest[SH_DIGEST_TEXT], const sh_sound_folder *folder,
                                 const char *options)
{
    sh_digest *sum;
    SH_TRY(sh_digest_new(&sum));
    sh_digest_add(sum, options, strlen(options) + 1);
    for (size_t i = 0; i < folder->count; i++) {
        const sh_sound_file *file = &folder->files[i];
        const uint64_t numbers[] = {file->bytes, (uint64_t)file->changed_ns};
        sh_digest_add(sum, file->path, strlen(file->path) + 1);
        sh_digest_add(sum, numbers, sizeof numbers);
    }
    return sh_digest_finish(sum, digest);
}

sh_status sh_sound_folder_unchanged(const sh_sound_folder *folder)
{
    sh_sound_folder now;
    const char *changed = NULL;
    SH_TRY(sh_sound_folder_open(&now, folder->place));
    for (size_t i = 0; changed == NULL && (i < folder->count || i < now.count); i++) {
        const sh_sound_file *a = &folder->files[i], *b = &now.files[i];
        if (i == folder->count)
            changed = b->path;
        else if (i == now.count || strcmp(a->path, b->path) != 0 || a->bytes != b->bytes ||
                 a->changed_ns != b->changed_ns)
            changed = a->path;
    }
    const sh_status status = changed == NULL
                                 ? SH_OK
                                 : sh_fail(SH_CORRUPT,
                                           "%s: the folder changed while it was read: %s is new, "
                                           "gone or changed; try again when it is complete",
                                           folder->place, changed);
    sh_sound_folder_close(&now);
    return status;
}

void sh_sound_folder_close(sh_sound_folder *folder)
{
    if (folder->fd >= 0)
        close(folder->fd);
    free(folder->files);
    sh_arena_release(&folder->arena);
    *folder = (sh_sound_folder){.fd = -1};
}
