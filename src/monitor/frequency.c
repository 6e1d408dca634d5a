/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/figure_sources.h"

#include <math.h>

#include "monitor/numbers.h"

static void add_policy(void *context, const char *path)
{
    sh_frequency *frequency = context;
    const size_t index = frequency->policies.count;
    char line[1024];
    double cores = 0;
    if (!sh_probes_add(&frequency->policies, sh_probe_open("%s/scaling_cur_freq", path)))
        return;
    if (sh_probe_once(line, sizeof line, "%s/affected_cpus", path)) /* "0 1 2 3" */
        for (const char *at = line; !isnan(sh_numbers_next(&at));)
            cores++;
    frequency->cores[index] = fmax(cores, 1);
}

void sh_frequency_open(sh_frequency *frequency, const char *root)
{
    *frequency = (sh_frequency){0};
    sh_probe_each(root, "/sys/devices/system/cpu/cpufreq/policy*", add_policy, frequency);
}

void sh_frequency_read(sh_frequency *frequency, sh_sample *sample)
{
    double sum = 0, cores = 0;
    for (size_t i = 0; i < frequency->policies.count; i++) {
        sum += frequency->cores[i] * sh_probe_number(&frequency->policies.items[i]);
        cores += frequency->cores[i];
    }
    if (cores > 0)
        sample->figures[SH_FIGURE_cpu_frequency_hertz] = 1e3 * sum / cores;
}

void sh_frequency_close(sh_frequency *frequency)
{
    sh_probes_close(&frequency->policies);
}
