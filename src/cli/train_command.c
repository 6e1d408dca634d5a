/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/event_stream.h"
#include "cli/figures.h"
#include "cli/json_file.h"
#include "cli/profile_output.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/summary_output.h"
#include "shoal/shoal.h"

typedef struct train_values {
    sh_train_options options;
    const char *json, *events, *trace;
    bool quiet, verbose, nesterov;
} train_values;

/* What the observer needs, and whether a reader of standard output is still there. */
typedef struct train_session {
    const train_values *given;
    sh_progress progress;
    sh_event_stream events;
    bool output_lost;
    char run[SH_RUN_BYTES]; /* "": there is none yet */
} train_session;

#define FIELD(member) offsetof(train_values, member)

static const sh_option options[] = {
    {SH_OPTION_U32, .name = "epochs", .value = "N", .help = "times through the data",
     .offset = FIELD(options.job.epochs), .min = 1, .marks = SH_FIELD_EPOCHS,
     .shows_default = true},
    {SH_OPTION_U64, .name = "steps", .value = "N", .help = "end after N steps in all",
     .offset = FIELD(options.job.steps), .min = 1, .marks = SH_FIELD_STEPS},
    {SH_OPTION_U32, .name = "batch-size", .value = "N",
     .help = "samples of one step, over all devices", .offset = FIELD(options.job.batch_size),
     .min = 1, .marks = SH_FIELD_BATCH_SIZE, .shows_default = true},
    {SH_OPTION_U32, .name = "batch-per-device", .value = "N",
     .help = "instead: so many for each device that the job begins with",
     .offset = FIELD(options.batch_per_device), .min = 1},
    {SH_OPTION_U32, .name = "grain", .value = "N",
     .help = "samples of one unit of work (default: from the batch size)",
     .offset = FIELD(options.job.grain), .min = 1, .marks = SH_FIELD_GRAIN},
    {SH_OPTION_FLOAT, .name = "lr", .value = "X", .help = "learning rate",
     .offset = FIELD(options.job.lr), .marks = SH_FIELD_LR, .shows_default = true},
    {SH_OPTION_FLOAT, .name = "momentum", .value = "X",
     .help = "momentum of sgd and rmsprop, below 1", .offset = FIELD(options.job.momentum),
     .max = 1, .marks = SH_FIELD_MOMENTUM, .shows_default = true},
    {SH_OPTION_FLOAT, .name = "weight-decay", .value = "X", .help = "L2 penalty on the weights",
     .offset = FIELD(options.job.weight_decay), .marks = SH_FIELD_WEIGHT_DECAY,
     .shows_default = true},
    {SH_OPTION_NAME, .name = "optimizer", .value = "NAME",
     .help = "what updates the weights: sgd, adam, adamw, rmsprop",
     .offset = FIELD(options.job.optimizer), .max = SH_OPTIMIZER_BYTES - 1,
     .marks = SH_FIELD_OPTIMIZER, .shows_default = true},
    {SH_OPTION_FLAG, .name = "nesterov", .help = "Nesterov momentum (sgd)",
     .offset = FIELD(nesterov), .marks = SH_FIELD_NESTEROV},
    {SH_OPTION_FLOAT, .name = "beta1", .value = "X", .help = "how much adam keeps of the mean",
     .offset = FIELD(options.job.beta1), .max = 1, .marks = SH_FIELD_BETA1, .shows_default = true},
    {SH_OPTION_FLOAT, .name = "beta2", .value = "X",
     .help = "how much adam keeps of the mean square", .offset = FIELD(options.job.beta2), .max = 1,
     .marks = SH_FIELD_BETA2, .shows_default = true},
    {SH_OPTION_FLOAT, .name = "alpha", .value = "X",
     .help = "how much rmsprop keeps of the mean square", .offset = FIELD(options.job.alpha),
     .max = 1, .marks = SH_FIELD_ALPHA, .shows_default = true},
    {SH_OPTION_FLOAT, .name = "epsilon", .value = "X",
     .help = "what adam and rmsprop add to the root of the mean square",
     .offset = FIELD(options.job.epsilon), .marks = SH_FIELD_EPSILON, .shows_default = true},
    {SH_OPTION_NAME, .name = "schedule", .value = "FORM",
     .help = "how the learning rate changes; forms below", .offset = FIELD(options.job.schedule),
     .max = SH_SCHEDULE_BYTES - 1, .marks = SH_FIELD_SCHEDULE, .shows_default = true},
    {SH_OPTION_FLOAT, .name = "warmup", .value = "EPOCHS",
     .help = "epochs in which the rate rises to the schedule's, or a fraction",
     .offset = FIELD(options.job.warmup), .marks = SH_FIELD_WARMUP, .shows_default = true},
    {SH_OPTION_FLOAT, .name = "clip-norm", .value = "X",
     .help = "scale a gradient of a larger norm down to X (default: never)",
     .offset = FIELD(options.job.clip_norm), .marks = SH_FIELD_CLIP_NORM},
    {SH_OPTION_FLOAT, .name = "label-smoothing", .value = "X",
     .help = "part of each label that is spread over all classes",
     .offset = FIELD(options.job.label_smoothing), .max = 1, .marks = SH_FIELD_LABEL_SMOOTHING,
     .shows_default = true},
    {SH_OPTION_NAME, .name = "augment", .value = "LIST",
     .help = "of training images: crop or crop:N, flip (default: none)",
     .offset = FIELD(options.job.augment), .max = SH_AUGMENT_BYTES - 1, .marks = SH_FIELD_AUGMENT},
    {SH_OPTION_U32, .name = "resize", .value = "N",
     .help = "pixels of the images each way (default: as published)",
     .offset = FIELD(options.job.resize), .min = 1, .marks = SH_FIELD_RESIZE},
    {SH_OPTION_NAME, .name = "normalize", .value = "NAME",
     .help = "by the mean and deviation of: dataset, imagenet, none",
     .offset = FIELD(options.job.normalize), .max = SH_NORMALIZE_BYTES - 1,
     .marks = SH_FIELD_NORMALIZE, .shows_default = true},
    {SH_OPTION_U64, .name = "seed", .value = "N", .help = "of the random numbers",
     .offset = FIELD(options.job.seed), .marks = SH_FIELD_SEED, .shows_default = true},
    {SH_OPTION_U32, .name = "devices", .value = "N",
     .help = "processes to start on this machine, this one included (default 1)",
     .offset = FIELD(options.devices), .min = 1, .max = 1024},
    {SH_OPTION_U32, .name = "lanes", .value = "N",
     .help = "cores of each of them (default: all, divided among them)",
     .offset = FIELD(options.lanes), .min = 1, .max = 4096},
    {SH_OPTION_BYTES, .name = "memory", .value = "BYTES",
     .help = "most memory of each of them, such as 96M (default: any)",
     .offset = FIELD(options.memory), .min = 1},
    {SH_OPTION_U32, .name = "min-devices", .value = "N",
     .help = "start when N devices are ready (default: those started here)",
     .offset = FIELD(options.min_devices), .min = 1, .max = 65535},
    {SH_OPTION_TEXT, .name = "listen", .value = "[ADDR]:PORT",
     .help = "open the job to other devices; prints the join token",
     .offset = FIELD(options.listen), .max = 255},
    {SH_OPTION_FLAG, .name = "mixed",
     .help = "let devices of other arithmetic join; not reproducible then",
     .offset = FIELD(options.mixed)},
    {SH_OPTION_NAME, .name = "strategy", .value = "NAME",
     .help = "when devices synchronise: sync, ps-sync, ps-async ...; forms below",
     .offset = FIELD(options.job.strategy), .max = SH_STRATEGY_BYTES - 1,
     .marks = SH_FIELD_STRATEGY},
    {SH_OPTION_TEXT, .name = "servers", .value = "LIST",
     .help = "devices that serve with ps-..., such as 0,2 (default: all)",
     .offset = FIELD(options.servers), .max = 1023},
    {SH_OPTION_U32, .name = "workers", .value = "N",
     .help = "of local:H: they train apart for H steps, on any devices (default 4)",
     .offset = FIELD(options.job.workers), .min = 1, .marks = SH_FIELD_WORKERS},
    {SH_OPTION_FLOAT, .name = "outer-lr", .value = "X",
     .help = "of local:H: how far the weights go to the workers' mean",
     .offset = FIELD(options.job.outer_lr), .marks = SH_FIELD_OUTER_LR, .shows_default = true},
    {SH_OPTION_FLOAT, .name = "outer-momentum", .value = "X",
     .help = "of local:H: Nesterov momentum of these steps, below 1",
     .offset = FIELD(options.job.outer_momentum), .max = 1, .marks = SH_FIELD_OUTER_MOMENTUM,
     .shows_default = true},
    {SH_OPTION_TEXT, .name = "engine", .value = "NAME",
     .help = "what adds gradients up: ring, or mpi under mpirun (default ring)",
     .offset = FIELD(options.engine)},
    {SH_OPTION_U32, .name = "wire", .value = "N",
     .help = "bits of a summed gradient, here and between devices: 32, 16, 8",
     .offset = FIELD(options.job.wire), .min = 1, .marks = SH_FIELD_WIRE, .shows_default = true},
    {SH_OPTION_TEXT, .name = "run", .value = "DIR",
     .help = "folder for checkpoints and results (default: a new one beneath runs/)",
     .offset = FIELD(options.run), .max = SH_RUN_BYTES - 1},
    {SH_OPTION_TEXT, .name = "resume", .value = "RUN",
     .help = "go on from this run's folder or checkpoint", .offset = FIELD(options.resume),
     .max = SH_RUN_BYTES - 1},
    {SH_OPTION_TEXT, .name = "pretrained", .value = "FILE",
     .help = "begin with the weights of this safetensors file or run",
     .offset = FIELD(options.pretrained), .max = SH_RUN_BYTES - 1},
    {SH_OPTION_NAME, .name = "freeze", .value = "GLOBS",
     .help = "weights that stay as they are: layer1.*,bn1.* (default: none)",
     .offset = FIELD(options.job.freeze), .max = SH_FREEZE_BYTES - 1, .marks = SH_FIELD_FREEZE},
    {SH_OPTION_TEXT, .name = "json", .value = "FILE",
     .help = "write the summary to FILE ('-': standard output)", .offset = FIELD(json)},
    {SH_OPTION_TEXT, .name = "events", .value = "FILE",
     .help = "append a line of JSON for each step and event to FILE", .offset = FIELD(events)},
    {SH_OPTION_TEXT, .name = "trace", .value = "FILE",
     .help = "write a timeline for Perfetto to FILE at the end; more below",
     .offset = FIELD(trace)},
    {SH_OPTION_FLAG, .name = "tensorboard",
     .help = "write an event file for TensorBoard into the run's folder",
     .offset = FIELD(options.tensorboard)},
    {SH_OPTION_FLAG, .name = "quiet", .help = "print nothing but the join token and errors",
     .offset = FIELD(quiet)},
    {SH_OPTION_FLAG, .name = "verbose", .help = "log lines on standard error",
     .offset = FIELD(verbose)},
    {SH_OPTION_END},
};

