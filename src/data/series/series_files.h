/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the files of a series, each a separate recording, with the labels, groups and splits that
 * their paths give.
 *
 * A place is one file, or a folder of files with names in .csv, .tsv or .txt, optionally followed
 * by .gz, sorted by the bytes of their paths. Without a form (data/label_pattern.h) the label is
 * the first folder of a path, after train/ and val/ (valid, validation, test) if all paths begin
 * with these. Hidden files are skipped. Links are followed, at most SH_SERIES_DEPTH_MOST folders
 * deep.
 *
 *     sh_series_files files;
 *     SH_TRY(sh_series_files_find(&files, "/data/gestures", "{label}.{}.csv"));
 *     files.items[3].label;    // "wave"
 *     sh_series_files_release(&files);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_SERIES_SERIES_FILES_H
#define SHOAL_DATA_SERIES_SERIES_FILES_H

#include <stdbool.h>

#include "base/digest.h"
#include "base/memory.h"
#include "data/dataset.h"

#define SH_SERIES_DEPTH_MOST 8
#define SH_SERIES_FILES_MOST (1u << 20)

typedef struct sh_series_file {
    const char *path;  /* to open it; all texts belong to the arena */
    const char *below; /* the part of `path` below the folder */
    const char *name;  /* `below`, cleaned for display */
    const char *label; /* or NULL */
    const char *group; /* files of a group are in one split; by default `below` */
    sh_split split;    /* valid if files.splits */
    uint64_t bytes;
    int64_t changed_s, changed_ns;
} sh_series_file;

typedef struct sh_series_files {
    sh_arena arena;
    sh_series_file *items;
    size_t count, capacity;
    size_t others; /* files with other names */
    bool folder;   /* otherwise one file */
    bool labels;   /* every file has a label */
    bool splits;   /* the paths give the split, and both splits have files */
} sh_series_files;

/*
 * `form` is that of --label-from, NULL or "". `*files` is owned. SH_NOT_FOUND if there is no file,
 * SH_INVALID, SH_LIMIT.
 */
sh_status sh_series_files_find(sh_series_files *files, const char *place,
                               const char *form) SHOAL_CHECKED;

/* Adds names, sizes and modification times to `digest`. */
void sh_series_files_digest(const sh_series_files *files, sh_digest *digest);

/* SH_CORRUPT, naming the file, if a file has changed or is missing. */
sh_status sh_series_files_unchanged(const sh_series_files *files) SHOAL_CHECKED;

/* Safe for a zeroed value. */
void sh_series_files_release(sh_series_files *files);

#endif
