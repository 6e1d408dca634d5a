/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the folder of a process's control group (cgroups(7)), version 1 or 2, from the contents of
 * its files mountinfo and cgroup in /proc.
 *
 *     sh_cgroup place;
 *     if (sh_cgroup_find(&place, mountinfo, cgroup, "cpu"))
 *         printf("%s, version %d\n", place.folder, place.version);
 *
 * Threads: any.
 */
#ifndef SHOAL_MONITOR_CGROUP_H
#define SHOAL_MONITOR_CGROUP_H

#include <stdbool.h>
#include <stddef.h>

#define SH_CGROUP_PATH_BYTES 2048

typedef struct sh_cgroup {
    int version;
    size_t mount_bytes; /* of the mount point, a prefix of `folder` */
    char folder[SH_CGROUP_PATH_BYTES];
} sh_cgroup;

/* Prefers the controller's hierarchy of version 1. False if neither version is mounted or a line is
 * malformed. */
bool sh_cgroup_find(sh_cgroup *place, const char *mountinfo, const char *cgroup,
                    const char *controller);

/* Moves to the parent group. False if there is none. */
bool sh_cgroup_up(sh_cgroup *place);

#endif
