/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small file that the kernel fills anew for each reading: opened once, read again and again.
 *
 *     sh_probe load = sh_probe_open("%s/proc/loadavg", root);
 *     char text[64];
 *     if (sh_probe_line(&load, text, sizeof text))
 *         ...
 *     sh_probe_close(&load);
 *
 * What cannot be opened or read gives nothing. Threads: caller locks.
 */
#ifndef SHOAL_MONITOR_PROBE_H
#define SHOAL_MONITOR_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#define SH_PROBE_PATH_BYTES 4096
#define SH_PROBES_MAX 32

typedef struct sh_probe {
    int fd; /* -1: there is none */
} sh_probe;

/* Each owned: sh_probe_close. */
sh_probe sh_probe_open(const char *format, ...) __attribute__((format(printf, 1, 2)));
void sh_probe_close(sh_probe *probe);

static inline bool sh_probe_is_open(const sh_probe *probe)
{
    return probe->fd >= 0;
}

/* Those of `names` below `folder`, one each and in order: "/stat". */
void sh_probe_open_each(sh_probe *probes, const char *folder, const char *const *names,
                        size_t count);
void sh_probe_close_each(sh_probe *probes, size_t count);

/* The whole file as a text with its terminator; false where it is empty or has no room. */
bool sh_probe_text(const sh_probe *probe, char *text, size_t bytes);

/* The first line without its end; false where it is empty or has no room. */
bool sh_probe_line(const sh_probe *probe, char *line, size_t bytes);

/* The number that is all of the first line, else NaN. */
double sh_probe_number(const sh_probe *probe);

/* The first line of a file that is read once. */
bool sh_probe_once(char *line, size_t bytes, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Calls `each` for every path below `root` that matches the pattern of glob(3), by name. */
typedef void sh_probe_visit(void *context, const char *path);
void sh_probe_each(const char *root, const char *pattern, sh_probe_visit *each, void *context);

/* Several that are read together. All zero is none. */
typedef struct sh_probes {
    size_t count;
    sh_probe items[SH_PROBES_MAX];
} sh_probes;

/* Takes an open one over; false, and closes it, where it is none or one too many. */
bool sh_probes_add(sh_probes *probes, sh_probe probe);
void sh_probes_find(sh_probes *probes, const char *root, const char *pattern);
void sh_probes_close(sh_probes *probes);

#endif
