/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first SIGINT, SIGTERM or SIGHUP asks the library to stop; the second ends the program at
 * once.
 *
 *     sh_signals_catch(stop, "leaving at the next step; once more: at once\n",
 *                      SH_SIGNALS_TOGETHER_MS);
 *     if (sh_train(&options, &summary) == SH_STOPPED)
 *         return sh_signals_exit();
 *
 * Until release, a thread listens too, because the main thread may hang in disk access or a
 * debugger.
 *
 * Threads: main only, except as noted. Signals are per process, so this is global.
 */
#ifndef SHOAL_CLI_SIGNALS_H
#define SHOAL_CLI_SIGNALS_H

#include <stdbool.h>

#include "shoal/train.h"

/* Shorter than two key presses of a person, longer than two signals of a program for one
 * request. */
#define SH_SIGNALS_TOGETHER_MS 50

/*
 * A signal stops `stop`, borrowed until sh_signals_release. The first prints `message` (static;
 * NULL: none) on standard error. Those within `together_ms` of the first count as one. Under a
 * launcher that stops forwarding output, the first signal also redirects standard error to the
 * launcher's own. An ignored SIGHUP, as by nohup(1), stays ignored.
 */
void sh_signals_catch(sh_stop *stop, const char *message, uint32_t together_ms);
void sh_signals_release(void);

/*
 * Ends the program at once with the signal's exit code, after printing "shoal: " and `text`. For
 * SH_EVENT_HUNG: waits for no thread, lock or file, except a second for standard error. Any thread.
 */
_Noreturn void sh_signals_end(const char *text);

/* The exit code of the received signal: 130, 143 or 129; SH_EXIT_FAILURE: none. */
int sh_signals_exit(void);

/* For a program that draws on a terminal: until sh_signals_release, signals that end or stop it,
 * and SIGWINCH, are only reported by sh_signals_wait. Failure: false, with errno. */
bool sh_signals_watch(void);

/* Waits for the next signal; 0: none. */
int sh_signals_wait(int timeout_ms);

/* For a child: ignores SIGINT and SIGHUP, which a terminal sends to all its processes; the parent
 * decides. Call after sh_signals_catch. */
void sh_signals_leave_interrupt_to_parent(void);

#endif
