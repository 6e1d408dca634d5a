/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/figure_sources.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* The sensor is off or broken outside of these limits. */
#define LEAST_CELSIUS (-40.0)
#define MOST_CELSIUS 150.0

/* Zones that do not measure the processor or board. PMIC-Die of Jetsons is a constant. */
static const char *const elsewhere[] = {"pmic-die", "battery", "bat",  "charger", "iwlwifi",
                                        "wifi",     "wlan",    "nvme", "ath",     "phy"};

/* Other hwmon devices measure disks or radios, or duplicate thermal zones. */
static const char *const processors[] = {"coretemp", "k10temp", "k8temp", "zenpower",
                                         "via_cputemp"};

static bool begins_with_one(const char *text, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strncasecmp(text, words[i], strlen(words[i])) == 0)
            return true;
    return false;
}

static void add_zone(void *context, const char *path)
{
    sh_thermal *thermal = context;
    char type[64];
    if (sh_probe_once(type, sizeof type, "%s/type", path) &&
        !begins_with_one(type, elsewhere, sizeof elsewhere / sizeof *elsewhere))
        sh_probes_add(&thermal->sensors, sh_probe_open("%s/temp", path));
}

static void add_processor(void *context, const char *path)
{
    sh_thermal *thermal = context;
    char name[64];
    if (sh_probe_once(name, sizeof name, "%s/name", path) &&
        begins_with_one(name, processors, sizeof processors / sizeof *processors))
        sh_probes_find(&thermal->sensors, path, "/temp*_input");
}

void sh_thermal_open(sh_thermal *thermal, const char *root)
{
    *thermal = (sh_thermal){0};
    sh_probe_each(root, "/sys/class/thermal/thermal_zone*", add_zone, thermal);
    sh_probe_each(root, "/sys/class/hwmon/hwmon*", add_processor, thermal);
}

void sh_thermal_read(sh_thermal *thermal, sh_sample *sample)
{
    double hottest = NAN;
    for (size_t i = 0; i < thermal->sensors.count; i++) {
        const double celsius = 1e-3 * sh_probe_number(&thermal->sensors.items[i]);
        if (celsius > LEAST_CELSIUS && celsius < MOST_CELSIUS)
            hottest = fmax(hottest, celsius);
    }
    sample->figures[SH_FIGURE_temperature_celsius] = hottest;
}

void sh_thermal_close(sh_thermal *thermal)
{
    sh_probes_close(&thermal->sensors);
}