static void init(void *values)
{
    train_values *given = values;
    sh_train_options_init(&given->options);
    sh_job_init(&given->options.job);
}

static int misuse(const char *reason)
{
    return sh_console_misuse("train", "%s", reason);
}

/* "[ADDRESS]:PORT" as far as a mistake in it would be one of writing. */
static bool is_listen(const char *text)
{
    const char *colon = strrchr(text, ':');
    if (colon == NULL || strlen(colon + 1) < 1 || strlen(colon + 1) > 5 ||
        colon[1 + strspn(colon + 1, "0123456789")] != '\0')
        return false;
    return strtoul(colon + 1, NULL, 10) <= 65535;
}

/* Takes MODEL and DATA; both come from the checkpoint when resuming. */
static int take_job(const sh_arguments *arguments, sh_train_options *asked)
{
    sh_job *job = &asked->job;
    asked->given = arguments->marks;
    if (asked->batch_per_device > 0 && (asked->given & SH_FIELD_BATCH_SIZE) != 0)
        return misuse("--batch-per-device with --batch-size: one of them decides; leave the other "
                      "out");
    if (arguments->positional_count == 0 && asked->resume != NULL)
        return SH_EXIT_DONE;
    if (arguments->positional_count < 2)
        return misuse(asked->resume == NULL ? "train: needs MODEL DATA"
                                            : "train: needs both MODEL DATA with --resume, or "
                                              "neither");
    const char *model = arguments->positionals[0], *data = arguments->positionals[1];
    if (strlen(model) >= sizeof job->model)
        return misuse("train: MODEL is too long");
    if (strlen(data) >= sizeof job->data)
        return misuse("train: DATA is too long");
    snprintf(job->model, sizeof job->model, "%s", model);
    snprintf(job->data, sizeof job->data, "%s", data);
    asked->given |= SH_FIELD_MODEL | SH_FIELD_DATA;
    return SH_EXIT_DONE;
}

