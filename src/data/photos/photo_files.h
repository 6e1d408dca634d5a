/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the photos below a folder with paths, sizes and modification times, without opening them.
 *
 * Links to files and folders are followed, except links to a containing folder. Photos are
 * recognised by name. Hidden files and folders, and __MACOSX, are skipped.
 *
 *     sh_photo_files files;
 *     sh_photo_files_init(&files);
 *     SH_TRY_DONE(sh_photo_files_add(&files, "/data/flowers", "train/roses"));
 *     files.items[0].name                       // "train/roses/17.jpg"
 *     sh_photo_files_release(&files);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_PHOTOS_PHOTO_FILES_H
#define SHOAL_DATA_PHOTOS_PHOTO_FILES_H

#include "base/memory.h"
#include "data/dataset.h"

#define SH_PHOTO_FILES_MOST (UINT32_MAX / 4)
#define SH_PHOTO_PATH 4096

typedef struct sh_photo_file {
    const char *name;   /* path below the folder; borrowed from sh_photo_files */
    uint64_t bytes;     /* 0 if stat fails; reading reports the error */
    int64_t changed_ns; /* modification time, since 1970 */
    uint32_t label;     /* set by the caller: class, or row of labels */
    sh_split split;     /* set by the caller */
} sh_photo_file;

typedef struct sh_photo_files {
    sh_photo_file *items;
    size_t count, capacity;
    sh_arena names;
    size_t others;     /* neither photos by name nor hidden */
    const char *other; /* one of them, or NULL */
    const char *loop;  /* a skipped link to a containing folder, or NULL */
    size_t folders;    /* folders searched */
} sh_photo_files;

void sh_photo_files_init(sh_photo_files *files);
void sh_photo_files_release(sh_photo_files *files);

/* Adds the photos in and below `folder`/`below`; `below` may be "". Fails with errors of the disk,
 * and with SH_LIMIT if folders are nested too deeply or there are too many folders or photos. */
sh_status sh_photo_files_add(sh_photo_files *files, const char *folder,
                             const char *below) SHOAL_CHECKED;

/* The folders directly in `folder`/`below`, as sorted names without a path, and the photos beside
 * them. `*names` is owned: free() it; the texts belong to `files`. */
typedef struct sh_photo_folders {
    const char **names;
    size_t count, capacity;
    size_t photos;
    const char *photo; /* one of them, or NULL */
} sh_photo_folders;

sh_status sh_photo_folders_list(sh_photo_folders *folders, sh_photo_files *files,
                                const char *folder, const char *below) SHOAL_CHECKED;

/* Sorts by split, then by the bytes of the name. */
void sh_photo_files_sort(sh_photo_files *files);

#endif
