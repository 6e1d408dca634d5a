/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training from its start to its summary, on the device that coordinates it. Where it is the only
 * device and the job is not open, there is no loop, no door and no token; otherwise device 0 takes
 * part like every other, by mail.
 *
 * What is written when: job.json at the start; events as they happen; a checkpoint and a line of
 * metrics after every validation; a checkpoint also where the training is stopped or a device is
 * lost. A step that fails leaves the weights as they were, so what is written is always the state
 * between two steps.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/choice.h"
#include "node/chronicle.h"
#include "node/course.h"
#include "node/crew.h"
#include "node/host.h"
#include "node/ranks.h"
#include "node/resume.h"
#include "node/scalars.h"
#include "node/watchdog.h"
#include "node/weights.h"
#include "store/checkpoint.h"
#include "store/run.h"
#include "train/pretrained.h"
#include "train/snapshot.h"
#include "train/strategy.h"

#define RATE_WINDOW 16 /* steps over which the speed is shown */
/* That the first rank waits for the step's end when it is told to end: mpirun uses force after 1 s.
 */
#define RANK_PATIENCE_MS 300

typedef struct training {
    const sh_train_options *options;
    char name[SH_NAME_BYTES];
    uint32_t devices, min_devices;
    sh_serving serving;
    sh_run *run;
    bool has_checkpoint; /* in the run's folder */
    char token_file[SH_PATH_BYTES];
    sh_log_tap events; /* into the run's folder while it is open */
    sh_scalars scalars;
    sh_workbench *bench;
    sh_crew *crew;           /* NULL for a device that is alone, and for ranks */
    sh_ranks *ranks;         /* NULL but for ranks */
    sh_chronicle *chronicle; /* NULL for ranks but the first */

    pthread_mutex_t saving; /* held to write a checkpoint; guards the next two and the first flag */
    bool is_saved;
    sh_position saved; /* where the checkpoint stands */

    /* The course under way. */
    uint64_t start_ns, start_steps;
    uint64_t counted_steps;        /* whose samples are in the summary */
    uint64_t step_ns[RATE_WINDOW]; /* when the last steps ended */
    uint64_t steps_seen;
    sh_summary *summary;
} training;

void sh_train_options_init(sh_train_options *options)
{
    *options = (sh_train_options){0};
    sh_job_init(&options->job);
}

static uint32_t devices_at_start(const sh_train_options *options)
{
    if (sh_ranks_are_wanted(options))
        return sh_ranks_expected();
    const uint32_t here = options->devices == 0 ? 1 : options->devices;
    return options->min_devices > here ? options->min_devices : here;
}

/* Devices that compute a batch together. */
static uint32_t devices_of_batch(const sh_train_options *options)
{
    sh_strategy strategy;
    const bool apart =
        sh_strategy_parse(&strategy, options->job.strategy) == SH_OK && sh_strategy_laps(&strategy);
    return apart ? 1 : devices_at_start(options);
}

/* The global batch of a batch for each device: from here on it is the job's, whoever joins. */
static sh_status complete_batch(sh_train_options *options)
{
    const uint32_t devices = devices_of_batch(options);
    const uint64_t samples = (uint64_t)options->batch_per_device * devices;
    if (options->batch_per_device == 0)
        return SH_OK;
    if (samples > UINT32_MAX)
        return sh_fail(SH_INVALID, "--batch-per-device %u: on %u devices too many samples",
                       options->batch_per_device, devices);
    options->job.batch_size = (uint32_t)samples;
    return SH_OK;
}

sh_status sh_train_options_complete(sh_train_options *options)
{
    SH_TRY(sh_ranks_check(options));
    SH_TRY(complete_batch(options));
    if (options->resume != NULL)
        return SH_OK;
    if (options->batch_per_device == 0)
        return sh_job_complete(&options->job);
    return sh_fail_in(sh_job_complete(&options->job), "--batch-per-device %u on %u devices",
                      options->batch_per_device, devices_of_batch(options));
}

