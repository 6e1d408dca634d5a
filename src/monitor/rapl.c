/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/figure_sources.h"

#include <math.h>
#include <string.h>

/* Packages are named intel-rapl:0, also on AMD; their parts intel-rapl:0:1. Two domains are
 * skipped: intel-rapl-mmio has the same counters, and psys, the whole platform, is wrong on many
 * machines. */
static void add_package(void *context, const char *path)
{
    sh_rapl *rapl = context;
    char name[64];
    if (rapl->count == SH_RAPL_PACKAGES_MAX || !sh_probe_once(name, sizeof name, "%s/name", path) ||
        strncmp(name, "package", 7) != 0)
        return;
    sh_probe range = sh_probe_open("%s/max_energy_range_uj", path);
    rapl->packages[rapl->count++] = (struct sh_rapl_package){
        .energy = sh_probe_open("%s/energy_uj", path),
        .range = sh_probe_number(&range),
        .last = NAN,
    };
    sh_probe_close(&range);
}

void sh_rapl_open(sh_rapl *rapl, const char *root)
{
    *rapl = (sh_rapl){.joules = NAN};
    sh_probe_each(root, "/sys/class/powercap/intel-rapl:*", add_package, rapl);
}

void sh_rapl_read(sh_rapl *rapl, sh_sample *sample)
{
    double joules = rapl->count == 0 ? NAN : 0;
    for (size_t i = 0; i < rapl->count; i++) {
        struct sh_rapl_package *package = &rapl->packages[i];
        const double now = sh_probe_number(&package->energy);
        if (!isnan(now) && !isnan(package->last))
            package->total += now - package->last + (now < package->last ? package->range : 0);
        if (!isnan(now))
            package->last = now;
        joules += isnan(now) ? NAN : 1e-6 * package->total;
    }
    sample->figures[SH_FIGURE_energy_joules] = joules;
    double *watts = &sample->figures[SH_FIGURE_power_watts];
    if (isnan(*watts) && sample->at_ns > rapl->at_ns)
        *watts = (joules - rapl->joules) / (1e-9 * (double)(sample->at_ns - rapl->at_ns));
    rapl->joules = joules;
    rapl->at_ns = sample->at_ns;
}

void sh_rapl_close(sh_rapl *rapl)
{
    while (rapl->count > 0)
        sh_probe_close(&rapl->packages[--rapl->count].energy);
}