static bool is_mpi(const sh_train_options *asked)
{
    return asked->engine != NULL && strcmp(asked->engine, "mpi") == 0;
}

/* Of ranks the first one speaks; the others say what concerns them alone. */
static bool silence_others(train_values *given)
{
    sh_launch launch;
    if (!is_mpi(&given->options) || !sh_launch_read(&launch))
        return false;
    if (launch.rank > 0) {
        given->quiet = true;
        given->verbose = false;
        given->json = given->events = given->trace = NULL;
    }
    return launch.rank > 0;
}

static int check(const train_values *given)
{
    const sh_train_options *asked = &given->options;
    sh_trouble trouble;
    const uint32_t devices = asked->devices > 0 ? asked->devices : 1;
    if (asked->listen != NULL && !is_listen(asked->listen))
        return sh_console_misuse("train",
                                 "--listen %s: must be [ADDRESS]:PORT, such as :7700 or "
                                 "192.168.1.5:7700",
                                 asked->listen);
    if (asked->listen == NULL && asked->min_devices > devices)
        return sh_console_misuse("train",
                                 "--min-devices %u: more than the %u started here (--devices), and "
                                 "without --listen no others can join",
                                 asked->min_devices, devices);
    if (sh_train_options_check(asked) != SH_OK)
        return misuse(sh_message());
    if (sh_json_is_output(given->trace))
        return misuse("--trace -: must be a file; standard output has the summary");
    if ((given->json != NULL && !sh_json_file_check(&trouble, given->json)) ||
        (given->trace != NULL && !sh_result_file_check(&trouble, "--trace", given->trace)))
        return sh_console_fail("%s", trouble.text);
    return SH_EXIT_DONE;
}

