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

/* What a battery tells of itself. */
enum {
    SH_BATTERY_NOW, /* in the same unit as the next, whichever it is; without: */
    SH_BATTERY_FULL,
    SH_BATTERY_CAPACITY, /* per cent */
    SH_BATTERY_STATUS,
    SH_BATTERY_POWER, /* micro-units, all three */
    SH_BATTERY_CURRENT,
    SH_BATTERY_VOLTAGE,
    SH_BATTERY_PROBES
};

typedef struct sh_battery {
    size_t count;
    struct sh_battery_cell {
        sh_probe probes[SH_BATTERY_PROBES];
    } cells[SH_BATTERY_CELLS_MAX];
} sh_battery;

void sh_battery_open(sh_battery *battery, const char *root);

/* Charge is the mean of the batteries. Power is set where it is not available yet. */
void sh_battery_read(const sh_battery *battery, sh_sample *sample);
void sh_battery_close(sh_battery *battery);

#endif
