/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group counts only the throttling by its own quota, so the counters of all levels are added. The
 * memory usage of a group includes the page cache, whose inactive part counts as available, as in
 * the kernel's estimate for the machine.
 */
#include "monitor/figure_sources.h"

#include <math.h>

#include "monitor/cgroup.h"
#include "monitor/numbers.h"

#define TEXT_BYTES 8192
#define MOUNTS_BYTES 65536

static double field(const sh_probe *probe, const char *name)
{
    char text[TEXT_BYTES];
    return sh_probe_text(probe, text, sizeof text) ? sh_numbers_field(text, name) : NAN;
}

static void open_cpu(sh_quota *quota, const char *root, sh_cgroup *place)
{
    quota->throttled = place->version == 1 ? "throttled_time" : "throttled_usec";
    quota->unit = place->version == 1 ? 1e-9 : 1e-6;
    do {
        sh_probe *stat = &quota->cpu[quota->cpu_levels];
        *stat = sh_probe_open("%s%s/cpu.stat", root, place->folder);
        if (isnan(field(stat, quota->throttled))) /* version 2's root group */
            sh_probe_close(stat);
        else
            quota->cpu_levels++;
    } while (quota->cpu_levels < SH_QUOTA_LEVELS_MAX && sh_cgroup_up(place));
}

static void open_memory(sh_quota *quota, const char *root, sh_cgroup *place)
{
    const bool first = place->version == 1;
    do {
        sh_quota_memory *level = &quota->memory[quota->memory_levels];
        const char *folder = place->folder;
        level->limit =
            sh_probe_open("%s%s/%s", root, folder, first ? "memory.limit_in_bytes" : "memory.max");
        if (!sh_probe_is_open(&level->limit)) /* the root group */
            continue;
        level->used = sh_probe_open("%s%s/%s", root, folder,
                                    first ? "memory.usage_in_bytes" : "memory.current");
        level->stat = sh_probe_open("%s%s/memory.stat", root, folder);
        level->cache = first ? "total_inactive_file" : "inactive_file";
        quota->memory_levels++;
    } while (quota->memory_levels < SH_QUOTA_LEVELS_MAX && sh_cgroup_up(place));
}

void sh_quota_open(sh_quota *quota, const char *root)
{
    char mounts[MOUNTS_BYTES], groups[TEXT_BYTES];
    sh_probe mountinfo = sh_probe_open("%s/proc/self/mountinfo", root);
    sh_probe cgroup = sh_probe_open("%s/proc/self/cgroup", root);
    *quota = (sh_quota){0};
    if (sh_probe_text(&mountinfo, mounts, sizeof mounts) &&
        sh_probe_text(&cgroup, groups, sizeof groups)) {
        sh_cgroup place;
        if (sh_cgroup_find(&place, mounts, groups, "cpu"))
            open_cpu(quota, root, &place);
        if (sh_cgroup_find(&place, mounts, groups, "memory"))
            open_memory(quota, root, &place);
    }
    sh_probe_close(&mountinfo);
    sh_probe_close(&cgroup);
}

static double left_of(double available, const sh_quota_memory *level)
{
    const double limit = sh_probe_number(&level->limit); /* NaN: "max" */
    const double used = sh_probe_number(&level->used);
    if (!(limit - used < available)) /* version 1 has a huge limit instead of "max" */
        return available;
    const double cache = field(&level->stat, level->cache);
    const double left = fmax(limit - used + (isnan(cache) ? 0 : cache), 0);
    return fmin(left, available);
}

void sh_quota_read(sh_quota *quota, sh_sample *sample)
{
    double *available = &sample->figures[SH_FIGURE_memory_available_bytes];
    double throttled = quota->cpu_levels == 0 ? NAN : 0;
    for (size_t i = 0; i < quota->cpu_levels; i++)
        throttled += field(&quota->cpu[i], quota->throttled);
    sample->figures[SH_FIGURE_cpu_throttled_seconds] = throttled * quota->unit;
    for (size_t i = 0; i < quota->memory_levels; i++)
        *available = left_of(*available, &quota->memory[i]);
}

void sh_quota_close(sh_quota *quota)
{
    for (size_t i = 0; i < quota->cpu_levels; i++)
        sh_probe_close(&quota->cpu[i]);
    for (size_t i = 0; i < quota->memory_levels; i++) {
        sh_probe_close(&quota->memory[i].limit);
        sh_probe_close(&quota->memory[i].used);
        sh_probe_close(&quota->memory[i].stat);
    }
    *quota = (sh_quota){0};
}