/* Where it is not what everybody knows. */
static void print_strategy(const sh_train_options *asked)
{
    const sh_job *job = &asked->job;
    sh_figure workers;
    if (strcmp(job->strategy, "sync") == 0)
        return;
    if (job->workers > 0)
        sh_console_note("strategy    %s, %s", job->strategy,
                        sh_figure_count(&workers, job->workers, "worker"));
    else
        sh_console_note("strategy    %s%s%s", job->strategy,
                        asked->servers != NULL ? ", servers " : "",
                        asked->servers != NULL ? asked->servers : "");
}

/* How a step falls into what devices share. */
static void print_step(const sh_job *job)
{
    sh_figure a, b;
    const bool local = job->workers > 0;
    const uint32_t batch = local ? job->batch_size / job->workers : job->batch_size;
    const uint64_t grains = (batch + (uint64_t)job->grain - 1) / job->grain;
    sh_console_note("batch       %s a %s", sh_figure_count(&a, job->batch_size, "sample"),
                    local ? "local step" : "step");
    sh_console_note("grain       %s, %s %s", sh_figure_count(&a, job->grain, "sample"),
                    sh_figure_count(&b, grains, "grain"), local ? "of each worker" : "a step");
}

/* How many devices there are from the start on. */
static uint32_t print_devices(const sh_train_options *asked)
{
    sh_figure figure;
    sh_launch launch;
    const uint32_t devices = asked->devices > 0 ? asked->devices : 1;
    if (is_mpi(asked) && sh_launch_read(&launch)) {
        sh_console_note("devices     %s of %s", sh_figure_count(&figure, launch.ranks, "rank"),
                        launch.launcher);
        return launch.ranks;
    }
    sh_console_note("devices     %s here%s", sh_figure_whole(&figure, devices),
                    asked->listen != NULL ? ", others may join" : "");
    return devices;
}

