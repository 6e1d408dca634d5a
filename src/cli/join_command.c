/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <signal.h>
#include <sys/prctl.h>
#endif

#include "base/descriptors.h"
#include "base/quantity.h"
#include "base/secrecy.h"
#include "base/utf8.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/event_stream.h"
#include "cli/json_file.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/token_argument.h"
#include "shoal/shoal.h"

#define RECONNECT_S 60
#define CACHE_BYTES (10ull << 30)

typedef struct join_values {
    sh_join_options options;
    const char *events;
    uint32_t port;
    bool local, quiet, verbose;
} join_values;

typedef struct join_session {
    sh_progress progress;
    sh_event_stream events;
} join_session;

#define FIELD(member) offsetof(join_values, member)

static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "data", .value = "DIR",
     .help = "where the job's data are on this device (default: as in the job)",
     .offset = FIELD(options.data), .max = SH_DATA_BYTES - 1},
    {SH_OPTION_BYTES, .name = "cache", .value = "BYTES",
     .help = "size limit of fetched data in the cache folder (default 10G)",
     .offset = FIELD(options.cache), .min = 1},
    {SH_OPTION_TEXT, .name = "name", .value = "NAME",
     .help = "name of this device (default: the host's name)", .offset = FIELD(options.name),
     .max = SH_NAME_BYTES - 1},
    {SH_OPTION_TEXT, .name = "lanes", .value = "LIST",
     .help = "cores to lend, or gpu:0,cpu:4 (default: all cores)", .offset = FIELD(options.lanes),
     .max = 255},
    {SH_OPTION_U32, .name = "port", .value = "N",
     .help = "port where other devices reach this one (default: any)", .offset = FIELD(port),
     .min = 1, .max = UINT16_MAX},
    {SH_OPTION_BYTES, .name = "memory", .value = "BYTES",
     .help = "memory limit, such as 96M (default: none)", .offset = FIELD(options.memory),
     .min = 1},
    {SH_OPTION_TEXT, .name = "run", .value = "DIR",
     .help = "folder of the run if this device must lead (default: a new one)",
     .offset = FIELD(options.run)},
    {SH_OPTION_FLAG, .name = "never-lead", .help = "do not replace a lost coordinator",
     .offset = FIELD(options.never_lead)},
    {SH_OPTION_TEXT, .name = "save", .value = "FILE",
     .help = "write the last weights to FILE: .onnx, .npz, or else safetensors",
     .offset = FIELD(options.save)},
    {SH_OPTION_TEXT, .name = "events", .value = "FILE",
     .help = "append a line of JSON for each step and event to FILE", .offset = FIELD(events)},
    {SH_OPTION_U32, .name = "reconnect", .value = "SECONDS",
     .help = "how long to look for a lost coordinator (default 60; 0: not at all)",
     .offset = FIELD(options.reconnect_s), .max = 86400},
    {SH_OPTION_U32, .name = "wait", .value = "[SECONDS]", .alone = "4294967295",
     .help = "wait for the coordinator; without SECONDS: without limit",
     .offset = FIELD(options.wait_s), .min = 1},
    {SH_OPTION_FLAG, .name = "local", .help = "a device that train started on its own machine",
     .offset = FIELD(local), .hidden = true},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but errors", .offset = FIELD(quiet)},
    {SH_OPTION_FLAG, .name = "verbose", .help = "print log lines on standard error",
     .offset = FIELD(verbose)},
    {.kind = SH_OPTION_END},
};

static void init(void *values)
{
    join_values *given = values;
    given->options.reconnect_s = RECONNECT_S;
    given->options.cache = CACHE_BYTES;
}

static void observe(void *context, const sh_event *event)
{
    join_session *session = context;
    if (event->kind == SH_EVENT_HUNG) /* on another thread */
        sh_signals_end(event->text);
    if (event->kind == SH_EVENT_TOKEN) { /* this device now coordinates */
        printf("%s\n", event->text);
        fflush(stdout);
    }
    sh_event_stream_write(&session->events, event);
    sh_progress_show(&session->progress, event);
}

