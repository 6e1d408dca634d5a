/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads all figures of figures.def at once.
 *
 *     sh_sampler *sampler;
 *     SH_TRY(sh_sampler_open(&sampler, &(sh_sampler_options){.network = count, .context = node}));
 *     sh_sampler_take(sampler, &sample);
 *     sh_sampler_close(sampler);
 *
 * Files are found and opened once and read for each sample. A figure is not available if its file
 * is missing, not permitted (energy, without root), malformed, or disappears later. Slow sensors
 * (temperature, throttling, battery) are read once per SH_SAMPLER_SLOW_NS; samples in between
 * repeat their last reading.
 *
 * Threads: caller locks. A sample takes about 0.25 ms of processor time (bench/monitor_cost.py).
 */
#ifndef SHOAL_MONITOR_SAMPLER_H
#define SHOAL_MONITOR_SAMPLER_H

#include "base/clock.h"
#include "base/fail.h"
#include "monitor/sample.h"

#define SH_SAMPLER_SLOW_NS 1000000000u

typedef struct sh_sampler sh_sampler;

/* Sets the known ones of the figures network_..., of this process's channels. The others remain not
 * available. Called by sh_sampler_take on its thread; must not block. */
typedef void sh_sampler_network(void *context, sh_sample *sample);

typedef struct sh_sampler_options {
    const char *root;            /* folder that holds proc/ and sys/; NULL: the system's. Copied */
    const sh_clock *clock;       /* NULL: the system's. Borrowed until the sampler is closed */
    sh_sampler_network *network; /* NULL: these figures are not available */
    void *context;               /* of `network`; borrowed until the sampler is closed */
} sh_sampler_options;

/* The caller owns `*sampler`: sh_sampler_close. `options` may be NULL. SH_NO_MEMORY. */
sh_status sh_sampler_open(sh_sampler **sampler, const sh_sampler_options *options) SHOAL_CHECKED;

/* Sets all figures of the sample to their current values. */
void sh_sampler_take(sh_sampler *sampler, sh_sample *sample);

/* NULL does nothing. */
void sh_sampler_close(sh_sampler *sampler);

#endif
