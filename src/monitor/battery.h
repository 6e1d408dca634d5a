/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How full the machine's batteries are, and what it draws from them.
 *
 *     sh_battery_open(&battery, root);
 *     sh_battery_read(&battery, &sample);      // sets charge, and power while they discharge
 *     sh_battery_close(&battery);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_MONITOR_BATTERY_H
#define SHOAL_MONITOR_BATTERY_H

#include "monitor/probe.h"
#include "monitor/sample.h"

#define SH_BATTERY_CELLS_MAX 4

typedef struct sh_battery {
    size_t count;
    struct sh_battery_cell {
        sh_probe now, full;                       /* in the same unit, whichever it is; without: */
        sh_probe capacity;                        /* per cent */
        sh_probe status, power, current, voltage; /* micro-units */
    } cells[SH_BATTERY_CELLS_MAX];
} sh_battery;

void sh_battery_open(sh_battery *battery, const char *root);

/* Charge is the mean of the batteries. Power is set where it is not available yet. */
void sh_battery_read(const sh_battery *battery, sh_sample *sample);
void sh_battery_close(sh_battery *battery);

#endif
