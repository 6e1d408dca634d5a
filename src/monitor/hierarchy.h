/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a process's control group is in the file tree (cgroups(7)), version 1 or 2, from the texts
 * of its files in /proc.
 *
 *     sh_hierarchy place;
 *     if (sh_hierarchy_find(&place, mountinfo, cgroup, "cpu"))
 *         printf("%s, version %d\n", place.folder, place.version);
 *
 * Threads: any.
 */
#ifndef SHOAL_MONITOR_HIERARCHY_H
#define SHOAL_MONITOR_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>

#define SH_HIERARCHY_PATH_BYTES 2048

typedef struct sh_hierarchy {
    int version;
    size_t mount_bytes; /* the folder's beginning that is the hierarchy's highest folder here */
    char folder[SH_HIERARCHY_PATH_BYTES];
} sh_hierarchy;

/*
 * The group that `controller` counts the process in: in its hierarchy of version 1 where that is
 * mounted, else in the one of version 2. False where there is neither, or a line is malformed.
 */
bool sh_hierarchy_find(sh_hierarchy *place, const char *mountinfo, const char *cgroup,
                       const char *controller);

/* Goes one group up; false at the highest. */
bool sh_hierarchy_up(sh_hierarchy *place);

#endif
