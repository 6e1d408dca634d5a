/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The addresses at which the devices of a job listen, in a file beside the run's token. A restarted
 * coordinator asks them first whether another device has continued the job.
 *
 *     SH_TRY(sh_doors_write(&doors, path));
 *     ... after a restart ...
 *     sh_doors_read(&doors, path);
 *
 * One line per door: host, space, port. Threads: any; values.
 */
#ifndef SHOAL_NODE_DOORS_H
#define SHOAL_NODE_DOORS_H

#include "node/member/inquiry.h"

typedef struct sh_doors {
    uint32_t count;
    sh_door items[SH_INQUIRY_DOORS_MAX]; /* the newest last */
} sh_doors;

/* Adds a door, or makes it the newest. Drops the oldest if there are too many. */
void sh_doors_add(sh_doors *doors, const sh_door *door);

/* Only the owner can read the file. Fails as sh_file_replace_private does. */
sh_status sh_doors_write(const sh_doors *doors, const char *path) SHOAL_CHECKED;

/* Reads the valid lines of the file; no doors if there is no file. */
void sh_doors_read(sh_doors *doors, const char *path);

#endif
