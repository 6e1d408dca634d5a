/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The energy that x86 processors count themselves (running average power limit), through the
 * kernel's powercap; only root may read it.
 *
 *     sh_rapl_open(&rapl, root);
 *     sh_rapl_read(&rapl, &sample);      // sets energy, and power where it is not available yet
 *     sh_rapl_close(&rapl);
 *
 * Threads: caller locks. Readings have to be less than a turn of the counters apart: half an hour
 * at 100 W.
 */
#ifndef SHOAL_MONITOR_RAPL_H
#define SHOAL_MONITOR_RAPL_H

#include "monitor/probe.h"
#include "monitor/sample.h"

#define SH_RAPL_PACKAGES_MAX 8

typedef struct sh_rapl {
    size_t count;
    struct sh_rapl_package {
        sh_probe energy;
        double range;       /* of the counter, microjoules */
        double last, total; /* microjoules; last NaN: not read yet */
    } packages[SH_RAPL_PACKAGES_MAX];
    double joules; /* at the last reading, of the time below; NaN: none */
    uint64_t at_ns;
} sh_rapl;

void sh_rapl_open(sh_rapl *rapl, const char *root);

/* `sample` has its time. Power is the mean since the reading before. */
void sh_rapl_read(sh_rapl *rapl, sh_sample *sample);
void sh_rapl_close(sh_rapl *rapl);

#endif
