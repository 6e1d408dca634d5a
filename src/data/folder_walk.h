/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files below a folder, one after the other, in the order of their paths' bytes. No more than
 * the names of the folders that it is in are in memory.
 *
 *     sh_folder_walk *walk;
 *     const char *path;
 *     SH_TRY(sh_folder_walk_open(&walk, "/data/new"));
 *     while ((status = sh_folder_walk_next(walk, &path)) == SH_OK && path != NULL)
 *         puts(path);                                      // "/data/new/a/1.jpg"
 *     sh_folder_walk_close(walk);
 *
 * Links are followed. Hidden files and folders (sh_name_is_hidden) are left out, and so is what is
 * neither a file nor a folder.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_DATA_FOLDER_WALK_H
#define SHOAL_DATA_FOLDER_WALK_H

#include "base/fail.h"

#define SH_FOLDER_WALK_DEPTH_MOST 32 /* folders */

typedef struct sh_folder_walk sh_folder_walk;

/* `folder` is copied. `*walk` is owned: sh_folder_walk_close it. Fails as opening a folder does. */
sh_status sh_folder_walk_open(sh_folder_walk **walk, const char *folder) SHOAL_CHECKED;

/*
 * The next path, borrowed until the next call; NULL behind the last. After a failure of a folder,
 * which the message names, the walk goes on behind it. SH_LIMIT: folders lie too deep, as where a
 * link leads back up, or a path is too long.
 */
sh_status sh_folder_walk_next(sh_folder_walk *walk, const char **path) SHOAL_CHECKED;

/* NULL is fine. */
void sh_folder_walk_close(sh_folder_walk *walk);

#endif