void sh_summary_release(sh_summary *summary)
{
    free(summary->devices);
    summary->devices = NULL;
    summary->device_count = 0;
    sh_profile_release(&summary->profile);
}

static void observe(const training *t, const sh_event *event)
{
    if (t->options->observer != NULL)
        t->options->observer(t->options->context, event);
}

static double seconds_since(uint64_t start_ns)
{
    return (double)(sh_clock_now_ns(sh_clock_system()) - start_ns) * 1e-9;
}

/* Writes the replica as it stands, which ranks do once where they do it in a hurry; any thread that
 * may read it. */
static sh_status save(training *t)
{
    const sh_replica *replica = t->bench->replica;
    sh_status status = SH_OK;
    pthread_mutex_lock(&t->saving);
    if (t->ranks == NULL || !t->is_saved ||
        !sh_position_same(t->saved, sh_replica_position(replica)))
        status = sh_snapshot_save(sh_run_checkpoints(t->run), &t->bench->job,
                                  sh_pipeline_about(t->bench->pipeline)->fingerprint, replica);
    if (status == SH_OK) {
        t->saved = sh_replica_position(replica);
        t->is_saved = t->has_checkpoint = true;
    }
    pthread_mutex_unlock(&t->saving);
    return status;
}

static sh_status checkpoint(training *t)
{
    char path[SH_PATH_BYTES];
    SH_TRY(save(t));
    SH_TRY(sh_path_join(path, sh_run_checkpoints(t->run), SH_CHECKPOINT_LAST));
    sh_log(SH_LOG_INFO, "checkpoint.written", "step=%llu file=\"%s\"",
           (unsigned long long)t->bench->replica->steps, path);
    observe(t, &(sh_event){.kind = SH_EVENT_CHECKPOINT, .text = path});
    return SH_OK;
}

/* Samples a second over the last few steps, of `samples` each. */
static double recent_rate(training *t, uint32_t samples)
{
    const uint64_t now = sh_clock_now_ns(sh_clock_system());
    const uint64_t seen = t->steps_seen++;
    const uint64_t window = seen < RATE_WINDOW ? seen : RATE_WINDOW;
    const uint64_t since = window == 0 ? t->start_ns : t->step_ns[(seen - window) % RATE_WINDOW];
    t->step_ns[seen % RATE_WINDOW] = now;
    const double steps = window == 0 ? 1 : (double)window;
    return now > since ? steps * samples / ((double)(now - since) * 1e-9) : 0;
}

/* An event with all that a report says. */
static sh_event describe(const training *t, sh_event_kind kind, const sh_progress_report *report)
{
    const double samples = (double)report->epoch.samples;
    return (sh_event){
        .kind = kind,
        .devices = report->devices,
        .epoch = report->batch.epoch + 1,
        .epochs = (uint32_t)((report->schedule->total_steps + report->schedule->epoch_steps - 1) /
                             report->schedule->epoch_steps),
        .step = report->batch.step + 1,
        .epoch_steps = report->schedule->epoch_steps,
        .total_step = report->steps,
        .total_steps = report->schedule->total_steps,
        .samples = report->epoch.samples,
        .seconds = seconds_since(t->start_ns),
        .loss = samples > 0 ? report->epoch.loss / samples : 0,
        .accuracy = samples > 0 ? (double)report->epoch.correct / samples : 0,
    };
}

/* All steps count, those too that others applied and past which this device was brought. */
static void count_samples(training *t)
{
    const sh_schedule *schedule = sh_trainer_schedule(t->bench->trainer);
    for (; t->counted_steps < t->bench->replica->steps; t->counted_steps++)
        t->summary->samples += sh_schedule_batch(schedule, t->counted_steps).samples.count;
}

static double date(void)
{
    const struct timespec now = sh_clock_date();
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* A disk that fails does not end a training because of a file beside it. */
static void note_failure(const training *t, sh_status status)
{
    if (status != SH_OK)
        observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = sh_message()});
}

