/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files that are whole or absent: written beside their place, synced, then renamed into it.
 *
 *     sh_file_writer *writer;
 *     SH_TRY(sh_file_writer_open(&writer, "runs/a/job.json"));
 *     sh_status status = sh_file_writer_add(writer, text, bytes);
 *     if (status == SH_OK)
 *         return sh_file_writer_commit(writer); // frees it; the old file lived until here
 *     sh_file_writer_discard(writer);           // frees it; the old file is untouched
 *
 * Threads: any; one writer belongs to one thread at a time. Paths are copied. Failures name the
 * file.
 */
#ifndef SHOAL_STORE_FILE_H
#define SHOAL_STORE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

/* Longest path with its end; longer ones are refused with SH_LIMIT. */
#define SH_PATH_BYTES 4096

/* A writer's temporaries are called NAME.tmp-...; no other file of ours has this in its name. */
#define SH_TEMPORARY_MARK ".tmp-"

/* Writes the path, or "folder/name". */
sh_status sh_path_copy(char path[SH_PATH_BYTES], const char *from) SHOAL_CHECKED;
sh_status sh_path_join(char path[SH_PATH_BYTES], const char *folder,
                       const char *name) SHOAL_CHECKED;

typedef struct sh_file_writer sh_file_writer;

/*
 * Starts a new content for `path`: a temporary in the same folder, with the mode that the umask
 * leaves of 0666. The writer is owned: end it with commit or discard. SH_INVALID where `path` is a
 * folder.
 */
sh_status sh_file_writer_open(sh_file_writer **writer, const char *path) SHOAL_CHECKED;

/* The path that is to be replaced; borrowed until the writer ends. */
const char *sh_file_writer_path(const sh_file_writer *writer);

/* Appends; `data` is borrowed during the call. After a failure only discard is of use. */
sh_status sh_file_writer_add(sh_file_writer *writer, const void *data, size_t bytes) SHOAL_CHECKED;

/* Replaces bytes that were already added, from `offset` in the file on. */
sh_status sh_file_writer_patch(sh_file_writer *writer, uint64_t offset, const void *data,
                               size_t bytes) SHOAL_CHECKED;

/* Brings the content to the disk and closes it: no more bytes then. commit does it where the
 * caller has not. */
sh_status sh_file_writer_sync(sh_file_writer *writer) SHOAL_CHECKED;

/*
 * Puts the new content in the place of the old and syncs the folder; frees the writer, also on
 * failure. After a failure the old file is there, whole, and the temporary is gone (only where the
 * folder could not be synced the new file is there).
 */
sh_status sh_file_writer_commit(sh_file_writer *writer) SHOAL_CHECKED;

/* Removes the temporary and frees the writer. NULL is fine. */
void sh_file_writer_discard(sh_file_writer *writer);

/* The three steps in one: `path` holds these bytes, or what it held before. */
sh_status sh_file_replace(const char *path, const void *data, size_t bytes) SHOAL_CHECKED;

/* As above, for what only the owner is to read: the file's mode is 0600. */
sh_status sh_file_replace_private(const char *path, const void *data, size_t bytes) SHOAL_CHECKED;

/*
 * Opens a file that lies in a folder of ours, such as a run's, which may have come from somebody
 * else: SH_REFUSED for a symbolic link, because it could name any file of the user's; SH_INVALID
 * for what is no regular file, because a pipe would wait. `flags` are those of open(2); `*fd` is
 * owned: close it. Files that the user names are opened as they are.
 */
sh_status sh_file_open_own(int *fd, const char *path, int flags) SHOAL_CHECKED;

/* Size of a regular file; SH_INVALID for a folder or a device. */
sh_status sh_file_size(uint64_t *bytes, const char *path) SHOAL_CHECKED;

/*
 * A whole small file: `*text` is owned, free() it; a zero byte follows its `*bytes` bytes (`bytes`
 * may be NULL). SH_LIMIT where it holds more than `limit_bytes`.
 */
sh_status sh_file_read(char **text, size_t *bytes, const char *path,
                       size_t limit_bytes) SHOAL_CHECKED;

/* The same for a file in a folder of ours (sh_file_open_own). */
sh_status sh_file_read_own(char **text, size_t *bytes, const char *path,
                           size_t limit_bytes) SHOAL_CHECKED;

/*
 * Appends `line` and a newline to a file in a folder of ours (sh_file_open_own), all or nothing.
 * Ends a last line first that an earlier stop had cut, so lines never run together. SH_INVALID
 * where `line` has a newline in it. One writer at a time.
 */
sh_status sh_file_append_line(const char *path, const char *line) SHOAL_CHECKED;

/* Makes a folder and those above it. Fine where it is there; SH_INVALID where a part is a file. */
sh_status sh_folder_make(const char *path) SHOAL_CHECKED;

/* Whether `path` is a folder. */
bool sh_folder_exists(const char *path);

/* SH_REFUSED where what lies in a folder of ours, such as another folder, is a symbolic link
 * (sh_file_open_own); fine where there is nothing. */
sh_status sh_folder_check_own(const char *path) SHOAL_CHECKED;

/* Makes renames in a folder durable. */
sh_status sh_folder_sync(const char *path) SHOAL_CHECKED;

/* Removes temporaries that a stopped program left. The caller knows that no writer is at work. */
sh_status sh_folder_sweep(const char *path) SHOAL_CHECKED;

#endif
