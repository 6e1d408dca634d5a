/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/figure_sources.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define CHANNELS 3 /* of an INA3221 */

static const sh_probe none = {.fd = -1};

static double watts(const sh_rail *rail)
{
    const double product = sh_probe_is_open(&rail->power)
                               ? sh_probe_number(&rail->power)
                               : sh_probe_number(&rail->voltage) * sh_probe_number(&rail->current);
    return product * rail->unit;
}

static void close_rail(sh_rail *rail)
{
    sh_probe_close(&rail->power);
    sh_probe_close(&rail->voltage);
    sh_probe_close(&rail->current);
}

/* Owns the rail. Skips disabled or unconnected channels, which give no value. */
static void add_rail(sh_rails *rails, sh_rail rail, const char *label)
{
    /* The input of the module (TX1 to Orin Nano) or of the board (Nano). */
    const bool whole = strcmp(label, "VDD_IN") == 0 || strcmp(label, "POM_5V_IN") == 0;
    if (rails->whole || strcmp(label, "NC") == 0 || rails->count == SH_RAILS_MAX ||
        isnan(watts(&rail))) {
        close_rail(&rail);
        return;
    }
    if (whole)
        sh_rails_close(rails);
    rails->whole = whole;
    rails->items[rails->count++] = rail;
}

/* hwmon: millivolts and milliamperes, from channel 1. */
static void add_chip(void *context, const char *path)
{
    char name[64], label[64];
    if (!sh_probe_once(name, sizeof name, "%s/name", path) || strcmp(name, "ina3221") != 0)
        return;
    for (int i = 1; i <= CHANNELS; i++) {
        const sh_rail rail = {.power = none,
                              .voltage = sh_probe_open("%s/in%d_input", path, i),
                              .current = sh_probe_open("%s/curr%d_input", path, i),
                              .unit = 1e-6};
        const bool named = sh_probe_once(label, sizeof label, "%s/in%d_label", path, i);
        add_rail(context, rail, named ? label : "");
    }
}

/* Industrial I/O: milliwatts, from channel 0. */
static void add_old_chip(void *context, const char *path)
{
    char label[64];
    for (int i = 0; i < CHANNELS; i++) {
        const sh_rail rail = {.power = sh_probe_open("%s/in_power%d_input", path, i),
                              .voltage = none,
                              .current = none,
                              .unit = 1e-3};
        const bool named = sh_probe_once(label, sizeof label, "%s/rail_name_%d", path, i);
        add_rail(context, rail, named ? label : "");
    }
}

/* A single rail: microwatts. */
static void add_single(void *context, const char *path)
{
    char name[64];
    if (!sh_probe_once(name, sizeof name, "%s/name", path) || strncmp(name, "ina2", 4) != 0)
        return;
    const sh_rail rail = {.power = sh_probe_open("%s/power1_input", path),
                          .voltage = none,
                          .current = none,
                          .unit = 1e-6};
    add_rail(context, rail, "");
}

void sh_rails_open(sh_rails *rails, const char *root)
{
    *rails = (sh_rails){0};
    sh_probe_each(root, "/sys/class/hwmon/hwmon*", add_chip, rails);
    if (rails->count == 0)
        sh_probe_each(root, "/sys/bus/i2c/drivers/ina3221x/*/iio*device*", add_old_chip, rails);
    if (rails->count == 0)
        sh_probe_each(root, "/sys/class/hwmon/hwmon*", add_single, rails);
}

void sh_rails_read(sh_rails *rails, sh_sample *sample)
{
    double sum = 0;
    for (size_t i = 0; i < rails->count; i++)
        sum += watts(&rails->items[i]);
    if (rails->count > 0)
        sample->figures[SH_FIGURE_power_watts] = sum;
}

void sh_rails_close(sh_rails *rails)
{
    while (rails->count > 0)
        close_rail(&rails->items[--rails->count]);
}
