/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of a series, each a recording of its own, with what their names say of them.
 *
 *     sh_series_files files;
 *     SH_TRY(sh_series_files_find(&files, "/data/gestures", "{label}.{}.csv"));
 *     files.items[3].label;    // "wave"
 *     sh_series_files_release(&files);
 *
 * A place is one file, or a folder with files whose names end in .csv, .tsv or .txt, or these and
 * .gz, in the order of their paths' bytes. Without a form (data/label_form.h) the label is the
 * first folder of a path, behind train/ and val/ (valid, validation, test) where all paths begin
 * so. Hidden files are left out. Links are followed, at most SH_SERIES_DEPTH_MOST folders deep.
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
    const char *path;  /* to open it; texts are those of the set */
    const char *below; /* the part of it below the folder */
    const char *name;  /* the same for messages, made safe to show */
    const char *label; /* NULL: the name says none */
    const char *group; /* who or what never stands in both splits: the name where none is said */
    sh_split split;    /* where files.splits */
    uint64_t bytes;
    int64_t changed_s, changed_ns;
} sh_series_file;

typedef struct sh_series_files {
    sh_arena arena; /* of the texts */
    sh_series_file *items;
    size_t count, capacity;
    size_t others; /* files that have other names */
    bool folder;   /* else one file */
    bool labels;   /* each has one */
    bool splits;   /* their names part them, and both splits have some */
} sh_series_files;

/*
 * `form` is that of --label-from, NULL or "" for none. `*files` is released by
 * sh_series_files_release. SH_NOT_FOUND where there is no file; SH_INVALID, SH_LIMIT.
 */
sh_status sh_series_files_find(sh_series_files *files, const char *place,
                               const char *form) SHOAL_CHECKED;

/* Adds names, sizes and times of change. */
void sh_series_files_digest(const sh_series_files *files, sh_digest *digest);

/* SH_CORRUPT names a file that has changed or gone since it was found. */
sh_status sh_series_files_unchanged(const sh_series_files *files) SHOAL_CHECKED;

/* Zeros are fine. */
void sh_series_files_release(sh_series_files *files);

#endif
