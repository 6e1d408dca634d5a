/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signals that end the program: the first SIGINT, SIGTERM or SIGHUP asks the library to stop, the
 * second one ends at once.
 *
 *     sh_signals_catch(stop, "leaving at the next step; once more: at once\n",
 *                      SH_SIGNALS_TOGETHER_MS);
 *     status = sh_train(&options, &summary);
 *     if (status == SH_STOPPED)
 *         return sh_signals_exit();
 *
 * The main thread may hang, in a disk or a debugger; so another one listens too, until release.
 *
 * Threads: main only, but where said. A process has one disposition for each signal, so this is the
 * program's.
 */
#ifndef SHOAL_CLI_SIGNALS_H
#define SHOAL_CLI_SIGNALS_H

#include <stdbool.h>

#include "shoal/train.h"

/* No person presses a key twice in this time; a program that signals twice for one wish does. */
#define SH_SIGNALS_TOGETHER_MS 50

/*
 * From now on a signal stops `stop`, borrowed until sh_signals_release. `message` goes to standard
 * error on the first signal: static storage, or NULL for none. What comes within `together_ms` of
 * the first belongs to it. Under a launcher that is silent once it was told to end, standard error
 * is the launcher's own from the first signal on. A SIGHUP that is ignored, as by nohup(1), stays
 * so.
 */
void sh_signals_catch(sh_stop *stop, const char *message, uint32_t together_ms);
void sh_signals_release(void);

/*
 * Ends the program at once, with the exit code of the signal that was received and `text` behind
 * "shoal: " on standard error. For SH_EVENT_HUNG: waits for no thread, no lock and no file that is
 * not standard error, and for that a second. Any thread.
 */
_Noreturn void sh_signals_end(const char *text);

/* The exit code that a received signal means: 130, 143 or 129; SH_EXIT_FAILURE where none came. */
int sh_signals_exit(void);

/*
 * For a program that draws on a terminal: from now on signals that end or stop it, and SIGWINCH,
 * are only told by sh_signals_wait, until sh_signals_release. False with errno where that cannot
 * be.
 */
bool sh_signals_watch(void);

/* The next signal that came, waiting for it so long; 0 for none. */
int sh_signals_wait(int timeout_ms);

/* For a child: ignores SIGINT and SIGHUP, which a terminal sends to all its processes, so that the
 * parent decides. After sh_signals_catch. */
void sh_signals_leave_interrupt_to_parent(void);

#endif