static void print_result(const sh_join_result *result, const char *saved)
{
    sh_quantity a, b;
    char clean[SH_RUN_BYTES];
    if (!result->took_part) {
        sh_console_note(result->stood_by ? "the job has ended; this device was on standby"
                                         : "the job ended before this device could take part");
        return;
    }
    sh_console_note("the job has ended%s: %s at step %s",
                    result->stood_by ? "; this device was on standby" : "",
                    result->complete ? "complete" : "stopped",
                    sh_quantity_whole(&a, result->steps));
    if (!result->stood_by) { /* else it did not see them */
        sh_console_note("training    loss %s", sh_quantity_loss(&a, result->train_loss));
        sh_console_note("validation  loss %s, %s %s", sh_quantity_loss(&a, result->val_loss),
                        result->numbers ? "mean absolute error" : "accuracy",
                        result->numbers ? sh_quantity_loss(&b, result->val_mae)
                                        : sh_quantity_percent(&b, result->val_accuracy, 2));
    }
    sh_console_note("weights     %s", result->weights_hash);
    if (result->led)
        sh_console_note("this device was the coordinator at the end: it has the run's folder");
    if (saved != NULL)
        sh_console_note("saved       %s", sh_utf8_clean(clean, sizeof clean, saved));
}

static int run(const sh_arguments *arguments, void *values)
{
    const pid_t parent = getppid();
    join_values *given = values;
    join_session session;
    char line[SH_TOKEN_LINE_BYTES] = "";
    if (sh_lanes_check(given->options.lanes) != SH_OK)
        return sh_console_misuse("join", "%s", sh_message());
#ifdef __linux__
    if (given->local) /* train's device must not outlive it */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    /* prctl misses a parent that has already ended. */
    if (given->local && getppid() != parent)
        return sh_console_fail("the training that started this device has ended");
    if (given->verbose)
        sh_log_set(0, sh_console_log, NULL);
    sh_descriptors_raise();
    sh_secrecy_begin();
    given->options.local = given->local;
    given->options.port = (uint16_t)given->port;
    given->options.token = sh_token_argument(line, arguments->positionals[0]);
    if (given->options.token == NULL)
        return SH_EXIT_FAILURE;
    if (given->options.save != NULL && sh_result_file_check("--save", given->options.save) != SH_OK)
        return sh_console_fail("%s", sh_message());
    sh_progress_init(&session.progress, given->quiet);
    if (sh_event_stream_open(&session.events, given->events) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (sh_stop_new(&given->options.stop) != SH_OK)
        return sh_console_fail("%s", sh_message());
    given->options.observer = observe;
    given->options.context = &session;
    sh_signals_catch(given->options.stop,
                     given->quiet ? NULL : "\nleaving at the next step; again: at once\n",
                     SH_SIGNALS_TOGETHER_MS);
    if (given->local)
        sh_signals_leave_interrupt_to_parent();
    sh_join_result result = {0};
    const sh_status status = sh_join(&given->options, &result);
    sh_signals_release();
    sh_stop_free(given->options.stop);
    explicit_bzero(line, sizeof line);
    sh_progress_end(&session.progress);
    sh_event_stream_close(&session.events);
    if (status == SH_OK && !given->quiet)
        print_result(&result, given->options.save);
    if (status == SH_OK)
        return SH_EXIT_DONE;
    if (status == SH_STOPPED && sh_signals_exit() != SH_EXIT_FAILURE)
        return sh_signals_exit();
    /* The training itself reports failures of the whole job. */
    if (given->local && (status == SH_PEER_LOST || status == SH_NUMERIC || status == SH_DIVERGED ||
                         status == SH_ABORTED))
        return SH_EXIT_FAILURE;
    return sh_console_fail("%s", sh_message());
}

const sh_command sh_join_command = {
    .name = "join",
    .usage = "TOKEN|- [options]",
    .summary = "lends this device to a running job",
    .details =
        "TOKEN is the line that 'shoal train --listen' prints. '-' reads it from standard input, "
        "so that\n"
        "other users of this device do not see it in the list of processes.\n"
        "\n"
        "If this device lacks the job's data, it gets them from the others while it trains.\n"
        "\n"
        "examples:\n"
        "  shoal join 'shoal://...'\n"
        "  shoal join - --data /mnt/mnist <token.txt\n"
        "  shoal join 'shoal://...' --wait\n"
        "  shoal join 'shoal://...' --save model.onnx\n",
    .options = options,
    .values_bytes = sizeof(join_values),
    .init = init,
    .positionals_least = 1,
    .positionals_most = 1,
    .stops = true,
    .run = run,
};
