/* SPDX-License-Identifier: Apache-2.0 */
/*
 * At which frequency the cores run now, by the kernel's cpufreq.
 *
 *     sh_frequency_open(&frequency, root);
 *     sh_frequency_read(&frequency, &sample);      // sets the figure where it is known
 *     sh_frequency_close(&frequency);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_MONITOR_FREQUENCY_H
#define SHOAL_MONITOR_FREQUENCY_H

#include "monitor/probe.h"
#include "monitor/sample.h"

typedef struct sh_frequency {
    sh_probes policies;          /* cores that change together; the first SH_PROBES_MAX */
    double cores[SH_PROBES_MAX]; /* of each */
} sh_frequency;

void sh_frequency_open(sh_frequency *frequency, const char *root);
void sh_frequency_read(const sh_frequency *frequency, sh_sample *sample);
void sh_frequency_close(sh_frequency *frequency);

#endif
