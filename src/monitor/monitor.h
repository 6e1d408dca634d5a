/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that samples this device at a period and hands each sample on. node/ starts one in each
 * process as soon as there is somewhere to put samples, and stops it when the job is over:
 *
 *     sh_monitor *monitor;
 *     SH_TRY(sh_monitor_start(&monitor, &(sh_monitor_options){
 *         .sampler = {.network = count_channels, .context = node},
 *         .sink = keep_sample, .context = mailbox}));
 *     ...
 *     sh_monitor_stop(monitor);     // before what `sink` and `network` use goes away
 *
 * Threads: any, one at a time. `sink` and `network` run on the monitor's own thread, on which
 * signals are blocked.
 */
#ifndef SHOAL_MONITOR_MONITOR_H
#define SHOAL_MONITOR_MONITOR_H

#include "monitor/sampler.h"

#define SH_MONITOR_PERIOD_MS 100

typedef struct sh_monitor sh_monitor;

/* `sample` is borrowed for the call. It may take its time: samples that would be due meanwhile are
 * left out, and the next comes at the next multiple of the period. */
typedef void sh_monitor_sink(void *context, const sh_sample *sample);

typedef struct sh_monitor_options {
    sh_sampler_options sampler;
    uint32_t period_ms;    /* 0: SH_MONITOR_PERIOD_MS */
    sh_monitor_sink *sink; /* required */
    void *context;         /* its own; borrowed until the monitor is stopped */
} sh_monitor_options;

/*
 * The first sample is taken at once. `monitor` is owned: sh_monitor_stop. SH_NO_MEMORY, or SH_IO
 * where no thread can be had.
 */
sh_status sh_monitor_start(sh_monitor **monitor, const sh_monitor_options *options) SHOAL_CHECKED;

/*
 * Takes a last sample, so that counters hold all of the time between, and ends the thread without
 * waiting for a period to end. When it returns, nothing is called any more. NULL is fine.
 */
void sh_monitor_stop(sh_monitor *monitor);

#endif
