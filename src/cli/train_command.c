/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/descriptors.h"
#include "base/quantity.h"
#include "base/secrecy.h"
#include "cli/command.h"
#include "cli/console.h"
#include "cli/event_stream.h"
#include "cli/json_file.h"
#include "cli/lr_finder.h"
#include "cli/profile_output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/summary_output.h"
#include "shoal/shoal.h"

typedef struct train_values {
    sh_train_options options; /* first: sh_command_options */
    const char *json, *events, *trace;
    bool quiet, verbose;
} train_values;

typedef struct train_session {
    const train_values *given;
    sh_progress progress;
    sh_event_stream events;
    bool output_lost;
    bool started;
    char run[SH_RUN_BYTES]; /* "": none yet */
    atomic_bool resumable;  /* a checkpoint exists */
    sh_lr_finder finder;
} train_session;

#define FIELD(member) offsetof(train_values, member)

/* `help_at` interleaves with shoal/options.def. */
static const sh_option options[] = {
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write the summary to FILE ('-': standard output)", .offset = FIELD(json),
     .help_at = 40},
    {SH_OPTION_TEXT, .name = "events", .value = "FILE",
     .help = "append a line of JSON for each step and event to FILE", .offset = FIELD(events),
     .help_at = 41},
    {SH_OPTION_TEXT, .name = "trace", .value = "FILE",
     .help = "write a timeline for Perfetto to FILE at the end", .offset = FIELD(trace),
     .help_at = 42},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but the join token and errors",
     .offset = FIELD(quiet), .help_at = 44},
    {SH_OPTION_FLAG, .name = "verbose", .help = "print log lines on standard error",
     .offset = FIELD(verbose), .help_at = 45},
    {.kind = SH_OPTION_END},
};

static int misuse(const char *reason)
{
    return sh_console_misuse("train", "%s", reason);
}

static bool is_mpi(const sh_train_options *asked)
{
    return asked->engine != NULL && strcmp(asked->engine, "mpi") == 0;
}

static int check(const train_values *given)
{
    const sh_train_options *asked = &given->options;
    const uint32_t devices = asked->devices > 0 ? asked->devices : 1;
    if (asked->listen != NULL) { /* checks the syntax only */
        const char *colon = strrchr(asked->listen, ':');
        const size_t digits = colon != NULL ? strspn(colon + 1, "0123456789") : 0;
        if (digits < 1 || digits > 5 || colon[1 + digits] != '\0' ||
            strtoul(colon + 1, NULL, 10) > 65535)
            return sh_console_misuse("train",
                                     "--listen %s: must be [ADDRESS]:PORT, such as :7700 or "
                                     "192.168.1.5:7700",
                                     asked->listen);
    } else if (asked->min_devices > devices) {
        return sh_console_misuse("train",
                                 "--min-devices %u: more than the %u started here (--devices); "
                                 "without --listen no others can join",
                                 asked->min_devices, devices);
    }
    if (sh_train_options_check(asked) != SH_OK)
        return misuse(sh_message());
    if (sh_json_is_output(given->trace))
        return misuse("--trace -: must be a file; standard output has the summary");
    if ((given->json != NULL && sh_json_file_check(given->json) != SH_OK) ||
        (given->trace != NULL && sh_result_file_check("--trace", given->trace) != SH_OK))
        return sh_console_fail("%s", sh_message());
    return SH_EXIT_DONE;
}

static uint64_t grains_of(const sh_job *job, uint32_t samples)
{
    return (samples + (uint64_t)job->grain - 1) / job->grain;
}

static void print_idle(const sh_job *job, uint32_t devices)
{
    sh_quantity a, b;
    const uint64_t grains = grains_of(job, job->batch_size);
    if (grains >= devices)
        return;
    const uint32_t grain = job->batch_size / devices;
    const uint64_t batch = (uint64_t)job->grain * devices;
    sh_console_note("            %s of %s will be idle: a step has %llu grains",
                    sh_quantity_whole(&a, devices - grains),
                    sh_quantity_count(&b, devices, "device"), (unsigned long long)grains);
    if (grain > 0)
        sh_console_note(
            "            --grain %u or --batch-size %llu would use them (other weights)", grain,
            (unsigned long long)batch);
    else
        sh_console_note("            --batch-size %llu would use them (other weights)",
                        (unsigned long long)batch);
}

