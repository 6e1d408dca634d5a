/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Converts a training loop's reports to events, on the coordinator and on joined devices.
 *
 *     sh_progress_pace_start(&pace, now_ns);
 *     sh_event event = sh_progress_event(SH_EVENT_STEP, &report, &pace, now_ns);
 *     event.samples_per_second = sh_progress_rate(&pace, samples_of_a_step, now_ns);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_PROGRESS_EVENTS_H
#define SHOAL_NODE_PROGRESS_EVENTS_H

#include "shoal/train.h"
#include "train/progress_report.h"

#define SH_RATE_STEPS 16 /* for the displayed speed */

typedef struct sh_progress_pace {
    uint64_t start_ns; /* of the training in this call; 0: not begun */
    uint64_t step_ns[SH_RATE_STEPS];
    uint64_t steps_seen;
} sh_progress_pace;

void sh_progress_pace_start(sh_progress_pace *pace, uint64_t now_ns);

/* Borrows nothing. */
sh_event sh_progress_event(sh_event_kind kind, const sh_progress_report *report,
                           const sh_progress_pace *pace, uint64_t now_ns);

/* Its speed is 0. */
sh_event sh_progress_validated(const sh_progress_report *report, const sh_sum_totals *validation,
                               const sh_progress_pace *pace, uint64_t now_ns);

/* Counts a step that ends now; returns the samples per second of the last steps, each with
 * `samples`. */
double sh_progress_rate(sh_progress_pace *pace, uint32_t samples, uint64_t now_ns);

#endif
