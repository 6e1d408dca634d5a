/* SPDX-License-Identifier: Apache-2.0 */
#include "monitor/sampler.h"

#include <math.h>
#include <stdlib.h>

#include "base/memory.h"
#include "monitor/figure_sources.h"

struct sh_sampler {
    const sh_clock *clock;
    sh_sampler_network *network;
    void *context;
#define MEMBER(noun) sh_##noun noun;
    SH_SOURCES(MEMBER)
    SH_SLOW_SOURCES(MEMBER)
#undef MEMBER
    sh_sample slow; /* the last reading */
    bool read_slow;
};

sh_status sh_sampler_open(sh_sampler **sampler, const sh_sampler_options *options)
{
    static const sh_sampler_options all_default = {0};
    const sh_sampler_options *o = options == NULL ? &all_default : options;
    const char *root = o->root == NULL ? "" : o->root;
    sh_sampler *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the monitor");
    fresh->clock = o->clock == NULL ? sh_clock_system() : o->clock;
    fresh->network = o->network;
    fresh->context = o->context;
#define OPEN(noun) sh_##noun##_open(&fresh->noun, root);
    SH_SOURCES(OPEN)
    SH_SLOW_SOURCES(OPEN)
#undef OPEN
    *sampler = fresh;
    return SH_OK;
}

void sh_sampler_take(sh_sampler *sampler, sh_sample *sample)
{
    sh_sample *slow = &sampler->slow;
    sh_sample_clear(sample);
    sample->at_ns = sh_clock_now_ns(sampler->clock);
#define READ(noun) sh_##noun##_read(&sampler->noun, sample);
    SH_SOURCES(READ)
#undef READ
    if (!sampler->read_slow || sample->at_ns - slow->at_ns >= SH_SAMPLER_SLOW_NS) {
        sh_sample_clear(slow);
        slow->at_ns = sample->at_ns;
        sampler->read_slow = true;
#define READ(noun) sh_##noun##_read(&sampler->noun, slow);
        SH_SLOW_SOURCES(READ)
#undef READ
    }
    /* Power and energy must describe the same thing: with RAPL's energy, the battery's power is not
     * used. */
    for (int i = 0; i < SH_FIGURE_COUNT; i++)
        if (isnan(sample->figures[i]) &&
            (i != SH_FIGURE_power_watts || isnan(sample->figures[SH_FIGURE_energy_joules])))
            sample->figures[i] = slow->figures[i];
    if (sampler->network != NULL)
        sampler->network(sampler->context, sample);
}

void sh_sampler_close(sh_sampler *sampler)
{
    if (sampler == NULL)
        return;
#define CLOSE(noun) sh_##noun##_close(&sampler->noun);
    SH_SOURCES(CLOSE)
    SH_SLOW_SOURCES(CLOSE)
#undef CLOSE
    free(sampler);
}