static void print_start(const train_values *given)
{
    const sh_train_options *asked = &given->options;
    const sh_job *job = &asked->job;
    const bool local = job->workers > 0;
    sh_quantity a, b;
    sh_launch launch;
    if (asked->resume != NULL)
        sh_console_note("resuming    %s", asked->resume);
    if (job->model[0] != '\0') {
        sh_console_note("model       %s", job->model);
        sh_console_note("data        %s", job->data);
    }
    if (local)
        sh_console_note("strategy    %s, %s", job->strategy,
                        sh_quantity_count(&a, job->workers, "worker"));
    else if (strcmp(job->strategy, "sync") != 0)
        sh_console_note("strategy    %s%s%s", job->strategy,
                        asked->servers != NULL ? ", servers " : "",
                        asked->servers != NULL ? asked->servers : "");
    if (asked->resume == NULL && strcmp(job->model, "auto") != 0) {
        const uint32_t batch = local ? job->batch_size / job->workers : job->batch_size;
        sh_console_note("batch       %s a %s", sh_quantity_count(&a, job->batch_size, "sample"),
                        local ? "local step" : "step");
        sh_console_note("grain       %s, %s %s", sh_quantity_count(&a, job->grain, "sample"),
                        sh_quantity_count(&b, grains_of(job, batch), "grain"),
                        local ? "of each worker" : "a step");
    }
    uint32_t devices = asked->devices > 0 ? asked->devices : 1;
    if (is_mpi(asked) && sh_launch_read(&launch)) {
        devices = launch.ranks;
        sh_console_note("devices     %s of %s", sh_quantity_count(&a, devices, "rank"),
                        launch.launcher);
    } else {
        sh_console_note("devices     %s here%s", sh_quantity_whole(&a, devices),
                        asked->listen != NULL ? ", others may join" : "");
    }
    const uint32_t first = asked->min_devices > devices ? asked->min_devices : devices;
    if (!local && asked->resume == NULL && strcmp(job->model, "auto") != 0)
        print_idle(job, first);
    if (asked->lanes != NULL)
        sh_console_note("lanes       %s each", asked->lanes);
    else
        sh_console_note("lanes       all cores%s", devices > 1 ? ", divided among them" : "");
    if (asked->min_devices > devices)
        sh_console_note("waiting for %s", sh_quantity_count(&a, asked->min_devices, "device"));
}

/* The training hangs after a stop request. On another thread. */
static _Noreturn void end_hung(const train_session *session, const sh_event *event)
{
    char text[SH_RUN_BYTES + 600];
    const bool resumable = event->total_step > 0 || atomic_load(&session->resumable);
    snprintf(text, sizeof text, "%.480s%s%s", event->text,
             resumable ? "; continue with: shoal train --resume " : "",
             resumable ? session->run : "");
    sh_signals_end(text);
}

static void observe(void *context, const sh_event *event)
{
    train_session *session = context;
    if (event->kind == SH_EVENT_HUNG)
        end_hung(session, event);
    if (!session->started && !session->given->quiet) /* data and model are valid */
        print_start(session->given);
    session->started = true;
    if (event->kind == SH_EVENT_TOKEN && !session->output_lost) {
        printf("%s\n", event->text);
        session->output_lost = fflush(stdout) != 0;
        if (session->output_lost) /* no device can join; sh_console_finish reports it */
            sh_stop_request(session->given->options.stop);
    }
    if (event->kind == SH_EVENT_RUN)
        snprintf(session->run, sizeof session->run, "%s", event->text);
    if (event->kind == SH_EVENT_CHECKPOINT)
        atomic_store(&session->resumable, true);
    if (event->kind == SH_EVENT_STEP && session->given->options.lr_find &&
        sh_lr_finder_add(&session->finder, event->lr, event->step_loss))
        sh_stop_request(session->given->options.stop);
    sh_event_stream_write(&session->events, event);
    sh_progress_show(&session->progress, event);
}

static int conclude(const train_session *session, sh_status status, const sh_summary *summary)
{
    const train_values *given = session->given;
    if (status != SH_OK && status != SH_STOPPED && status != SH_PEER_LOST)
        return sh_console_fail("%s", sh_message());
    int code = SH_EXIT_DONE;
    if (status == SH_PEER_LOST)
        code = sh_console_fail("%s; continue with: shoal train --resume %s", sh_message(),
                               summary->run);
    if (status == SH_STOPPED)
        code = sh_signals_exit();
    if (status == SH_STOPPED && code == SH_EXIT_FAILURE && !session->output_lost)
        sh_console_fail(
            "a device asked to leave, so all stopped; continue with: shoal train --resume %s",
            summary->run);
    else if (status == SH_STOPPED && !given->quiet)
        sh_console_note("stopped; continue with: shoal train --resume %s", summary->run);
    const sh_run_end end = status == SH_OK        ? SH_RUN_COMPLETE
                           : status == SH_STOPPED ? SH_RUN_STOPPED
                                                  : SH_RUN_DEVICE_LOST;
    if (!given->quiet && !sh_json_is_output(given->json))
        sh_summary_output_print(summary, end, stdout);
    code = sh_command_write_json(given->json, sh_summary_output_json(summary, end), code);
    if (given->options.profile != SH_PROFILE_OFF)
        sh_profile_output_print(&summary->profile, stderr);
    return code;
}

