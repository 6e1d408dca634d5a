/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output and exit codes of the program: results go to standard output, messages and progress to
 * standard error.
 *
 *     if (sh_json_file_check(path) != SH_OK)
 *         return sh_console_misuse("train", "%s", sh_message());
 *     printf("%s\n", result);
 *     return SH_EXIT_DONE;                      // main: sh_console_finish(code)
 *
 * Threads: any.
 */
#ifndef SHOAL_CLI_CONSOLE_H
#define SHOAL_CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

/* Exit codes: name, code, meaning (`shoal help exit-codes`). */
#define SH_EXIT_MAP(X)                                                                             \
    X(DONE, 0, "done")                                                                             \
    X(FAILURE, 1, "failure; standard error says why and, if known, what to do")                    \
    X(USAGE, 2, "wrong usage: an option, a value or a command that does not exist")                \
    X(HUNG_UP, 129,                                                                                \
      "stopped by SIGHUP, such as when a terminal closes, in the same way as by SIGTERM")          \
    X(INTERRUPTED, 130, "stopped by Ctrl-C (SIGINT), after leaving gracefully with a checkpoint")  \
    X(TERMINATED, 143, "stopped by SIGTERM, in the same way")

typedef enum sh_exit {
#define SH_EXIT_ENUM(name, code, text) SH_EXIT_##name = (code),
    SH_EXIT_MAP(SH_EXIT_ENUM)
#undef SH_EXIT_ENUM
} sh_exit;

/* Prints "shoal: message" on standard error; returns SH_EXIT_FAILURE. */
int sh_console_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Likewise, with a line that points to help; `command` may be NULL. Returns SH_EXIT_USAGE. */
int sh_console_misuse(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

void sh_console_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Flushes standard output. A failure is reported and turns SH_EXIT_DONE into a failure. */
int sh_console_finish(int code);

/* Prints the library's log lines on standard error: an sh_log_line (shoal/about.h). */
void sh_console_log(void *context, int level, const char *line);

/* Whether the descriptor is a terminal that can redraw a line. */
bool sh_console_is_terminal(int descriptor);

bool sh_console_has_colour(int descriptor);

/* Columns of the terminal; 80 if unknown. */
unsigned sh_console_width(int descriptor);

#endif
