/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/probe.h"

#include <fcntl.h>
#include <glob.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "monitor/numbers.h"

__attribute__((format(printf, 1, 0))) static sh_probe open_at(const char *format, va_list arguments)
{
    char path[SH_PROBE_PATH_BYTES];
    const int length = vsnprintf(path, sizeof path, format, arguments);
    if (length < 0 || (size_t)length >= sizeof path)
        return (sh_probe){.fd = -1};
    return (sh_probe){.fd = open(path, O_RDONLY | O_CLOEXEC)};
}

sh_probe sh_probe_open(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const sh_probe probe = open_at(format, arguments);
    va_end(arguments);
    return probe;
}

void sh_probe_close(sh_probe *probe)
{
    if (sh_probe_is_open(probe))
        close(probe->fd);
    probe->fd = -1;
}

void sh_probe_open_each(sh_probe *probes, const char *folder, const char *const *names,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        probes[i] = sh_probe_open("%s%s", folder, names[i]);
}

void sh_probe_close_each(sh_probe *probes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sh_probe_close(&probes[i]);
}

/* Some files return at most a page per read. */
bool sh_probe_text(const sh_probe *probe, char *text, size_t bytes)
{
    size_t length = 0;
    ssize_t more = 0;
    if (!sh_probe_is_open(probe))
        return false;
    while (length < bytes &&
           (more = pread(probe->fd, text + length, bytes - length, (off_t)length)) > 0)
        length += (size_t)more;
    if (more < 0 || length == 0 || length == bytes)
        return false;
    text[length] = '\0';
    return true;
}

bool sh_probe_line(const sh_probe *probe, char *line, size_t bytes)
{
    const ssize_t length = sh_probe_is_open(probe) ? pread(probe->fd, line, bytes, 0) : -1;
    if (length <= 0)
        return false;
    char *end = memchr(line, '\n', (size_t)length);
    if (end == NULL && (size_t)length == bytes)
        return false;
    *(end == NULL ? line + length : end) = '\0';
    return line[0] != '\0';
}

double sh_probe_number(const sh_probe *probe)
{
    char line[64];
    if (!sh_probe_line(probe, line, sizeof line))
        return NAN;
    const char *at = line;
    const double number = sh_numbers_next(&at);
    return at[strspn(at, " \t")] == '\0' ? number : NAN;
}

bool sh_probe_once(char *line, size_t bytes, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    sh_probe probe = open_at(format, arguments);
    va_end(arguments);
    const bool read = sh_probe_line(&probe, line, bytes);
    sh_probe_close(&probe);
    return read;
}

void sh_probe_each(const char *root, const char *pattern, sh_probe_visit *each, void *context)
{
    char path[SH_PROBE_PATH_BYTES];
    glob_t found;
    const int length = snprintf(path, sizeof path, "%s%s", root, pattern);
    if (length < 0 || (size_t)length >= sizeof path || glob(path, 0, NULL, &found) != 0)
        return;
    for (size_t i = 0; i < found.gl_pathc; i++)
        each(context, found.gl_pathv[i]);
    globfree(&found);
}

bool sh_probes_add(sh_probes *probes, sh_probe probe)
{
    if (!sh_probe_is_open(&probe))
        return false;
    if (probes->count == SH_PROBES_MAX) {
        sh_probe_close(&probe);
        return false;
    }
    probes->items[probes->count++] = probe;
    return true;
}

static void add_path(void *context, const char *path)
{
    sh_probes_add(context, sh_probe_open("%s", path));
}

void sh_probes_find(sh_probes *probes, const char *root, const char *pattern)
{
    sh_probe_each(root, pattern, add_path, probes);
}

void sh_probes_close(sh_probes *probes)
{
    sh_probe_close_each(probes->items, probes->count);
    probes->count = 0;
}