static void print_start(const train_values *given)
{
    const sh_train_options *asked = &given->options;
    const sh_job *job = &asked->job;
    sh_figure a;
    if (asked->resume != NULL)
        sh_console_note("resuming    %s", asked->resume);
    if (job->model[0] != '\0') {
        sh_console_note("model       %s", job->model);
        sh_console_note("data        %s", job->data);
    }
    print_strategy(asked);
    if (asked->resume == NULL)
        print_step(job);
    const uint32_t devices = print_devices(asked);
    if (asked->lanes > 0)
        sh_console_note("lanes       %s each", sh_figure_whole(&a, asked->lanes));
    else
        sh_console_note("lanes       all cores%s", devices > 1 ? ", divided among them" : "");
    if (asked->min_devices > devices)
        sh_console_note("waiting for %s", sh_figure_count(&a, asked->min_devices, "device"));
}

static void observe(void *context, const sh_event *event)
{
    train_session *session = context;
    if (event->kind == SH_EVENT_TOKEN && !session->output_lost) {
        printf("%s\n", event->text);
        session->output_lost = fflush(stdout) != 0;
        if (session->output_lost) /* nobody would know how to join; sh_console_finish says so */
            sh_stop_request(session->given->options.stop);
    }
    if (event->kind == SH_EVENT_RUN)
        snprintf(session->run, sizeof session->run, "%s", event->text);
    sh_event_stream_write(&session->events, event);
    sh_progress_show(&session->progress, event);
}

/* Prints and writes what came of it. */
static int report(const train_values *given, const sh_summary *summary, sh_run_end end)
{
    sh_trouble trouble;
    if (!given->quiet && !sh_json_is_output(given->json))
        sh_summary_output_print(summary, end, stdout);
    if (given->json != NULL &&
        !sh_json_file_write(&trouble, given->json, sh_summary_output_json(summary, end)))
        return sh_console_fail("%s", trouble.text);
    return SH_EXIT_DONE;
}

/* However the training ended, as far as it came. */
static bool write_trace(const train_session *session)
{
    const char *path = session->given->trace;
    if (path == NULL || session->run[0] == '\0')
        return true;
    const sh_export_options asked = {.run = session->run, .table = "trace", .path = path};
    if (sh_run_export(&asked) == SH_OK)
        return true;
    sh_console_fail("--trace: %s; once it is mended: shoal runs %s --export trace -o FILE",
                    sh_message(), session->run);
    return false;
}

/* What a training that ended with `status` returns, after its summary where it has one. */
static int conclude(const train_session *session, sh_status status, const sh_summary *summary)
{
    const train_values *given = session->given;
    if (status != SH_OK && status != SH_STOPPED && status != SH_PEER_LOST)
        return sh_console_fail("%s", sh_message());
    int code = SH_EXIT_DONE;
    if (status == SH_PEER_LOST)
        code =
            sh_console_fail("%s; go on with: shoal train --resume %s", sh_message(), summary->run);
    if (status == SH_STOPPED)
        code = sh_signals_exit();
    if (status == SH_STOPPED && code == SH_EXIT_FAILURE && !session->output_lost)
        sh_console_fail("a device asked to leave, so all stopped; go on with: shoal train "
                        "--resume %s",
                        summary->run);
    else if (status == SH_STOPPED && !given->quiet)
        sh_console_note("stopped; go on with: shoal train --resume %s", summary->run);
    const sh_run_end end = status == SH_OK        ? SH_RUN_COMPLETE
                           : status == SH_STOPPED ? SH_RUN_STOPPED
                                                  : SH_RUN_DEVICE_LOST;
    const int reported = report(given, summary, end);
    if (given->options.profile != SH_PROFILE_OFF)
        sh_profile_output_print(&summary->profile, stderr);
    return reported != SH_EXIT_DONE ? reported : code;
}