static int conclude_test(train_session *session, sh_status status)
{
    const train_values *given = session->given;
    sh_lr_finder *finder = &session->finder;
    char path[SH_RUN_BYTES + 16];
    if (status == SH_NUMERIC && finder->count > 0)
        finder->diverged = true;
    else if (status != SH_OK && !(status == SH_STOPPED && finder->diverged))
        return status == SH_STOPPED ? sh_signals_exit() : sh_console_fail("%s", sh_message());
    if (!given->quiet && !sh_json_is_output(given->json))
        sh_lr_finder_print(finder, sh_console_width(1) - 10, stdout);
    snprintf(path, sizeof path, "%s/lr-find.json", session->run);
    const int code = sh_command_write_json(path, sh_lr_finder_json(finder), SH_EXIT_DONE);
    return sh_command_write_json(given->json, sh_lr_finder_json(finder), code);
}

/* Writes the trace, however the training ended; false: failed. */
static bool write_trace(const train_session *session)
{
    const char *path = session->given->trace;
    if (path == NULL || session->run[0] == '\0')
        return true;
    const sh_export_options asked = {.run = session->run, .table = "trace", .path = path};
    if (sh_run_export(&asked) == SH_OK)
        return true;
    sh_console_fail("--trace: %s; once fixed: shoal runs %s --export trace -o FILE", sh_message(),
                    session->run);
    return false;
}

