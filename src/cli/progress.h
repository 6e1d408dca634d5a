/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Progress of a training on standard error: on a terminal one line that is drawn again and again,
 * elsewhere a plain line now and then; on both a line for each event worth one.
 *
 *     sh_progress progress;
 *     sh_progress_init(&progress, quiet);
 *     options.observer = observe;                  // calls sh_progress_show(&progress, event)
 *     status = sh_train(&options, &summary);
 *     sh_progress_end(&progress);
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
    bool quiet;    /* shows nothing */
    bool terminal; /* draws one line again and again */
    bool colour;
    unsigned width; /* columns of the terminal */

    bool drawn;          /* the cursor stands behind a drawn line */
    double next_seconds; /* of the event from which a step is shown again */
    uint64_t first_step; /* steps that were applied when this call began */
    uint32_t devices;
} sh_progress;

/* Asks standard error and the environment what it may do. */
void sh_progress_init(sh_progress *progress, bool quiet);

/* What is to be written for this event: depends on `progress` and `event` alone. Returns `out`,
 * which is empty where nothing is to be shown. */
const char *sh_progress_text(sh_progress *progress, const sh_event *event,
                             char out[SH_PROGRESS_BYTES]);

/* Writes that text to standard error. */
void sh_progress_show(sh_progress *progress, const sh_event *event);

/* Takes a drawn line away. */
void sh_progress_end(sh_progress *progress);

#endif
