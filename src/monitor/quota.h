/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the control groups of this process (its own and those above it) keep from it: processor
 * time beyond a quota, memory beyond a limit. Version 1 or 2, whichever there is.
 *
 *     sh_quota_open(&quota, root);
 *     sh_quota_read(&quota, &sample);      // behind sh_proc_read, whose figure it lowers
 *     sh_quota_close(&quota);
 *
 * Threads: caller locks. The groups are those of the moment of opening.
 */
#ifndef SHOAL_MONITOR_QUOTA_H
#define SHOAL_MONITOR_QUOTA_H

#include "monitor/probe.h"
#include "monitor/sample.h"

#define SH_QUOTA_LEVELS_MAX 8 /* the process's own and the nearest above */

typedef struct sh_quota_memory {
    sh_probe limit, used, stat;
    const char *cache; /* the field of `stat` that counts what can be had back at once */
} sh_quota_memory;

typedef struct sh_quota {
    size_t cpu_levels, memory_levels;
    sh_probe cpu[SH_QUOTA_LEVELS_MAX];
    sh_quota_memory memory[SH_QUOTA_LEVELS_MAX];
    const char *throttled; /* the field of each `cpu` */
    double unit;           /* its unit, in seconds */
} sh_quota;

void sh_quota_open(sh_quota *quota, const char *root);
void sh_quota_read(const sh_quota *quota, sh_sample *sample);
void sh_quota_close(sh_quota *quota);

#endif
