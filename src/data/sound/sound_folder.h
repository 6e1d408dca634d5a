/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the recordings below a folder, with sizes and modification times.
 *
 * Hidden files and files not named as recordings are skipped. Links are followed; a link to a
 * containing folder is an error.
 *
 *     sh_sound_folder folder;
 *     SH_TRY(sh_sound_folder_open(&folder, "/data/digits"));
 *     ... openat(folder.fd, folder.files[7].path, O_RDONLY) ...
 *     SH_TRY(sh_sound_folder_unchanged(&folder));
 *     sh_sound_folder_close(&folder);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_SOUND_SOUND_FOLDER_H
#define SHOAL_DATA_SOUND_SOUND_FOLDER_H

#include "base/digest.h"
#include "base/memory.h"

#define SH_SOUND_FILES_MOST (1u << 24)
#define SH_SOUND_DEPTH_MOST 16

typedef struct sh_sound_file {
    const char *path; /* below the folder */
    uint64_t bytes;
    int64_t changed_ns; /* modification time, since 1970 */
} sh_sound_file;

typedef struct sh_sound_folder {
    const char *place; /* of the folder */
    sh_arena arena;    /* owns all texts */
    int fd;
    sh_sound_file *files; /* sorted by the bytes of their paths; owned */
    size_t count, capacity;
    uint64_t others;   /* files not named as recordings */
    const char *empty; /* the first empty folder, or NULL */
} sh_sound_folder;

/*
 * `place` is copied; `*folder` is owned. Fails with SH_INVALID, SH_NOT_FOUND (no folder, or no
 * recordings), SH_LIMIT (too many files or too deep) and with errors of the disk.
 */
sh_status sh_sound_folder_open(sh_sound_folder *folder, const char *place) SHOAL_CHECKED;

/* Computes the digest of paths, sizes, modification times and `options`. */
sh_status sh_sound_folder_digest(char digest[SH_DIGEST_TEXT], const sh_sound_folder *folder,
                                 const char *options) SHOAL_CHECKED;

/* Lists the folder again. SH_CORRUPT, naming the file, if a file is new, missing or changed. */
sh_status sh_sound_folder_unchanged(const sh_sound_folder *folder) SHOAL_CHECKED;

/* Does nothing if it is already closed. */
void sh_sound_folder_close(sh_sound_folder *folder);

#endif