/* Trouble with the journal. */
static void note_trouble(const training *t)
{
    char text[SH_MESSAGE_BYTES];
    if (sh_chronicle_note(t->chronicle, text))
        observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
}

static sh_status on_step(void *context, const sh_progress_report *report)
{
    training *t = context;
    sh_event event = describe(t, SH_EVENT_STEP, report);
    event.samples_per_second = recent_rate(t, sh_schedule_batch(report->schedule, 0).samples.count);
    count_samples(t);
    t->summary->train_loss = event.loss;
    note_failure(t, sh_scalars_step(&t->scalars, date(), report, event.samples_per_second));
    sh_chronicle_step(t->chronicle, report);
    note_trouble(t);
    observe(t, &event);
    return SH_OK;
}

static sh_status write_metrics(const training *t, const sh_event *event)
{
    char line[512], val_loss[32] = "null";
    if (isfinite(event->val_loss))
        snprintf(val_loss, sizeof val_loss, "%.9g", event->val_loss);
    snprintf(line, sizeof line,
             "{\"epoch\": %u, \"step\": %llu, \"seconds\": %.3f, \"samples_per_second\": %.1f, "
             "\"loss\": %.9g, \"accuracy\": %.9g, \"val_loss\": %s, \"val_accuracy\": %.9g}",
             event->epoch, (unsigned long long)event->total_step, event->seconds,
             event->samples_per_second, event->loss, event->accuracy, val_loss,
             event->val_accuracy);
    return sh_run_append_line(t->run, SH_RUN_METRICS, line);
}

static sh_status on_validated(void *context, const sh_progress_report *report,
                              const sh_sum_totals *validation)
{
    training *t = context;
    const double samples = (double)validation->samples;
    sh_event event = describe(t, SH_EVENT_EPOCH, report);
    event.val_loss = validation->loss / samples;
    event.val_accuracy = (double)validation->correct / samples;
    event.samples_per_second = (double)t->summary->samples / event.seconds;
    t->summary->train_loss = event.loss;
    t->summary->val_loss = event.val_loss;
    t->summary->val_accuracy = event.val_accuracy;
    observe(t, &event);
    if (report->steps == t->start_steps) /* nothing was left to do: all is written already */
        return SH_OK;
    note_failure(t, sh_scalars_epoch(&t->scalars, date(), &event));
    sh_chronicle_epoch(t->chronicle, &event);
    SH_TRY(write_metrics(t, &event));
    return checkpoint(t);
}

/* The job begins with weights from `file`, whose hash becomes part of it. */
static sh_status begin_with(training *t, sh_job *job, const sh_safetensors *file,
                            char note[SH_MESSAGE_BYTES])
{
    SH_TRY(sh_safetensors_hash(job->pretrained, file));
    SH_TRY(sh_workbench_open(&t->bench, job, NULL, t->options->backend));
    return sh_fail_in(sh_pretrained_load(note, t->bench->replica, file, SH_PRETRAINED_BUT_LAST),
                      "--pretrained");
}

/* The job as it begins. */
static sh_status open_new(training *t, char note[SH_MESSAGE_BYTES])
{
    sh_safetensors *file;
    sh_job job = t->options->job;
    job.pretrained[0] = note[0] = '\0';
    if (t->options->pretrained == NULL)
        return sh_workbench_open(&t->bench, &job, NULL, t->options->backend);
    SH_TRY(sh_fail_in(sh_weights_open(&file, t->options->pretrained), "--pretrained"));
    const sh_status status = begin_with(t, &job, file, note);
    sh_safetensors_close(file);
    return status;
}

