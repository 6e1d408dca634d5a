/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run as it stands, for people: progress, a line for each device, what happened of late.
 *
 *     if (!sh_run_view_print(&snapshot, stdout, &(sh_run_view){.width = 80}))
 *         return sh_console_fail("not enough memory");
 *
 * What is not known is "-".
 *
 * Threads: caller locks the file.
 */
#ifndef SHOAL_CLI_RUN_VIEW_H
#define SHOAL_CLI_RUN_VIEW_H

#include <stdio.h>

#include "shoal/runs.h"

typedef struct sh_run_view {
    unsigned width, rows; /* what is beyond is left out; 0: all is shown */
    bool colour;
    bool redraw; /* over what a terminal shows, from its first line on */
} sh_run_view;

/* In one write. False where memory is out; then nothing is printed. */
bool sh_run_view_print(const sh_run_snapshot *snapshot, FILE *file, const sh_run_view *view);

#endif
