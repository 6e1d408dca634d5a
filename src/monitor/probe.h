/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small file that the kernel generates at each reading. It is opened once and read repeatedly.
 *
 *     sh_probe load = sh_probe_open("%s/proc/loadavg", root);
 *     char text[64];
 *     if (sh_probe_line(&load, text, sizeof text))
 *         ...
 *     sh_probe_close(&load);
 *
 * Files that cannot be opened or read give no value; this is not an error.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_MONITOR_PROBE_H
#define SHOAL_MONITOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#define SH_PROBE_PATH_BYTES 4096
#define SH_PROBES_MAX 32

typedef struct sh_probe {
    int fd; /* -1: not open */
} sh_probe;

/* Owned: sh_probe_close. Not open on failure. */
sh_probe sh_probe_open(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sh_probe_close(sh_probe *probe);

static inline bool sh_probe_is_open(const sh_probe *probe)
{
    return probe->fd >= 0;
}

/* Opens `folder` + `names[i]`, such as "/stat", as probes[i]. */
void sh_probe_open_each(sh_probe *probes, const char *folder, const char *const *names,
                        size_t count);
void sh_probe_close_each(sh_probe *probes, size_t count);

/* The whole file as a terminated string. False if it is empty, unreadable or too long. */
bool sh_probe_text(const sh_probe *probe, char *text, size_t bytes);

/* The first line without its newline. False as above. */
bool sh_probe_line(const sh_probe *probe, char *line, size_t bytes);

/* The first line as a number, or NaN. */
double sh_probe_number(const sh_probe *probe);

/* Opens, reads and closes a file. False as above. */
bool sh_probe_once(char *line, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Calls `each` for paths below `root` that match the glob(3) pattern, sorted by name. */
typedef void sh_probe_visit(void *context, const char *path);
void sh_probe_each(const char *root, const char *pattern, sh_probe_visit *each, void *context);

/* All zero: empty. */
typedef struct sh_probes {
    size_t count;
    sh_probe items[SH_PROBES_MAX];
} sh_probes;

/* Owns the probe. False, and closes it, if it is not open or the set is full. */
bool sh_probes_add(sh_probes *probes, sh_probe probe);
void sh_probes_find(sh_probes *probes, const char *root, const char *pattern);
void sh_probes_close(sh_probes *probes);

#endif
