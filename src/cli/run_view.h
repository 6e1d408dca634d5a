/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the state of a run: progress, a line per device, recent events. "-": unknown.
 *
 *     if (!sh_run_view_print(&snapshot, stdout, &(sh_run_view){.width = 80}))
 *         return sh_console_fail("not enough memory");
 *
 * Threads: caller locks the file.
 */
#ifndef SHOAL_CLI_RUN_VIEW_H
#define SHOAL_CLI_RUN_VIEW_H

#include <stdio.h>

#include "shoal/runs.h"

typedef struct sh_run_view {
    unsigned width, rows; /* cuts the rest; 0: no limit */
    bool colour;
    bool redraw; /* overwrites the terminal from its first line */
} sh_run_view;

/* Prints in one write. False: out of memory, nothing printed. */
bool sh_run_view_print(const sh_run_snapshot *snapshot, FILE *file, const sh_run_view *view);

#endif
