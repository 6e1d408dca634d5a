/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One program that is run to its end, with all that it prints in a file.
 *
 *     const sh_trial_process process = {.arguments = arguments, .log = "trials/1/output.log"};
 *     SH_TRY(sh_trial_process_run(&exit_status, &process));
 *
 * It is in a process group of its own, so that a terminal's Ctrl-C reaches the caller alone, and
 * ends with the thread that called.
 *
 * Threads: the caller waits; `tick` is called on its thread.
 */
#ifndef SHOAL_SWEEP_TRIAL_PROCESS_H
#define SHOAL_SWEEP_TRIAL_PROCESS_H

#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"
#include "shoal/train.h"

/* How long a program may take to end by itself once it is told to (SIGINT). */
#define SH_TRIAL_PATIENCE_MS 20000

typedef struct sh_trial_process {
    char *const *arguments; /* the program's path first, NULL last */
    const char *log;
    const sh_clock *clock;
    sh_stop *stop; /* optional */
    /* Optional: about each second, with the seconds so far. Its failure ends the program. */
    sh_status (*tick)(void *context, double seconds);
    void *context;
} sh_trial_process;

/*
 * `*exit_status` is the program's, or 128 and the number of the signal that ended it. SH_STOPPED
 * where `stop` asked, after the program's end; SH_NOT_FOUND and others where it cannot be started.
 */
sh_status sh_trial_process_run(int *exit_status, const sh_trial_process *process) SHOAL_CHECKED;

#endif
