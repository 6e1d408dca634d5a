/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shows a training's progress on standard error: on a terminal one redrawn line, else a plain line
 * from time to time; and a line for each notable event.
 *
 *     options.observer = observe; // calls sh_progress_show(&progress, event)
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_CLI_PROGRESS_H
#define SHOAL_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

#include "shoal/train.h"

#define SH_PROGRESS_BYTES 2048

typedef struct sh_progress {
    bool quiet;
    bool terminal; /* redraws one line */
    bool colour;
    unsigned width; /* columns of the terminal */

    bool drawn;          /* the cursor is behind a drawn line */
    double next_seconds; /* time of the events from which a step is shown */
    uint64_t first_step; /* applied before this call */
    uint32_t devices;
} sh_progress;

/* Inspects standard error and the environment. */
void sh_progress_init(sh_progress *progress, bool quiet);

/* Depends only on `progress` and `event`. Returns `out`; empty: nothing to show. */
const char *sh_progress_text(sh_progress *progress, const sh_event *event,
                             char out[SH_PROGRESS_BYTES]);

void sh_progress_show(sh_progress *progress, const sh_event *event);

/* Erases a drawn line. */
void sh_progress_end(sh_progress *progress);

#endif