static sh_status open_bench(training *t)
{
    char note[SH_MESSAGE_BYTES];
    if (t->options->resume != NULL && t->options->pretrained != NULL)
        return sh_fail(SH_INVALID, "--pretrained with --resume: the checkpoint has the weights; "
                                   "leave --pretrained out, or begin a new run");
    SH_TRY(t->options->resume != NULL ? sh_resume_open(&t->bench, t->options, note)
                                      : open_new(t, note));
    if (note[0] != '\0')
        observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = note});
    return SH_OK;
}

static sh_status open_scalars(training *t)
{
    const sh_replica *replica = t->bench->replica;
    const uint64_t epoch_steps = sh_trainer_schedule(t->bench->trainer)->epoch_steps;
    t->scalars.epoch = (uint32_t)(replica->steps / epoch_steps);
    if (replica->steps % epoch_steps != 0) /* else they are those of the epoch before */
        t->scalars.seen = replica->epoch;
    return sh_scalars_open(&t->scalars, &(sh_tensorboard_options){.folder = sh_run_folder(t->run),
                                                                  .host = t->name,
                                                                  .at = date(),
                                                                  .start_step = replica->steps});
}

static sh_status open_run(training *t)
{
    json_t *json;
    const sh_job *job = &t->bench->job;
    const bool same_folder = t->options->run == NULL && t->options->resume != NULL &&
                             sh_resume_is_run(t->options->resume);
    t->has_checkpoint = same_folder;
    SH_TRY(sh_run_open(&t->run,
                       &(sh_run_options){.path = same_folder ? t->options->resume : t->options->run,
                                         .model = job->model,
                                         .data = job->data,
                                         .now = sh_clock_date().tv_sec,
                                         .resume = same_folder}));
    t->events = (sh_log_tap){.lowest = SH_LOG_INFO, .sink = sh_run_log_sink, .context = t->run};
    sh_log_tap_add(&t->events);
    SH_TRY(sh_job_to_json(&json, job));
    const sh_status status = sh_run_write_json(t->run, SH_RUN_JOB, json);
    json_decref(json);
    observe(t, &(sh_event){.kind = SH_EVENT_RUN, .text = sh_run_folder(t->run)});
    if (status == SH_OK && t->options->tensorboard)
        note_failure(t, open_scalars(t));
    return status;
}

static sh_status open_records(training *t)
{
    SH_TRY(open_run(t));
    return sh_chronicle_open(&t->chronicle, &(sh_chronicle_options){t->run, t->bench, t->name});
}

/* Says once what a limit has led to. */
static void note_memory(const training *t)
{
    char text[SH_FOOTPRINT_TEXT];
    if (t->options->memory == 0)
        return;
    sh_footprint_print(text, sh_trainer_footprint(t->bench->trainer), t->options->memory);
    observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
}

/* Whether this device has the run's folder and speaks: all but ranks other than the first. */
static bool is_first(const training *t)
{
    return t->ranks == NULL || sh_ranks_own(t->ranks) == 0;
}

static bool has_crew(const training *t)
{
    return t->ranks == NULL && (t->min_devices > 1 || t->options->listen != NULL);
}

static uint32_t lanes_of_each(const training *t)
{
    const uint32_t cores = sh_host_cores();
    const uint32_t here = t->ranks == NULL ? t->devices : sh_ranks_here(t->ranks);
    if (t->options->lanes != 0)
        return t->options->lanes;
    return cores / here > 0 ? cores / here : 1;
}

/* This device's report, but for the bytes on the wire of a crew. */
static void report_own(const training *t, sh_device_report *own)
{
    const sh_trainer_work work = sh_trainer_work_done(t->bench->trainer);
    snprintf(own->name, sizeof own->name, "%s", t->name);
    own->grains = work.grains;
    own->samples = work.samples;
    own->cpu_seconds = sh_process_cpu_seconds();
    own->peak_rss_bytes = sh_process_peak_rss_bytes();
    if (t->ranks != NULL)
        own->bytes_sent = own->bytes_received = SH_BYTES_UNKNOWN;
}

