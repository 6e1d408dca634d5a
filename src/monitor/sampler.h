/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads all figures of figures.def at one moment.
 *
 *     sh_sampler *sampler;
 *     SH_TRY(sh_sampler_open(&sampler, &(sh_sampler_options){.network = count, .context = node}));
 *     sh_sampler_take(sampler, &sample);
 *     sh_sampler_close(sampler);
 *
 * Files are looked up and opened once, and read again for each sample. What is not there, may not
 * be read (energy, without root), is malformed or vanishes later is not available. Sensors that are
 * slow to answer (temperature, throttling, battery) are read once in SH_SAMPLER_SLOW_NS; between,
 * their last reading stands.
 *
 * Threads: caller locks. About 0.25 ms of processor time a sample (bench/monitor_cost.py).
 */
#ifndef SHOAL_MONITOR_SAMPLER_H
#define SHOAL_MONITOR_SAMPLER_H

#include "base/clock.h"
#include "base/fail.h"
#include "monitor/sample.h"

#define SH_SAMPLER_SLOW_NS 1000000000u

typedef struct sh_sampler sh_sampler;

/* Sets what it knows of the figures network_... of this process's channels; the others stay as they
 * are, not available. Called by whoever takes samples; must not wait. */
typedef void sh_sampler_network(void *context, sh_sample *sample);

typedef struct sh_sampler_options {
    const char *root;            /* folder that holds proc/ and sys/; NULL: the system's. Copied */
    const sh_clock *clock;       /* NULL: the system's. Borrowed until the sampler is closed */
    sh_sampler_network *network; /* NULL: those figures are not available */
    void *context;               /* its own; borrowed until the sampler is closed */
} sh_sampler_options;

/* `sampler` is owned: sh_sampler_close. `options` may be NULL. SH_NO_MEMORY. */
sh_status sh_sampler_open(sh_sampler **sampler, const sh_sampler_options *options) SHOAL_CHECKED;

/* All figures as of now. */
void sh_sampler_take(sh_sampler *sampler, sh_sample *sample);

/* NULL is fine. */
void sh_sampler_close(sh_sampler *sampler);

#endif