static int run(const sh_arguments *arguments, void *values)
{
    train_values *given = values;
    train_session session = {.given = given, .events = {-1}};
    sh_train_options *asked = &given->options;
    if (asked->batch_per_device > 0 && asked->given.batch_size)
        return misuse("--batch-per-device with --batch-size: leave one of them out");
    if (arguments->positional_count < 2 && asked->resume == NULL)
        return misuse("train: needs MODEL DATA");
    if (arguments->positional_count == 1)
        return misuse("train: needs both MODEL DATA with --resume, or neither");
    int code = SH_EXIT_DONE;
    if (arguments->positional_count == 2) /* else both come from the checkpoint */
        code = sh_command_take_job(&sh_train_command, arguments, &asked->job);
    asked->given.model = asked->given.data = arguments->positional_count == 2;
    if (code == SH_EXIT_DONE && sh_train_options_complete(&given->options) != SH_OK)
        code = misuse(sh_message());
    /* Only the first rank prints, except messages about another rank alone. */
    sh_launch launch;
    const bool silent = is_mpi(asked) && sh_launch_read(&launch) && launch.rank != 0;
    if (silent) {
        given->quiet = true;
        given->verbose = false;
        given->json = given->events = given->trace = NULL;
    }
    if (code == SH_EXIT_DONE)
        code = check(given);
    if (code != SH_EXIT_DONE)
        return code;
    if (asked->listen != NULL ||
        asked->devices > 1) { /* strangers may connect, and there is a key */
        sh_descriptors_raise();
        sh_secrecy_begin();
    }
    if (given->verbose)
        sh_log_set(0, sh_console_log, NULL);
    if (!sh_profile_level_of(&given->options.profile, silent ? NULL : getenv("SHOAL_PROFILE")))
        return sh_console_fail("SHOAL_PROFILE: must be 0, 1 (operators) or 2 (also each node)");
    if (sh_stop_new(&given->options.stop) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (sh_event_stream_open(&session.events, given->events) != SH_OK)
        return sh_console_fail("%s", sh_message());
    sh_progress_init(&session.progress, given->quiet);
    given->options.observer = observe;
    given->options.context = &session;
    sh_signals_catch(given->options.stop,
                     given->quiet ? NULL
                                  : "\nstopping at the next step, with a checkpoint; again: at "
                                    "once\n",
                     SH_SIGNALS_TOGETHER_MS);
    sh_summary summary = {0};
    const sh_status status = sh_train(&given->options, &summary);
    sh_signals_release();
    sh_progress_end(&session.progress);
    sh_event_stream_close(&session.events);
    code = asked->lr_find ? conclude_test(&session, status) : conclude(&session, status, &summary);
    if (!write_trace(&session) && code == SH_EXIT_DONE)
        code = SH_EXIT_FAILURE;
    sh_summary_release(&summary);
    sh_stop_free(given->options.stop);
    return code;
}

const sh_command sh_train_command = {
    .name = "train",
    .usage = "MODEL DATA [options]",
    .summary = "trains here; other devices may join",
    .details =
        "MODEL is a built-in name with its parameters (see shoal models), or auto. With auto, the "
        "data\n"
        "determine the model and options that are not given. --resume takes MODEL and DATA from "
        "the\n"
        "checkpoint.\n"
        "\nschedules (--schedule); epochs are complete ones:\n"
        "  constant                        the learning rate is --lr\n"
        "  step:EPOCHS[,GAMMA]             times GAMMA (0.1) after every EPOCHS epochs\n"
        "  multistep:E1/E2/...[,GAMMA]     times GAMMA (0.1) after E1, after E2 ... epochs\n"
        "  exponential:GAMMA[,FROM_EPOCH]  times GAMMA after FROM_EPOCH (1) and each later "
        "epoch\n"
        "  cosine[:FLOOR]                  down to FLOOR (0) times --lr at the end of the job\n"
        "  one-cycle[:PEAK[,DIV[,FINAL_DIV]]]\n"
        "                                  from --lr / DIV (25) up to --lr in the first fraction "
        "PEAK\n"
        "                                  (0.3) of all steps, then down to --lr / DIV / "
        "FINAL_DIV (1e4);\n"
        "                                  the momentum does not change\n"
        "cosine and one-cycle depend on the end of the job. If --epochs or --steps moves it when "
        "resuming,\n"
        "the learning rates of the remaining steps change. Usual learning rates: 0.01 to 0.1 for "
        "sgd, 0.001\n"
        "to 0.01 for rmsprop, 0.001 for adam and adamw. --lr-find tries 100 rates, draws the loss, "
        "suggests\n"
        "the rate where the loss falls most steeply, and writes lr-find.json into the run's "
        "folder.\n"
        "\n"
        "augmentation (--augment), a list with commas; for images:\n"
        "  resized-crop[:MIN]              a part of MIN (0.08) to 1 of the area, enlarged\n"
        "  vflip  flip  crop[:N]           upside down, mirrored, moved by up to N (4) pixels\n"
        "  rotate:DEGREES                  turned by up to DEGREES\n"
        "  trivial                         TrivialAugment: one change of place or colour\n"
        "  jitter:B[/C/S/H]                brightness, contrast, saturation, hue\n"
        "  erase[:P]                       a box is erased with probability P (0.5)\n"
        "for series and recordings:\n"
        "  shift:N[/F]                     moved by up to N steps of time and F frequencies\n"
        "  scale:S  noise:S                times a factor of 1 - S to 1 + S, plus normal noise\n"
        "  mask:F/T                        SpecAugment: up to F frequencies, T steps of time\n"
        "for all data (accuracy counts the class with the larger share; validation mixes "
        "nothing):\n"
        "  mixup:ALPHA  cutmix:ALPHA       mixed with another sample and its target, or with a "
        "box of it;\n"
        "                                  shares from Beta(ALPHA, ALPHA), often mixup:0.2, "
        "cutmix:1\n"
        "\n"
        "strategies (--strategy); the first two give the same weights:\n"
#define SH_STRATEGY(noun, help) help
#include "train/strategies.def"
#undef SH_STRATEGY
        "\n"
        "--trace FILE writes a timeline of each device: the parts of each step as slices, counters "
        "of its\n"
        "processor, memory and network, and events. Open it at https://ui.perfetto.dev or "
        "chrome://tracing.\n"
        "It is also written after a failure or Ctrl-C, and for any run later by\n"
        "  shoal runs RUN --export trace -o FILE\n"
        "\n"
        "examples:\n"
        "  shoal train auto photos:DIR --devices 3\n"
        "  shoal train lenet mnist:DIR --epochs 8 --listen :7700 --json summary.json\n"
        "  shoal train lenet cifar10:DIR --augment crop,flip\n"
        "  shoal train --resume runs/RUN --epochs 16\n"
        "  mpirun -n 4 shoal train lenet mnist:DIR --engine mpi\n",
    .options = options,
    .values_bytes = sizeof(train_values),
    .trains = SH_TRAINS,
    .positionals_most = 2,
    .stops = true,
    .run = run,
};
