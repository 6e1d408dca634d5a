/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the devices of a job listen, as a file beside the run's token: a coordinator that is
 * started again asks there first whether another device goes on with the job.
 *
 *     SH_TRY(sh_doors_write(&doors, path));
 *     ... in its next life ...
 *     sh_doors_read(&doors, path);
 *
 * A line a door: its host, a blank, its port. Threads: any; values.
 */
#ifndef SHOAL_NODE_DOORS_H
#define SHOAL_NODE_DOORS_H

#include "node/member/inquiry.h"

typedef struct sh_doors {
    uint32_t count;
    sh_door items[SH_INQUIRY_DOORS_MAX]; /* the newest last */
} sh_doors;

/* Makes a door the newest; the oldest gives way where there are too many. */
void sh_doors_add(sh_doors *doors, const sh_door *door);

/* Only the file's owner can read it. The failures are those of sh_file_replace_private. */
sh_status sh_doors_write(const sh_doors *doors, const char *path) SHOAL_CHECKED;

/* Those of the file's lines that make sense; none without a file. */
void sh_doors_read(sh_doors *doors, const char *path);

#endif