static int run(const sh_arguments *arguments, void *values)
{
    train_values *given = values;
    train_session session = {.given = given, .events = {-1}};
    sh_trouble trouble;
    given->options.job.nesterov = given->nesterov;
    int code = take_job(arguments, &given->options);
    if (code == SH_EXIT_DONE && sh_train_options_complete(&given->options) != SH_OK)
        code = misuse(sh_message());
    const bool silent = silence_others(given);
    if (code == SH_EXIT_DONE)
        code = check(given);
    if (code != SH_EXIT_DONE)
        return code;
    if (given->verbose)
        sh_log_set(0, sh_console_log, NULL);
    if (!sh_profile_level_of(&given->options.profile, silent ? NULL : getenv("SHOAL_PROFILE")))
        return sh_console_fail("SHOAL_PROFILE: must be 0, 1 (operators) or 2 (and each node)");
    if (sh_stop_new(&given->options.stop) != SH_OK)
        return sh_console_fail("%s", sh_message());
    if (!sh_event_stream_open(&trouble, &session.events, given->events))
        return sh_console_fail("%s", trouble.text);
    if (!given->quiet)
        print_start(given);
    sh_progress_init(&session.progress, given->quiet);
    given->options.observer = observe;
    given->options.context = &session;
    sh_signals_catch(given->options.stop,
                     given->quiet ? NULL
                                  : "\nstopping at the next step, with a checkpoint; once more: at "
                                    "once\n",
                     SH_SIGNALS_TOGETHER_MS);
    sh_summary summary = {0};
    const sh_status status = sh_train(&given->options, &summary);
    sh_signals_release();
    sh_progress_end(&session.progress);
    sh_event_stream_close(&session.events);
    code = conclude(&session, status, &summary);
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
        "MODEL is a built-in name with its parameters (shoal models). DATA is digits (built in), "
        "mnist:DIR,\ncifar10:DIR, cifar100:DIR or a folder of files as published. With --resume "
        "both come from the\ncheckpoint.\n"
        "\nschedules (--schedule), where epochs are counted that are complete:\n"
        "  constant                          the learning rate is --lr\n"
        "  step:EPOCHS[,GAMMA]               times GAMMA (0.1) after every EPOCHS epochs\n"
        "  multistep:E1/E2/...[,GAMMA]       times GAMMA (0.1) after E1, after E2 ... epochs\n"
        "  exponential:GAMMA[,FROM_EPOCH]    times GAMMA after FROM_EPOCH (1) and each later "
        "epoch\n"
        "  cosine[:FLOOR]                    down to FLOOR (0) times --lr at the job's end\n"
        "  one-cycle[:PEAK[,DIV[,FINAL_DIV]]]\n"
        "                                    from --lr / DIV (25) up to --lr within the fraction "
        "PEAK (0.3)\n"
        "                                    of all steps, then down to --lr / DIV / FINAL_DIV "
        "(1e4); the\n"
        "                                    momentum stays as it is\n"
        "cosine and one-cycle follow the job's end: moving it when resuming (--epochs, --steps) "
        "moves the\nlearning rates of the steps that are left. Usual learning rates: sgd 0.01 "
        "to 0.1, rmsprop 0.001\nto 0.01, adam and adamw 0.001.\n"
        "\nstrategies (--strategy); the weights are the same with the first two:\n"
        "  sync                              each step, gradients are added up around a ring\n"
        "  ps-sync                           each step, by servers, each of a shard: fewer hops, "
        "for links\n"
        "                                    of high latency. All devices serve, or those of "
        "--servers:\n"
        "                                    0 is this one, the others count as they join\n"
        "  ps-async                          devices take whole batches at their own pace, and "
        "servers\n"
        "                                    apply each update as it comes: the weights differ "
        "from run\n"
        "                                    to run. A batch is a step, as ever\n"
        "  ps-bounded:K                      likewise, but none is K updates ahead of the "
        "slowest\n"
        "  local:H                           each of --workers trains apart for H steps, on its "
        "part of each\n"
        "                                    batch; then the weights become the mean of theirs: "
        "for slow\n"
        "                                    links. That is one step, also for --steps; schedules "
        "count H\n"
        "\n--trace FILE writes what the run recorded of each device: the parts of each step as "
        "slices, its\nprocessor, memory and network as counters, and events. Open it at "
        "https://ui.perfetto.dev or\nchrome://tracing; it is there after a failure or Ctrl-C too, "
        "and of any run later by\n  shoal runs RUN --export trace -o FILE\n"
        "\nexamples:\n"
        "  shoal train mlp:784-128-64-10 digits --epochs 2 --devices 3\n"
        "  shoal train lenet mnist:DIR --epochs 8 --listen :7700 --json summary.json\n"
        "  shoal train lenet cifar10:DIR --augment crop,flip\n"
        "  shoal train --resume runs/RUN --epochs 16\n"
        "  mpirun -n 4 shoal train lenet mnist:DIR --engine mpi\n",
    .options = options,
    .values_bytes = sizeof(train_values),
    .init = init,
    .positionals_most = 2,
    .run = run,
};
