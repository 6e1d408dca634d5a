/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A thread that samples this device periodically and passes each sample to a callback.
 *
 *     SH_TRY(sh_monitor_start(&monitor, &(sh_monitor_options){
 *         .sampler = {.network = count_channels, .context = node},
 *         .sink = keep_sample, .context = mailbox}));
 *     ...
 *     sh_monitor_stop(monitor);     // before freeing what `sink` and `network` use
 *
 * Threads: any, one at a time. `sink` and `network` run on the monitor's thread, with all signals
 * blocked.
 */
#ifndef SHOAL_MONITOR_MONITOR_H
#define SHOAL_MONITOR_MONITOR_H

#include "monitor/sampler.h"

#define SH_MONITOR_PERIOD_MS 100

typedef struct sh_monitor sh_monitor;

/* `sample` is borrowed for the call. The call may take longer than a period: samples due meanwhile
 * are skipped, and the next one is taken at the next multiple of the period. */
typedef void sh_monitor_sink(void *context, const sh_sample *sample);

typedef struct sh_monitor_options {
    sh_sampler_options sampler;
    uint32_t period_ms;    /* 0: SH_MONITOR_PERIOD_MS */
    sh_monitor_sink *sink; /* required */
    void *context;         /* borrowed until the monitor is stopped */
} sh_monitor_options;

/* Takes the first sample at once. `*monitor` is owned: sh_monitor_stop. SH_NO_MEMORY, or SH_IO if
 * no thread can be created. */
sh_status sh_monitor_start(sh_monitor **monitor, const sh_monitor_options *options) SHOAL_CHECKED;

/* Takes a last sample, so that the counters are complete, and ends the thread at once. No callback
 * runs after it returns. NULL does nothing. */
void sh_monitor_stop(sh_monitor *monitor);

#endif