static sh_status report_devices(training *t)
{
    sh_summary *summary = t->summary;
    sh_device_report alone = {0};
    summary->reproducible = true;
    summary->planned_bytes = sh_footprint_total(sh_trainer_footprint(t->bench->trainer));
    if (t->ranks != NULL && !sh_ranks_parted(t->ranks)) {
        report_own(t, &alone);
        SH_TRY(sh_ranks_reports(t->ranks, &alone, &summary->devices, &summary->device_count));
    } else if (t->crew != NULL) {
        SH_TRY(sh_crew_reports(t->crew, &summary->devices, &summary->device_count,
                               &summary->reproducible));
    } else {
        summary->devices = calloc(1, sizeof *summary->devices);
        if (summary->devices == NULL)
            return sh_fail_memory(sizeof *summary->devices, "the summary");
        summary->device_count = 1;
    }
    report_own(t, &summary->devices[0]);
    for (size_t i = 0; i < summary->device_count; i++)
        if (summary->peak_rss_bytes < summary->devices[i].peak_rss_bytes)
            summary->peak_rss_bytes = summary->devices[i].peak_rss_bytes;
    return SH_OK;
}

static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static sh_status write_summary(const training *t, const char *ending)
{
    const sh_summary *s = t->summary;
    json_t *json = json_pack(
        "{s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:f, s:f, s:o, s:o, s:o, s:s, s:I, s:I, s:b}", "model",
        s->model, "data", s->data, "ending", ending, "parameters", (json_int_t)s->parameters,
        "epochs", (json_int_t)s->epochs, "steps", (json_int_t)s->steps, "samples",
        (json_int_t)s->samples, "train_seconds", s->train_seconds, "samples_per_second",
        s->samples_per_second, "train_loss", number(s->train_loss), "val_loss", number(s->val_loss),
        "val_accuracy", number(s->val_accuracy), "weights_hash", s->weights_hash, "redone_steps",
        (json_int_t)s->redone_steps, "devices", (json_int_t)s->device_count, "reproducible",
        s->reproducible);
    if (json == NULL)
        return sh_fail_memory(1024, "the summary");
    const sh_status status = sh_run_write_json(t->run, SH_RUN_SUMMARY, json);
    json_decref(json);
    return status;
}

static sh_status summarise(training *t, const sh_course *course, const char *ending)
{
    sh_summary *summary = t->summary;
    const sh_replica *replica = t->bench->replica;
    snprintf(summary->model, sizeof summary->model, "%s", t->bench->job.model);
    snprintf(summary->data, sizeof summary->data, "%s", t->bench->job.data);
    summary->wire = t->bench->job.wire;
    snprintf(summary->run, sizeof summary->run, "%.*s", SH_RUN_BYTES - 1, sh_run_folder(t->run));
    summary->parameters = sh_model_parameters(replica->graph);
    summary->steps = replica->steps;
    count_samples(t);
    summary->epochs =
        (uint32_t)(replica->steps / sh_trainer_schedule(t->bench->trainer)->epoch_steps);
    if (t->start_ns != 0) {
        summary->train_seconds = seconds_since(t->start_ns);
        summary->samples_per_second = (double)summary->samples / summary->train_seconds;
    }
    summary->redone_steps = course->redone_steps;
    summary->views = course->views;
    if (t->start_ns != 0 && t->bench->clock != NULL)
        SH_TRY(sh_trainer_profile(t->bench->trainer, &summary->profile, t->options->profile));
    SH_TRY(sh_replica_hash(replica, summary->weights_hash));
    SH_TRY(report_devices(t));
    return write_summary(t, ending);
}

/* A failure that leaves good weights behind: they are saved, and the message says where to go on.
 */
