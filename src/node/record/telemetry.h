/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's measurements: monitor samples and step times, delivered about once per second as a
 * *batch*, which is sent to the coordinator.
 *
 * Measurements that cannot be delivered in time are dropped and counted. No call waits.
 *
 *     SH_TRY(sh_telemetry_open(&telemetry, &(sh_telemetry_options){on_batch, member}));
 *     sh_telemetry_step(telemetry, &times);
 *     sh_telemetry_close(telemetry);               // delivers the rest
 *     ...
 *     SH_TRY(sh_telemetry_batch_read(&batch, message->figures));
 *     sh_telemetry_batch_move(&batch, arrived_ns);
 *
 * Threads: any for step and network; the sink is called on the monitor's thread. A batch is a
 * value.
 */
#ifndef SHOAL_NODE_TELEMETRY_H
#define SHOAL_NODE_TELEMETRY_H

#include "monitor/sample.h"
#include "monitor/step_times.h"
#include "net/channel.h"
#include "net/message.h"

#define SH_TELEMETRY_SAMPLES 32
#define SH_TELEMETRY_STEPS 512
#define SH_TELEMETRY_PERIOD_NS 1000000000ULL
#define SH_TELEMETRY_STEPS_SOON 64 /* steps that trigger an early delivery */

typedef struct sh_telemetry_batch {
    uint64_t now_ns;  /* by the device's clock */
    uint32_t dropped; /* samples and steps */
    uint32_t sample_count, step_count;
    sh_sample samples[SH_TELEMETRY_SAMPLES];
    sh_step_times steps[SH_TELEMETRY_STEPS];
} sh_telemetry_batch;

typedef struct sh_telemetry sh_telemetry;

typedef struct sh_telemetry_options {
    void (*sink)(void *context, const sh_telemetry_batch *batch); /* borrowed for the call */
    void *context;                                                /* until it is closed */
} sh_telemetry_options;

/* Owned: close it. SH_NO_MEMORY; SH_IO as sh_monitor_start. */
sh_status sh_telemetry_open(sh_telemetry **telemetry,
                            const sh_telemetry_options *options) SHOAL_CHECKED;
void sh_telemetry_close(sh_telemetry *telemetry); /* delivers the rest; NULL is allowed */

/* NULL is allowed, also in the next call. */
void sh_telemetry_step(sh_telemetry *telemetry, const sh_step_times *times);

/* Total traffic of this process's channels. */
void sh_telemetry_network(sh_telemetry *telemetry, const sh_channel_stats *stats);

typedef struct sh_telemetry_message {
    Shoal__Figures body;
    Shoal__Sample samples[SH_TELEMETRY_SAMPLES], *sample_list[SH_TELEMETRY_SAMPLES];
    double values[SH_TELEMETRY_SAMPLES][SH_FIGURE_COUNT];
    Shoal__StepTimes steps[SH_TELEMETRY_STEPS], *step_list[SH_TELEMETRY_STEPS];
} sh_telemetry_message;

/* Owned: free(); NULL: out of memory. `batch` must outlive it. */
sh_telemetry_message *sh_telemetry_batch_write(const sh_telemetry_batch *batch);

/* SH_FORMAT: too many entries, or unknown figures or parts. */
sh_status sh_telemetry_batch_read(sh_telemetry_batch *batch,
                                  const Shoal__Figures *body) SHOAL_CHECKED;

/* Converts all times to this device's clock: `now_ns` of the sender was `here_ns` here. */
void sh_telemetry_batch_move(sh_telemetry_batch *batch, uint64_t here_ns);

#endif
