/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's cache folder: $XDG_CACHE_HOME/shoal or ~/.cache/shoal, made where it is missing.
 *
 *     char path[SH_CACHE_PATH];
 *     const int folder = sh_cache_open(path);
 *     if (folder < 0)
 *         return SH_OK; // none: do without
 *     close(folder);
 *
 * What is kept there can be made or fetched again, so all of it may be removed at any time.
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_CACHE_H
#define SHOAL_BASE_CACHE_H

#include <dirent.h>
#include <stdbool.h>

#include "base/fail.h"

#define SH_CACHE_PATH 4096 /* bytes of its path, with the end */

/* Where it is, made or not. SH_NOT_FOUND where the environment names no place for it; SH_LIMIT
 * where the path is too long. */
sh_status sh_cache_path(char path[SH_CACHE_PATH]) SHOAL_CHECKED;

/*
 * Opens it (mode 0700 where it is made): owned, close it. `path` is for messages and for what has
 * to be a path. -1, with `path` undefined: there is no cache folder that only this user can write;
 * where another user owns one or may write it, a line in the log says so and what to do.
 */
int sh_cache_open(char path[SH_CACHE_PATH]);

/* The same for the folder `name` in the open folder `above`, whose path is `path`: it follows no
 * symbolic link. -1 with errno, which is EPERM where another user owns it or may write it. */
int sh_cache_folder(int above, const char *path, const char *name);

/* Whether an open file or folder belongs to this user and nobody else may write it. */
bool sh_cache_is_own(int fd);

/* Makes and locks the file `lock` in an open folder (`operation` as flock has it). Owned: closing
 * it unlocks. -1 with errno where it cannot be made, or another holds it and LOCK_NB is set. */
int sh_cache_lock(int folder, int operation);

/* The entries of an open folder, which stays open. Owned: closedir it. NULL with errno. */
DIR *sh_cache_list(int folder);

/*
 * In place of the cache: an empty file without a name in $TMPDIR or /tmp, gone when it is closed.
 * `*fd` is owned; `*folder`, where it lies, is borrowed from the environment. `what` says in the
 * failure what it was for.
 */
sh_status sh_cache_unnamed(int *fd, const char **folder, const char *what) SHOAL_CHECKED;

#endif