static sh_status save_after(training *t, const sh_course *course, sh_status status,
                            const char *ending)
{
    char message[SH_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", sh_message());
    SH_TRY(sh_fail_in(checkpoint(t), "%s; and the checkpoint failed", message));
    SH_TRY(summarise(t, course, ending));
    return sh_fail(status, "%.900s; saved at step %llu", message,
                   (unsigned long long)t->bench->replica->steps);
}

/* A failure after which nothing can be saved: what there is stays, and the others hear why. */
static sh_status give_up(const training *t, sh_status status)
{
    char message[SH_MESSAGE_BYTES];
    const char *remedy = status == SH_NUMERIC ? "; try a smaller --lr" : "";
    snprintf(message, sizeof message, "%s", sh_message());
    if (t->crew != NULL)
        sh_crew_fail(t->crew, message);
    if (!t->has_checkpoint)
        return sh_fail(status, "%.900s%s; there is no checkpoint yet", message, remedy);
    return sh_fail(status, "%.700s%s; the last checkpoint in %.200s is whole", message, remedy,
                   sh_run_folder(t->run));
}

/* A rank that is not the first. */
static sh_status finish_silently(training *t, sh_status status)
{
    SH_TRY(status);
    SH_TRY(report_devices(t));
    sh_summary_release(t->summary);
    return SH_OK;
}

static sh_status finish(training *t, const sh_course *course, sh_status status, sh_ending ending)
{
    if (!is_first(t))
        return finish_silently(t, status);
    if (!course->whole)
        return give_up(t, status != SH_OK ? status
                                          : sh_fail(SH_PEER_LOST, "the job ended while this device "
                                                                  "took the replica from others"));
    if (status == SH_OK && ending == SH_ENDING_COMPLETE) {
        unlink(t->token_file); /* nobody comes back to a job that is complete */
        return summarise(t, course, "complete");
    }
    if (status == SH_OK)
        return save_after(t, course, sh_fail(SH_STOPPED, "stopped on request"), "stopped");
    if (status == SH_STOPPED)
        return save_after(t, course, status, "stopped");
    if (status == SH_PEER_LOST)
        return save_after(t, course, status, "device lost");
    return give_up(t, status);
}

/* Of a device without a crew. */
static sh_range own_share(const training *t)
{
    const uint32_t grains = sh_job_grains(&t->bench->job);
    return t->ranks == NULL ? (sh_range){0, grains} : sh_ranks_share(t->ranks, grains);
}

/* The first view of the devices: from here on time counts. */
static void on_view(void *context, uint32_t view, uint32_t devices)
{
    training *t = context;
    const sh_schedule *schedule = sh_trainer_schedule(t->bench->trainer);
    const uint64_t step = t->bench->replica->steps + 1;
    if (t->crew != NULL)
        sh_crew_enter(t->crew, view, step);
    else
        sh_chronicle_view(t->chronicle, view, step, &(sh_seat){.share = own_share(t)}, 1);
    if (t->start_ns != 0)
        return;
    if (t->crew != NULL)
        sh_crew_begin(t->crew);
    sh_trainer_clear_times(t->bench->trainer);
    t->start_ns = sh_clock_now_ns(sh_clock_system());
    observe(t, &(sh_event){.kind = SH_EVENT_STARTED,
                           .devices = devices,
                           .epoch = (uint32_t)(t->start_steps / schedule->epoch_steps) + 1,
                           .step = t->start_steps % schedule->epoch_steps,
                           .epoch_steps = schedule->epoch_steps,
                           .total_step = t->start_steps,
                           .total_steps = schedule->total_steps});
}

static sh_status on_idle(void *context, bool wait, bool *over)
{
    const training *t = context;
    return sh_crew_idle(t->crew, wait, over);
}

static bool announce(void *context, bool last, uint64_t *view)
{
    const training *t = context;
    return t->crew == NULL || sh_crew_announce(t->crew, last, view);
}

static bool hurry(void *context)
{
    return sh_stop_requested(((const training *)context)->options->stop);
}

/* A launcher that tells a rank to end ends it by force soon after, and where another rank is lost
 * no step comes to its end any more: what there is is saved as of the last one that did. */
static void on_overdue(void *context)
{
    training *t = context;
    if (is_first(t)) {
        sh_replica_lock(t->bench->replica);
        const sh_status status = save(t);
        sh_replica_unlock(t->bench->replica);
        if (status == SH_OK)
            sh_log(SH_LOG_INFO, "checkpoint.written", "step=%llu reason=\"told to end\"",
                   (unsigned long long)t->saved.steps);
        else
            sh_log(SH_LOG_ERROR, "checkpoint.failed", "reason=\"%s\"", sh_message());
    }
    sh_ranks_part(t->ranks, SH_STOPPED, "stopped on request, before the step was complete");
}

/* Whether all ranks have seen the course end so. */
static bool is_shared(sh_status status)
{
    return status == SH_OK || status == SH_NUMERIC || status == SH_DIVERGED;
}

static sh_status run_course(training *t, sh_course *course, sh_ending *ending)
{
    sh_watchdog *watchdog = NULL;
    if (t->ranks == NULL)
        return sh_course_run(course, ending);
    const int patience_ms = is_first(t) ? RANK_PATIENCE_MS : SH_RANKS_LINGER_MS;
    sh_status status = sh_watchdog_start(
        &watchdog, &(sh_watchdog_options){t->options->stop, patience_ms, on_overdue, t});
    if (status == SH_OK)
        status = sh_course_run(course, ending);
    sh_watchdog_stop(watchdog);
    if (!is_shared(status))
        sh_ranks_part(t->ranks, status, sh_message());
    return status;
}

static sh_status train(training *t)
{
    sh_ending ending = SH_ENDING_COMPLETE;
    sh_course course = {
        .bench = t->bench,
        .station = t->crew == NULL ? NULL : sh_crew_station(t->crew),
        .ranks = t->ranks,
        .stop = t->options->stop,
        .on_idle = on_idle,
        .announce = announce,
        .hurry = hurry,
        .on_view = on_view,
        .on_step = is_first(t) ? on_step : NULL,
        .on_validated = is_first(t) ? on_validated : NULL,
        .context = t,
    };
    t->start_steps = t->counted_steps = t->bench->replica->steps;
    const sh_status status = run_course(t, &course, &ending);
    const sh_status end = finish(t, &course, status, ending);
    if (t->ranks != NULL && status == SH_OK && end != SH_OK && end != SH_STOPPED)
        sh_ranks_part(t->ranks, end, sh_message()); /* it has failed by itself */
    return end;
}

static void on_times(void *context, const sh_step_times *times)
{
    const training *t = context;
    if (t->chronicle != NULL)
        sh_recorder_step(sh_chronicle_recorder(t->chronicle), times);
}

static void on_passed(void *context, const sh_stage_outcome *outcome)
{
    const training *t = context;
    if (t->crew != NULL)
        sh_station_passed(sh_crew_station(t->crew), outcome);
}

static sh_status open_crew(training *t)
{
    SH_TRY(sh_run_path(t->run, SH_RUN_TOKEN, t->token_file));
    return sh_crew_open(&t->crew,
                        &(sh_crew_options){
                            .train = t->options,
                            .bench = t->bench,
                            .name = t->name,
                            .token_file = t->options->listen != NULL ? t->token_file : NULL,
                            .devices = t->devices,
                            .min_devices = t->min_devices,
                            .lanes = lanes_of_each(t),
                            .serving = t->serving,
                            .chronicle = t->chronicle,
                        });
}

/* All that may be refused before anything is written. */
static sh_status prepare(training *t)
{
    SH_TRY(open_bench(t));
    SH_TRY(sh_choice_serving(&t->serving, t->options, &t->bench->job));
    if (t->options->profile != SH_PROFILE_OFF)
        t->bench->clock = sh_clock_system();
    SH_TRY(sh_flip_arm(&t->bench->flip, t->name));
    t->bench->shared = has_crew(t) || t->min_devices > 1;
    t->bench->mixed = t->options->mixed;
    t->bench->on_passed = on_passed;
    t->bench->on_times = on_times;
    t->bench->context = t;
    return sh_workbench_start(t->bench, lanes_of_each(t), t->options->memory);
}

/* As local devices are called. */
static void name_rank(training *t)
{
    char name[SH_NAME_BYTES];
    snprintf(name, sizeof name, "%.*s/%u", SH_NAME_BYTES - 12, t->name, sh_ranks_own(t->ranks) + 1);
    memcpy(t->name, name, sizeof name);
}

static sh_status run(training *t)
{
    if (sh_ranks_are_wanted(t->options))
        SH_TRY(sh_ranks_open(&t->ranks));
    if (!is_first(t))
        name_rank(t);
    SH_TRY(sh_ranks_unite(t->ranks, prepare(t)));
    if (t->ranks != NULL)
        SH_TRY(sh_ranks_compare(t->ranks, t->bench));
    SH_TRY(sh_ranks_unite(t->ranks, is_first(t) ? open_records(t) : SH_OK));
    note_memory(t);
    if (has_crew(t))
        SH_TRY(open_crew(t));
    return train(t);
}

/* How the session ended, as the journal has it. */
static void end_records(const training *t, sh_status status, const char *message)
{
    char text[SH_MESSAGE_BYTES + 16];
    snprintf(text, sizeof text, "failed: %s", message);
    sh_chronicle_end(t->chronicle,
                     status == SH_OK        ? "complete"
                     : status == SH_STOPPED ? "stopped"
                                            : text,
                     status == SH_OK ? t->summary->weights_hash : NULL);
}

static void close_all(training *t, sh_status status, const char *message)
{
    if (t->crew != NULL && status != SH_OK && t->start_ns == 0) {
        char text[SH_MESSAGE_BYTES];
        snprintf(text, sizeof text, "the job has ended: %.900s", message);
        sh_crew_fail(t->crew, text);
    }
    sh_crew_close(t->crew);
    end_records(t, status, message);
    note_trouble(t);
    sh_chronicle_close(t->chronicle);
    sh_ranks_close(t->ranks, sh_stop_requested(t->options->stop));
    sh_workbench_close(t->bench);
    sh_log_tap_remove(&t->events);
    sh_scalars_close(&t->scalars);
    sh_run_close(t->run);
}

sh_status sh_train(const sh_train_options *options, sh_summary *summary)
{
    char message[SH_MESSAGE_BYTES];
    sh_train_options asked = *options;
    training t = {
        .options = &asked,
        .devices = options->devices == 0 ? 1 : options->devices,
        .min_devices = devices_at_start(options),
        .summary = summary,
    };
    *summary = (sh_summary){.train_loss = NAN, .val_loss = NAN, .val_accuracy = NAN};
    sh_host_name(t.name);
    if (t.min_devices > SH_DEVICES_MAX)
        return sh_fail(SH_LIMIT, "%u devices: a job has at most %d", t.min_devices, SH_DEVICES_MAX);
    SH_TRY(sh_train_options_complete(&asked));
    pthread_mutex_init(&t.saving, NULL);
    const sh_status status = run(&t);
    snprintf(message, sizeof message, "%s", sh_message());
    const bool silent = !is_first(&t), parted = silent && sh_ranks_parted(t.ranks);
    const uint32_t rank = silent ? sh_ranks_own(t.ranks) : 0;
    close_all(&t, status, message);
    pthread_mutex_destroy(&t.saving);
    if (status != SH_OK && status != SH_STOPPED && status != SH_PEER_LOST)
        sh_summary_release(summary);
    if (status == SH_OK || (silent && !parted)) /* what all have seen rank 0 says */
        return SH_OK;
    return silent ? sh_fail(status, "rank %u: %.1000s", rank, message)
                  : sh_fail(status, "%s", message);
}
