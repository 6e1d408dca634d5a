/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records what this device is doing: its monitor's samples and its steps' times, handed on together
 * about once a second.
 *
 *     SH_TRY(sh_recorder_open(&recorder, &(sh_recorder_options){.sink = send, .context = member}));
 *     sh_recorder_step(recorder, &times);
 *     sh_recorder_bytes(recorder, sent, received);
 *     sh_recorder_close(recorder);                 // hands on what is left
 *
 * What comes faster than it can be handed on is dropped and counted. Nobody waits.
 *
 * Threads: any for step and bytes; the sink is called on the monitor's thread.
 */
#ifndef SHOAL_NODE_RECORDER_H
#define SHOAL_NODE_RECORDER_H

#include "net/channel.h"
#include "node/records.h"

#define SH_RECORDER_PERIOD_NS 1000000000ULL
#define SH_RECORDER_STEPS_SOON 64 /* steps that are handed on before the period is over */

typedef struct sh_recorder sh_recorder;

typedef struct sh_recorder_options {
    void (*sink)(void *context, const sh_records *records); /* borrowed for the call */
    void *context;                                          /* until it is closed */
} sh_recorder_options;

/* Owned: close it. SH_NO_MEMORY, SH_IO as sh_monitor_start. */
sh_status sh_recorder_open(sh_recorder **recorder,
                           const sh_recorder_options *options) SHOAL_CHECKED;
void sh_recorder_close(sh_recorder *recorder); /* NULL is fine */

void sh_recorder_step(sh_recorder *recorder, const sh_step_times *times);

/* What all channels of this process have carried so far: the figures network_... */
void sh_recorder_network(sh_recorder *recorder, const sh_channel_stats *stats);

#endif
