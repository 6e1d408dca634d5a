/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/figure_sources.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bits of get_throttled: under-voltage, frequency capped, throttled, soft temperature limit
 * (Raspberry Pi, documentation of vcgencmd). Bits from 16 on are the past. */
#define FIRMWARE_NOW 0xful

static void find_firmware(void *context, const char *path)
{
    sh_throttling *throttling = context;
    if (!sh_probe_is_open(&throttling->firmware))
        throttling->firmware = sh_probe_open("%s", path);
}

/* Adds cooling devices that slow the processor down, not fans. */
static void add_cooling(void *context, const char *path)
{
    sh_throttling *throttling = context;
    char type[64];
    if (sh_probe_once(type, sizeof type, "%s/type", path) &&
        (strstr(type, "cpufreq") != NULL || strcmp(type, "Processor") == 0))
        sh_probes_add(&throttling->levels, sh_probe_open("%s/cur_state", path));
}

static void add_monitor(void *context, const char *path)
{
    sh_throttling *throttling = context;
    char name[64];
    if (!sh_probe_once(name, sizeof name, "%s/name", path))
        return;
    if (strcmp(name, "rpi_volt") == 0)
        sh_probes_add(&throttling->levels, sh_probe_open("%s/in0_lcrit_alarm", path));
    else if (strcmp(name, "soctherm_oc") == 0)
        sh_probes_find(&throttling->events, path, "/oc*_event_cnt");
}

void sh_throttling_open(sh_throttling *throttling, const char *root)
{
    *throttling = (sh_throttling){.firmware = {.fd = -1}, .last = NAN};
    sh_probe_each(root, "/sys/devices/platform/soc*/soc*:firmware/get_throttled", find_firmware,
                  throttling);
    sh_probe_each(root, "/sys/class/thermal/cooling_device*", add_cooling, throttling);
    sh_probe_each(root, "/sys/class/hwmon/hwmon*", add_monitor, throttling);
    sh_probes_find(&throttling->events, root,
                   "/sys/devices/system/cpu/cpu*/thermal_throttle/*_throttle_count");
}

/* fmax ignores NaN. */
void sh_throttling_read(sh_throttling *throttling, sh_sample *sample)
{
    char line[32], *end;
    double held = NAN;
    if (sh_probe_line(&throttling->firmware, line, sizeof line)) {
        const unsigned long bits = strtoul(line, &end, 16);
        if (end != line && *end == '\0')
            held = (bits & FIRMWARE_NOW) != 0;
    }
    for (size_t i = 0; i < throttling->levels.count; i++) {
        const double level = sh_probe_number(&throttling->levels.items[i]);
        if (!isnan(level))
            held = fmax(held, level > 0);
    }
    double sum = throttling->events.count == 0 ? NAN : 0;
    for (size_t i = 0; i < throttling->events.count; i++)
        sum += sh_probe_number(&throttling->events.items[i]);
    const double grown = sum - throttling->last; /* NaN at the first reading */
    if (!isnan(grown))
        held = fmax(held, grown > 0);
    throttling->last = sum;
    sample->figures[SH_FIGURE_throttled_ratio] = held;
}

void sh_throttling_close(sh_throttling *throttling)
{
    sh_probe_close(&throttling->firmware);
    sh_probes_close(&throttling->levels);
    sh_probes_close(&throttling->events);
}
