/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests: a simulated machine. It is a folder with the files of proc/ and sys/, and a clock.
 *
 *     static const machine_file pi[] = {{"proc/loadavg", "0.50 0.40 0.30 1/99 1234\n"}, {0}};
 *     machine_make(&m, pi);
 *     machine_set(&m, "proc/loadavg", "x\n");
 *     machine_take(&m);                            // m.sample
 *     machine_remove(&m);
 *
 * Threads: one. Failures fail the test.
 */
#ifndef SHOAL_MONITOR_MACHINE_FIXTURE_H
#define SHOAL_MONITOR_MACHINE_FIXTURE_H

#include <math.h>

#include "base/scratch.h"
#include "monitor/sampler.h"

typedef struct machine_file {
    const char *path, *text;
} machine_file;

typedef struct machine {
    char folder[SCRATCH_BYTES];
    uint64_t now_ns;
    sh_clock clock;
    sh_sampler *sampler; /* opened by the first machine_take */
    sh_sample sample;
} machine;

static inline uint64_t machine_now_ns(void *context)
{
    return *(const uint64_t *)context;
}

/* Overwrites a file in place, as a kernel does. */
static inline void machine_set(const machine *m, const char *path, const char *text)
{
    char whole[SCRATCH_BYTES + 512];
    const int length = snprintf(whole, sizeof whole, "%s/%s", m->folder, path);
    assert_in_range(length, 1, sizeof whole - 1);
    for (char *slash = whole + strlen(m->folder); (slash = strchr(slash + 1, '/')) != NULL;) {
        *slash = '\0';
        if (mkdir(whole, 0700) != 0)
            assert_int_equal(errno, EEXIST);
        *slash = '/';
    }
    scratch_write(whole, text, strlen(text));
}

static inline void machine_add(const machine *m, const machine_file *files)
{
    for (; files->path != NULL; files++)
        machine_set(m, files->path, files->text);
}

static inline void machine_make(machine *m, const machine_file *files)
{
    *m = (machine){.now_ns = 1000000000};
    m->clock = (sh_clock){.now_ns = machine_now_ns, .context = &m->now_ns};
    scratch_make(m->folder);
    machine_add(m, files);
}

static inline void machine_take(machine *m)
{
    const sh_sampler_options options = {.root = m->folder, .clock = &m->clock};
    if (m->sampler == NULL)
        assert_ok(sh_sampler_open(&m->sampler, &options));
    sh_sampler_take(m->sampler, &m->sample);
}

static inline void machine_take_after(machine *m, double seconds)
{
    m->now_ns += (uint64_t)(seconds * 1e9);
    machine_take(m);
}

static inline void machine_remove(machine *m)
{
    sh_sampler_close(m->sampler);
    scratch_remove(m->folder);
}

/* Checks a figure to nine digits. NaN: it must not be available. */
static inline void machine_expect(const machine *m, sh_figure figure, double expected)
{
    const double found = m->sample.figures[figure];
    if (isnan(found) != isnan(expected) || fabs(found - expected) > 1e-9 * fabs(expected))
        fail_msg("%s: %.12g, expected %.12g", sh_figure_name(figure), found, expected);
}

#endif
