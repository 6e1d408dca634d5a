/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The photos below a folder: their paths, sizes and times of change. No file is opened.
 *
 *     sh_photo_files files;
 *     sh_photo_files_init(&files);
 *     SH_TRY_DONE(sh_photo_files_add(&files, "/data/flowers", "train/roses"));
 *     files.items[0].name                       // "train/roses/17.jpg"
 *     sh_photo_files_release(&files);
 *
 * Links are followed, also to folders; one that leads back up is left out. Photos are what their
 * names say (sh_photo_is_named); hidden files and folders, and __MACOSX, are left out.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_FILES_H
#define SHOAL_DATA_PHOTOS_PHOTO_FILES_H

#include "base/memory.h"
#include "data/dataset.h"

#define SH_PHOTO_FILES_MOST (UINT32_MAX / 4)
#define SH_PHOTO_PATH 4096 /* bytes of a path, at most */

typedef struct sh_photo_file {
    const char *name;   /* below the folder; the files' */
    uint64_t bytes;     /* 0 where the file cannot be examined: reading it will say why */
    int64_t changed_ns; /* since 1970 */
    uint32_t label;     /* for the user: a class, or a row of labels */
    sh_split split;     /* for the user */
} sh_photo_file;

typedef struct sh_photo_files {
    sh_photo_file *items;
    size_t count, capacity;
    sh_arena names;
    size_t others;     /* files that are no photos by their names, hidden ones aside */
    const char *other; /* one of them, or NULL */
    const char *loop;  /* a link that was left out since it leads back up, or NULL */
    size_t folders;    /* that were looked through */
} sh_photo_files;

void sh_photo_files_init(sh_photo_files *files);
void sh_photo_files_release(sh_photo_files *files);

/* Adds the photos in `folder`/`below` and its folders; `below` may be "". Fails as the disk does,
 * and with SH_LIMIT where folders lie too deep or are too many. */
sh_status sh_photo_files_add(sh_photo_files *files, const char *folder,
                             const char *below) SHOAL_CHECKED;

/* The folders in `folder`/`below`, not below them, and the photos that lie beside them, as names
 * without a path, sorted. `*names` is owned: free() it; the texts are the files'. */
typedef struct sh_photo_folders {
    const char **names;
    size_t count, capacity;
    size_t photos;     /* that lie beside them */
    const char *photo; /* one of them, or NULL */
} sh_photo_folders;

sh_status sh_photo_folders_list(sh_photo_folders *folders, sh_photo_files *files,
                                const char *folder, const char *below) SHOAL_CHECKED;

/* Sorts by split, then by name, byte by byte: the same order on every machine. */
void sh_photo_files_sort(sh_photo_files *files);

#endif
