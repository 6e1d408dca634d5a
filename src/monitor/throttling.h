/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the processor is held back for heat or voltage: by the firmware of a Raspberry Pi, by the
 * kernel's cooling, by an x86 processor itself, by the over-current guard of a Jetson.
 *
 *     sh_throttling_open(&throttling, root);
 *     sh_throttling_read(&throttling, &sample);      // sets the figure where it is known
 *     sh_throttling_close(&throttling);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_MONITOR_THROTTLING_H
#define SHOAL_MONITOR_THROTTLING_H

#include "monitor/probe.h"
#include "monitor/sample.h"

typedef struct sh_throttling {
    sh_probe firmware; /* get_throttled */
    sh_probes levels;  /* not zero: now */
    sh_probes events;  /* more than at the last reading: now */
    double last;       /* sum of the events; NaN: not known */
} sh_throttling;

void sh_throttling_open(sh_throttling *throttling, const char *root);
void sh_throttling_read(sh_throttling *throttling, sh_sample *sample);
void sh_throttling_close(sh_throttling *throttling);

#endif
