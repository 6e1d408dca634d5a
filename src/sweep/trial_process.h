/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a program until it exits and writes its output to a file. It has its own process group, so
 * that a terminal's Ctrl-C reaches only the caller. It is killed when the calling thread ends.
 *
 *     const sh_trial_process process = {.arguments = arguments, .log = "trials/1/output.log"};
 *     SH_TRY(sh_trial_process_run(&exit_status, &process));
 *
 * Threads: the caller waits; `tick` is called on its thread.
 */
#ifndef SHOAL_SWEEP_TRIAL_PROCESS_H
#define SHOAL_SWEEP_TRIAL_PROCESS_H

#include <stdint.h>

#include "base/clock.h"
#include "base/fail.h"
#include "shoal/train.h"

/* The time from SIGINT until the program is killed. */
#define SH_TRIAL_PATIENCE_MS 20000

typedef struct sh_trial_process {
    char *const *arguments; /* the program's path first, ended by NULL */
    const char *log;
    const sh_clock *clock;
    sh_stop *stop; /* optional */
    /* Optional: about every second, with the elapsed seconds. A failure ends the program. */
    sh_status (*tick)(void *context, double seconds);
    void *context;
} sh_trial_process;

/*
 * Sets *exit_status to the program's exit status, or to 128 + the signal that killed it. SH_STOPPED
 * if `stop` was requested, after the program has ended. SH_NOT_FOUND and others if the program
 * cannot be started. The failure of `tick`.
 */
sh_status sh_trial_process_run(int *exit_status, const sh_trial_process *process) SHOAL_CHECKED;

#endif
