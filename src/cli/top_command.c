/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/json_file.h"
#include "cli/run_rows.h"
#include "cli/run_view.h"
#include "cli/signals.h"

/* The terminal's alternate screen without a cursor. */
#define ENTER "\033[?1049h\033[?25l"
#define LEAVE "\033[?25h\033[?1049l"
#define PERIOD_MS 1000

typedef struct top_values {
    const char *json;
    bool once;
} top_values;

#define FIELD(member) offsetof(top_values, member)

static const sh_option options[] = {
    {SH_OPTION_FLAG, .name = "once", .help = "print once and exit", .offset = FIELD(once)},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write one snapshot to FILE ('-': standard output) instead", .offset = FIELD(json)},
    {.kind = SH_OPTION_END},
};

static void show(const char *sequence)
{
    fputs(sequence, stdout);
    fflush(stdout);
}

/* Prints in the size of the terminal or COLUMNS. */
static int print(const sh_run_snapshot *snapshot, bool live)
{
    struct winsize size = {0};
    const char *asked = getenv("COLUMNS");
    const long columns = asked != NULL ? strtol(asked, NULL, 10) : 0;
    sh_run_view view = {.redraw = live, .colour = sh_console_has_colour(STDOUT_FILENO)};
    if (isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0)
        view.width = size.ws_col;
    if (columns > 0 && columns < 10000)
        view.width = (unsigned)columns;
    if (live && size.ws_row > 1)
        view.rows = size.ws_row - 1u; /* a newline in the last row would scroll */
    if (!sh_run_view_print(snapshot, stdout, &view))
        return sh_console_fail("not enough memory");
    return fflush(stdout) == 0 ? SH_EXIT_DONE : SH_EXIT_FAILURE; /* sh_console_finish reports why */
}

/* Takes the snapshot over. */
static int draw_while_running(sh_run_snapshot *snapshot, const char *folder)
{
    for (int code = SH_EXIT_DONE;;) {
        const bool running = snapshot->about.state == SH_STATE_RUNNING;
        if (!running)
            show(LEAVE); /* leaves the last view visible */
        code = print(snapshot, running);
        sh_run_snapshot_release(snapshot);
        if (!running)
            return code;
        const int number = code == SH_EXIT_DONE ? sh_signals_wait(PERIOD_MS) : 0;
        if (number == SIGTSTP) {
            show(LEAVE);
            raise(SIGSTOP);
            show(ENTER);
        } else if (number != 0 && number != SIGWINCH) {
            code = number == SIGINT   ? SH_EXIT_INTERRUPTED
                   : number == SIGHUP ? SH_EXIT_HUNG_UP
                                      : SH_EXIT_TERMINATED;
        }
        if (code == SH_EXIT_DONE && sh_run_look(snapshot, folder) == SH_OK)
            continue;
        show(LEAVE);
        return code != SH_EXIT_DONE ? code : sh_console_fail("%s", sh_message());
    }
}

static int look(const char *folder, const top_values *given)
{
    sh_run_snapshot snapshot;
    int code = SH_EXIT_DONE;
    if (sh_run_look(&snapshot, folder) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (given->json == NULL && !given->once && sh_console_is_terminal(STDOUT_FILENO) &&
        snapshot.about.state == SH_STATE_RUNNING) {
        if (sh_signals_watch()) {
            show(ENTER);
            code = draw_while_running(&snapshot, folder);
            sh_signals_release();
            return code;
        }
        code = sh_console_fail("top: %s", strerror(errno));
    } else if (given->json == NULL) {
        code = print(&snapshot, false);
    } else {
        code = sh_command_write_json(given->json, sh_run_snapshot_json(&snapshot), code);
    }
    sh_run_snapshot_release(&snapshot);
    return code;
}

static int run(const sh_arguments *arguments, void *values)
{
    const top_values *given = values;
    sh_run_list list;
    if (given->json != NULL && sh_json_file_check(given->json) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (arguments->positional_count > 0)
        return look(arguments->positionals[0], given);
    if (sh_runs_list(&list, NULL) != SH_OK)
        return sh_console_fail("no RUN is given, and %s", sh_message());
    const int code = list.count > 0 ? look(list.runs[0].folder, given)
                                    : sh_console_fail("no RUN is given, and runs has none");
    sh_run_list_release(&list);
    return code;
}

const sh_command sh_top_command = {
    .name = "top",
    .usage = "[RUN] [options]",
    .summary = "shows a running training: progress, devices, where time goes",
    .details = "RUN is the folder of a run (default: the newest in runs). On a terminal the view "
               "is updated once a\n"
               "second until the training ends or you press Ctrl-C. Elsewhere it is printed once. "
               "Rates are averages\n"
               "of the last 5 seconds; '-' means not available.\n"
               "\n"
               "examples:\n"
               "  shoal top\n"
               "  shoal top runs/RUN --json -\n",
    .options = options,
    .values_bytes = sizeof(top_values),
    .positionals_most = 1,
    .stops = true,
    .run = run,
};
