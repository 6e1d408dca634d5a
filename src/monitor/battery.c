/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/figure_sources.h"

#include <math.h>
#include <string.h>

enum {
    NOW, /* energy or charge, as FULL */
    FULL,
    CAPACITY, /* percent; used without the two above */
    STATUS,
    POWER, /* micro-units, as are CURRENT and VOLTAGE */
    CURRENT,
    VOLTAGE,
};

/* Adds a device of the power supply class (Documentation/ABI/testing/sysfs-class-power). */
static void add_cell(void *context, const char *path)
{
    static const char *const names[SH_BATTERY_PROBES] = {
        "/energy_now", "/energy_full", "/capacity",   "/status",
        "/power_now",  "/current_now", "/voltage_now"};
    static const char *const charge_names[] = {"/charge_now", "/charge_full"};
    sh_battery *battery = context;
    char line[64];
    if (battery->count == SH_BATTERY_CELLS_MAX ||
        !sh_probe_once(line, sizeof line, "%s/type", path) || strcmp(line, "Battery") != 0)
        return;
    if (sh_probe_once(line, sizeof line, "%s/scope", path) && strcmp(line, "Device") == 0)
        return; /* the battery of a peripheral */
    sh_probe *probes = battery->cells[battery->count++].probes;
    sh_probe_open_each(probes, path, names, SH_BATTERY_PROBES);
    if (!sh_probe_is_open(&probes[NOW])) {
        sh_probe_close(&probes[FULL]);
        sh_probe_open_each(probes, path, charge_names, 2);
    }
}

void sh_battery_open(sh_battery *battery, const char *root)
{
    *battery = (sh_battery){0};
    sh_probe_each(root, "/sys/class/power_supply/*", add_cell, battery);
}

static double charge_of(const struct sh_battery_cell *cell)
{
    const double exact = sh_probe_number(&cell->probes[NOW]) / sh_probe_number(&cell->probes[FULL]);
    const double ratio = isfinite(exact) ? exact : 1e-2 * sh_probe_number(&cell->probes[CAPACITY]);
    return ratio >= 0 ? fmin(ratio, 1) : NAN; /* a worn battery may report more */
}

/* 0 unless the battery is discharging: then the mains feed the machine. */
static double draw_of(const struct sh_battery_cell *cell)
{
    char status[64];
    if (!sh_probe_line(&cell->probes[STATUS], status, sizeof status) ||
        strcmp(status, "Discharging") != 0)
        return 0;
    const double power = 1e-6 * sh_probe_number(&cell->probes[POWER]);
    if (!isnan(power))
        return fabs(power); /* some drivers report discharging as negative */
    return fabs(1e-12 * sh_probe_number(&cell->probes[CURRENT]) *
                sh_probe_number(&cell->probes[VOLTAGE]));
}

void sh_battery_read(sh_battery *battery, sh_sample *sample)
{
    double charge = 0, draw = 0;
    for (size_t i = 0; i < battery->count; i++) {
        charge += charge_of(&battery->cells[i]);
        draw += draw_of(&battery->cells[i]);
    }
    if (battery->count > 0)
        sample->figures[SH_FIGURE_battery_ratio] = charge / (double)battery->count;
    if (isnan(sample->figures[SH_FIGURE_power_watts]) && draw > 0)
        sample->figures[SH_FIGURE_power_watts] = draw;
}

void sh_battery_close(sh_battery *battery)
{
    while (battery->count > 0)
        sh_probe_close_each(battery->cells[--battery->count].probes, SH_BATTERY_PROBES);
}
