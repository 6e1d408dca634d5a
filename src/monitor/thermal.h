/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How hot the processor or the board is: thermal zones, and sensors of x86 processors.
 *
 *     sh_thermal_open(&thermal, root);
 *     sh_thermal_read(&thermal, &sample);      // sets the figure where it is known
 *     sh_thermal_close(&thermal);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_MONITOR_THERMAL_H
#define SHOAL_MONITOR_THERMAL_H

#include "monitor/probe.h"
#include "monitor/sample.h"

typedef struct sh_thermal {
    sh_probes sensors;
} sh_thermal;

void sh_thermal_open(sh_thermal *thermal, const char *root);
void sh_thermal_read(const sh_thermal *thermal, sh_sample *sample);
void sh_thermal_close(sh_thermal *thermal);

#endif
