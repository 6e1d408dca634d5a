/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Atomic file replacement: a new content is written to a temporary file, synced, and renamed.
 *
 * "A folder of ours" is a folder that shoal writes, such as that of a run. It may come from an
 * untrusted source.
 *
 *     sh_file_writer *writer;
 *     SH_TRY(sh_file_writer_open(&writer, "runs/a/job.json"));
 *     sh_status status = sh_file_writer_add(writer, text, bytes);
 *     if (status == SH_OK)
 *         return sh_file_writer_commit(writer); // frees it; the old file lived until here
 *     sh_file_writer_discard(writer);           // frees it; the old file is untouched
 *
 * Threads: any; a writer is used by one thread at a time. Paths are copied.
 */
#ifndef SHOAL_STORE_FILE_H
#define SHOAL_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* With the final zero. SH_LIMIT: the path is longer. */
#define SH_PATH_BYTES 4096

/* Temporary files are called NAME.tmp-...; no other file of shoal has this in its name. */
#define SH_TEMPORARY_MARK ".tmp-"

/* SH_LIMIT: the path is too long. */
sh_status sh_path_copy(char path[SH_PATH_BYTES], const char *from) SHOAL_CHECKED;
sh_status sh_path_join(char path[SH_PATH_BYTES], const char *folder,
                       const char *name) SHOAL_CHECKED;

typedef struct sh_file_writer sh_file_writer;

/*
 * The temporary file is in the folder of `path`. Its mode is 0666 without the umask. The writer is
 * owned: commit or discard it. SH_INVALID: `path` is a folder.
 */
sh_status sh_file_writer_open(sh_file_writer **writer, const char *path) SHOAL_CHECKED;

/* Borrowed until commit or discard. */
const char *sh_file_writer_path(const sh_file_writer *writer);

/* Appends. After a failure only discard may follow. */
sh_status sh_file_writer_add(sh_file_writer *writer, const void *data, size_t bytes) SHOAL_CHECKED;

/* Replaces bytes that were added before. */
sh_status sh_file_writer_patch(sh_file_writer *writer, uint64_t offset, const void *data,
                               size_t bytes) SHOAL_CHECKED;

/* Syncs the content to the disk. No bytes may be added afterwards. commit calls this if the caller
 * has not. */
sh_status sh_file_writer_sync(sh_file_writer *writer) SHOAL_CHECKED;

/*
 * Replaces the old file by the new content and syncs the folder. Frees the writer, also on failure.
 * After a failure the old file is unchanged, except if only the sync of the folder failed: then the
 * new file is in place.
 */
sh_status sh_file_writer_commit(sh_file_writer *writer) SHOAL_CHECKED;

void sh_file_writer_discard(sh_file_writer *writer);

sh_status sh_file_replace(const char *path, const void *data, size_t bytes) SHOAL_CHECKED;

/* The mode of the file is 0600: only the owner can read it. */
sh_status sh_file_replace_private(const char *path, const void *data, size_t bytes) SHOAL_CHECKED;

/*
 * Opens a file in a folder of ours. `flags` are those of open(2). `*fd` is owned: close it.
 * SH_REFUSED: a symbolic link. SH_INVALID: not a regular file. Do not use this for files that the
 * user names, which may be links.
 */
sh_status sh_file_open_own(int *fd, const char *path, int flags) SHOAL_CHECKED;

/* SH_INVALID: not a regular file. */
sh_status sh_file_size(uint64_t *bytes, const char *path) SHOAL_CHECKED;

/*
 * `*text` is owned: free(). It has `*bytes` bytes (`bytes` may be NULL) and a final zero. SH_LIMIT:
 * the file has more than `limit_bytes`.
 */
sh_status sh_file_read(char **text, size_t *bytes, const char *path,
                       size_t limit_bytes) SHOAL_CHECKED;

/* As sh_file_read, for a file in a folder of ours. */
sh_status sh_file_read_own(char **text, size_t *bytes, const char *path,
                           size_t limit_bytes) SHOAL_CHECKED;

/*
 * Appends `line` and a newline to a file in a folder of ours, completely or not at all. First adds
 * a newline if a crash cut the last line of the file. SH_INVALID: `line` contains a newline. One
 * writer at a time.
 */
sh_status sh_file_append_line(const char *path, const char *line) SHOAL_CHECKED;

/* Makes its parents too. Fine if it exists. SH_INVALID: a part of the path is a file. */
sh_status sh_folder_make(const char *path) SHOAL_CHECKED;

bool sh_folder_exists(const char *path);

/* SH_REFUSED: `path` is a symbolic link. Fine if it does not exist. */
sh_status sh_folder_check_own(const char *path) SHOAL_CHECKED;

/* Makes renames in a folder durable. */
sh_status sh_folder_sync(const char *path) SHOAL_CHECKED;

/* Removes temporary files. No writer may be active in the folder. */
sh_status sh_folder_sweep(const char *path) SHOAL_CHECKED;

#endif
