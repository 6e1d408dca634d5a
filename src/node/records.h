/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a device has been doing for about a second: samples of its monitor and the times of its
 * steps, as they go to the coordinator.
 *
 *     sh_records_message *message = sh_records_write(&records);     // to be sent, then free()
 *     ...
 *     SH_TRY(sh_records_read(&records, message->figures));
 *     sh_records_move(&records, arrived_ns);
 *
 * Threads: any; a value.
 */
#ifndef SHOAL_NODE_RECORDS_H
#define SHOAL_NODE_RECORDS_H

#include "monitor/sample.h"
#include "monitor/step_times.h"
#include "net/message.h"

#define SH_RECORDS_SAMPLES 32
#define SH_RECORDS_STEPS 512

typedef struct sh_records {
    uint64_t now_ns;  /* when they were handed on, of the device's clock */
    uint32_t dropped; /* records for which there was no room */
    uint32_t sample_count, step_count;
    sh_sample samples[SH_RECORDS_SAMPLES];
    sh_step_times steps[SH_RECORDS_STEPS];
} sh_records;

/* The message's body, as protobuf-c wants it. */
typedef struct sh_records_message {
    Shoal__Figures body;
    Shoal__Sample samples[SH_RECORDS_SAMPLES], *sample_list[SH_RECORDS_SAMPLES];
    double values[SH_RECORDS_SAMPLES][SH_FIGURE_COUNT];
    Shoal__StepTimes steps[SH_RECORDS_STEPS], *step_list[SH_RECORDS_STEPS];
} sh_records_message;

/* Owned: free(); NULL where memory is out. `records` must outlive it. */
sh_records_message *sh_records_write(const sh_records *records);

/* SH_FORMAT: more of them than there can be, or figures and parts that this device does not know.
 */
sh_status sh_records_read(sh_records *records, const Shoal__Figures *body) SHOAL_CHECKED;

/* Moves all moments by the difference of the clocks: `now_ns` was `here_ns` of this one. */
void sh_records_move(sh_records *records, uint64_t here_ns);

#endif
