/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/sampler.h"

#include <stdlib.h>

struct sh_sampler {
    const sh_clock *clock;
    sh_sampler_network *network;
    void *context;
};

sh_status sh_sampler_open(sh_sampler **sampler, const sh_sampler_options *options)
{
    static const sh_sampler_options all_default = {0};
    const sh_sampler_options *o = options == NULL ? &all_default : options;
    sh_sampler *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the monitor");
    fresh->clock = o->clock == NULL ? sh_clock_system() : o->clock;
    fresh->network = o->network;
    fresh->context = o->context;
    *sampler = fresh;
    return SH_OK;
}

void sh_sampler_take(sh_sampler *sampler, sh_sample *sample)
{
    sh_sample_clear(sample);
    sample->at_ns = sh_clock_now_ns(sampler->clock);
    sample->figures[SH_FIGURE_cpu_process_seconds] = sh_process_cpu_seconds();
    if (sampler->network != NULL)
        sampler->network(sampler->context, sample);
}

void sh_sampler_close(sh_sampler *sampler)
{
    free(sampler);
}
