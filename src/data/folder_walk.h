/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks the files below a folder in bytewise order of their paths. Memory holds only the names in
 * the open folders.
 *
 * Follows links; skips hidden (sh_name_is_hidden) and special files.
 *
 *     sh_folder_walk *walk;
 *     const char *path;
 *     SH_TRY(sh_folder_walk_open(&walk, "/data/new"));
 *     while ((status = sh_folder_walk_next(walk, &path)) == SH_OK && path != NULL)
 *         puts(path);                                      // "/data/new/a/1.jpg"
 *     sh_folder_walk_close(walk);
 *
 * Threads: the caller locks.
 */
#ifndef SHOAL_DATA_FOLDER_WALK_H
#define SHOAL_DATA_FOLDER_WALK_H

#include "base/fail.h"

#define SH_FOLDER_WALK_DEPTH_MOST 32

typedef struct sh_folder_walk sh_folder_walk;

/* Copies `folder`. Fails like opening a folder. */
sh_status sh_folder_walk_open(sh_folder_walk **walk, const char *folder) SHOAL_CHECKED;

/*
 * `*path` is borrowed until the next call; NULL at the end. After a folder fails, the walk can
 * continue. SH_LIMIT: the folder is too deep, for instance by a link upwards, or the path too long.
 */
sh_status sh_folder_walk_next(sh_folder_walk *walk, const char **path) SHOAL_CHECKED;

void sh_folder_walk_close(sh_folder_walk *walk);

#endif
