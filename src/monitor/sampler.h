/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads all figures of figures.def at once.
 *
 * A figure is not available if its file is missing, not permitted (energy, without root),
 * malformed, or disappears later. Slow sensors (temperature, throttling, battery) are read once per
 * SH_SAMPLER_SLOW_NS; samples in between repeat their last reading.
 *
 *     sh_sampler *sampler;
 *     SH_TRY(sh_sampler_open(&sampler, &(sh_sampler_options){.network = count, .context = node}));
 *     sh_sampler_take(sampler, &sample);
 *     sh_sampler_close(sampler);
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

/* Sets the known figures network_... of this process's channels. sh_sampler_take calls it on its
 * thread; it must not block. */
typedef void sh_sampler_network(void *context, sh_sample *sample);

typedef struct sh_sampler_options {
    const char *root;            /* holds proc/ and sys/; NULL: the system's. Copied */
    const sh_clock *clock;       /* NULL: the system's. Borrowed until the close */
    sh_sampler_network *network; /* NULL: not available */
    void *context;               /* of `network`; borrowed likewise */
} sh_sampler_options;

/* `*sampler` is owned: sh_sampler_close. `options` may be NULL. SH_NO_MEMORY. */
sh_status sh_sampler_open(sh_sampler **sampler, const sh_sampler_options *options) SHOAL_CHECKED;

void sh_sampler_take(sh_sampler *sampler, sh_sample *sample);

/* NULL does nothing. */
void sh_sampler_close(sh_sampler *sampler);

#endif
