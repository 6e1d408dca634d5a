/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The recordings below a folder, by their names: what was there at one moment.
 *
 *     sh_sound_folder folder;
 *     SH_TRY(sh_sound_folder_open(&folder, "/data/digits"));
 *     ... openat(folder.fd, folder.files[7].path, O_RDONLY) ...
 *     SH_TRY(sh_sound_folder_unchanged(&folder));
 *     sh_sound_folder_close(&folder);
 *
 * Hidden files and files that are not named as recordings are left out. Links are followed; one to
 * a folder above itself is refused.
 *
 * Threads: one at a time.
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
    int64_t changed_ns; /* when it was changed last */
} sh_sound_file;

typedef struct sh_sound_folder {
    const char *place; /* its path */
    sh_arena arena;    /* has all texts */
    int fd;
    sh_sound_file *files; /* by the bytes of their paths; owned */
    size_t count, capacity;
    uint64_t others;   /* files that are not named as recordings */
    const char *empty; /* a folder that has nothing in it; NULL: none */
} sh_sound_folder;

/*
 * Lists the folder `place` (copied), to be closed. Fails with SH_INVALID, SH_NOT_FOUND (no folder,
 * nothing in it), SH_LIMIT (too many files or too deep) and what the disk says.
 */
sh_status sh_sound_folder_open(sh_sound_folder *folder, const char *place) SHOAL_CHECKED;

/* Over paths, sizes and times of change, and `options`. */
sh_status sh_sound_folder_digest(char digest[SH_DIGEST_TEXT], const sh_sound_folder *folder,
                                 const char *options) SHOAL_CHECKED;

/* Lists it again. SH_CORRUPT names a file that is new, gone or changed. */
sh_status sh_sound_folder_unchanged(const sh_sound_folder *folder) SHOAL_CHECKED;

/* Where it is closed already, nothing happens. */
void sh_sound_folder_close(sh_sound_folder *folder);

#endif
