/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The user's cache folder: $XDG_CACHE_HOME/shoal or ~/.cache/shoal, created when missing. All its
 * contents may be removed at any time.
 *
 *     char path[SH_CACHE_PATH];
 *     const int folder = sh_cache_open(path);
 *     if (folder < 0)
 *         return SH_OK; // none: do without
 *     close(folder);
 *
 * Threads: any.
 */
#ifndef SHOAL_BASE_CACHE_H
#define SHOAL_BASE_CACHE_H

#include <dirent.h>
#include <stdbool.h>

#include "base/fail.h"

#define SH_CACHE_PATH 4096 /* with the terminating zero */

/* The path, whether or not the folder exists. SH_NOT_FOUND: the environment names no place for it;
 * SH_LIMIT: it is too long. */
sh_status sh_cache_path(char path[SH_CACHE_PATH]) SHOAL_CHECKED;

/*
 * Opens the folder, creating it with mode 0700: owned, close it. `path` receives its path. Returns
 * -1 (`path` undefined) if there is no folder that only this user can write; the log says so if
 * another user owns it or may write it.
 */
int sh_cache_open(char path[SH_CACHE_PATH]);

/* The same for the folder `name` in the open folder `above`, whose path is `path`. Follows no
 * symbolic link. -1 with errno: EPERM if another user owns it or may write it. */
int sh_cache_folder(int above, const char *path, const char *name);

/* Whether an open file or folder belongs to this user and nobody else can write it. */
bool sh_cache_is_own(int fd);

/* Creates and locks the file `lock` in a folder; `operation` is flock's. Owned: closing it unlocks.
 * -1 with errno, also if the lock is taken and LOCK_NB is set. */
int sh_cache_lock(int folder, int operation);

/* Lists a folder, which stays open. Owned: closedir it. NULL with errno. */
DIR *sh_cache_list(int folder);

/* Without a cache: opens an empty unnamed file in $TMPDIR or /tmp, deleted when closed. `*fd` is
 * owned; `*folder` is borrowed from the environment. `what` is for messages. */
sh_status sh_cache_unnamed(int *fd, const char **folder, const char *what) SHOAL_CHECKED;

#endif
