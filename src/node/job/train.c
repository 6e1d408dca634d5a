/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training from its start to its summary; `sh_train` at the end tells the story in order. With
 * whom this device trains is the company's business (node/job/company.h). Of ranks the first one
 * alone has a run's folder and an observer.
 *
 * Written are: job.json at the start; events as they happen; a checkpoint and a line of metrics
 * after every validation; a checkpoint now and then within an epoch (node/job/cadence); one when
 * the training is stopped or a device is lost. A step that fails leaves the weights as they were,
 * so a checkpoint is always a state between two steps. A disk that is full for a while ends nothing
 * (node/job/setbacks); only weights that cannot be saved at the end are a failure.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "base/memory.h"
#include "node/job/appraisal.h"
#include "node/job/beginning.h"
#include "node/job/cadence.h"
#include "node/job/changes.h"
#include "node/job/company.h"
#include "node/job/handover.h"
#include "node/job/kept.h"
#include "node/job/progress_events.h"
#include "node/job/rate_trial.h"
#include "node/job/resume.h"
#include "node/job/run_network.h"
#include "node/job/saves.h"
#include "node/job/setbacks.h"
#include "node/job/summary_file.h"
#include "node/record/scalars.h"
#include "store/checkpoint.h"
#include "store/run.h"
#include "train/class_weights.h"
#include "train/job_json.h"
#include "train/lane_list.h"
#include "train/strategy.h"

#define JOB_FILE_MAX ((size_t)1 << 20)
#define LAST_PASS_S 20 /* most that a pass over the validation samples may take after a stop */

typedef struct training {
    const sh_train_options *options;
    sh_company *company;
    sh_run *run;         /* NULL for ranks but the first, as the journal */
    bool has_checkpoint; /* in the run's folder */
    sh_saves saves;
    sh_kept kept;
    sh_cadence cadence;
    sh_setbacks setbacks;
    sh_log_tap events; /* into the run's folder while it is open */
    sh_scalars scalars;
    sh_measure *measure; /* that gets the lanes' answers; NULL: none */
    sh_workbench *bench;
    sh_run_journal *journal;
    sh_job before;   /* the job of the checkpoint that it goes on from */
    sh_vigil *vigil; /* NULL for ranks, which the launcher ends */

    /* The course under way. */
    sh_progress_pace pace;
    uint64_t start_steps;
    uint64_t counted_steps; /* whose samples are in the summary */
    sh_summary *summary;
} training;

void sh_train_options_init(sh_train_options *options)
{
    *options = (sh_train_options){0};
    sh_job_init(&options->job);
}

sh_status sh_lanes_check(const char *lanes)
{
    sh_lane_list list;
    return sh_lane_list_parse(&list, lanes);
}

/* A batch for each device becomes the job's global batch, and stays that, whoever joins. */
sh_status sh_train_options_complete(sh_train_options *options)
{
    sh_strategy strategy;
    sh_cadence cadence;
    SH_TRY(sh_rate_trial_begin(options));
    SH_TRY(sh_company_check(options));
    SH_TRY(sh_lanes_check(options->lanes));
    SH_TRY(sh_cadence_parse(&cadence, options->checkpoint_every));
    const bool apart =
        sh_strategy_parse(&strategy, options->job.strategy) == SH_OK && strategy.row->apart;
    const uint32_t devices = apart ? 1 : sh_company_devices(options); /* that share a batch */
    const uint64_t samples = (uint64_t)options->batch_per_device * devices;
    if (samples > UINT32_MAX)
        return sh_fail(SH_INVALID, "--batch-per-device %u: on %u devices too many samples",
                       options->batch_per_device, devices);
    if (samples > 0)
        options->job.batch_size = (uint32_t)samples;
    if (options->resume != NULL)
        return SH_OK;
    if (samples == 0)
        return sh_job_complete(&options->job);
    return sh_fail_in(sh_job_complete(&options->job), "--batch-per-device %u on %u devices",
                      options->batch_per_device, devices);
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

/* ---- checkpoints ----------------------------------------------------------------------------- */

static sh_status checkpoint(training *t)
{
    char path[SH_PATH_BYTES];
    if (t->options->lr_find)
        return SH_OK;
    const sh_occupation before = sh_vigil_note(t->vigil, SH_OCCUPATION_FILES);
    const sh_status status = sh_saves_write(&t->saves, t->company->may_be_killed);
    sh_vigil_note(t->vigil, before);
    SH_TRY(status);
    t->has_checkpoint = true;
    sh_cadence_restart(&t->cadence, sh_clock_now_ns(sh_clock_system()), t->bench->replica->steps);
    SH_TRY(sh_path_join(path, sh_run_checkpoints(t->run), SH_CHECKPOINT_LAST));
    sh_log(SH_LOG_INFO, "checkpoint.written", "step=%llu file=\"%s\"",
           (unsigned long long)t->bench->replica->steps, path);
    observe(t, &(sh_event){.kind = SH_EVENT_CHECKPOINT, .text = path});
    return SH_OK;
}

/* The checkpoint of a validation, which stays where it is the best. */
static sh_status checkpoint_validated(training *t)
{
    const sh_replica *replica = t->bench->replica;
    const sh_best now = sh_best_now(&replica->best, &t->bench->job);
    const uint64_t epoch_steps = sh_trainer_schedule(t->bench->trainer)->epoch_steps;
    SH_TRY(checkpoint(t));
    if (sh_kept_lacks(&t->kept, &now, replica->steps))
        sh_appraisal_forget(t->run);
    SH_TRY(sh_kept_validated(&t->kept, &now, replica->steps));
    return replica->steps % epoch_steps == 0
               ? sh_kept_epoch(&t->kept, (uint32_t)(replica->steps / epoch_steps))
               : SH_OK;
}

/* The last call was killed before the best checkpoint was kept, or the checkpoint is from another
 * run. */
static sh_status complete_kept(training *t)
{
    const sh_replica *replica = t->bench->replica;
    const sh_best now = sh_best_now(&replica->best, &t->bench->job);
    return sh_kept_lacks(&t->kept, &now, replica->steps) ? checkpoint_validated(t) : SH_OK;
}

/* Called on another thread: neither the step nor this process may come to its end. */
static void save_now(void *context)
{
    sh_saves_write_now(&((training *)context)->saves);
}

/* Likewise, where the step's thread hangs. */
static void rescue(void *context, sh_rescue *rescue)
{
    training *t = context;
    sh_saves_rescue(&t->saves, t->company->station, rescue);
    sh_run_journal_end(t->journal, "stopped", NULL);
}

/* Whether the training goes on after a write, and tells what the user should know of it. */
static sh_status bear(training *t, sh_setback kind, sh_status status)
{
    char text[SH_MESSAGE_BYTES];
    SH_TRY(sh_setbacks_note(&t->setbacks, kind, status, sh_clock_now_ns(sh_clock_system()), text));
    if (text[0] == '\0')
        return SH_OK;
    sh_log(status == SH_OK ? SH_LOG_INFO : SH_LOG_WARN,
           status == SH_OK ? "disk.works" : "disk.failed", "text=\"%s\"", text);
    observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    return SH_OK;
}

/* ---- what the course tells ------------------------------------------------------------------- */

/* All steps count, also those that this device did not apply itself. */
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

static void note_board(training *t, sh_status status)
{
    if (status != SH_OK || !sh_tensorboard_is_failing(t->scalars.file)) /* else not tried yet */
        note_failure(t, bear(t, SH_SETBACK_BOARD, status));
}

/* Trouble with the journal. */
static void note_trouble(const training *t)
{
    char text[SH_MESSAGE_BYTES];
    if (sh_run_journal_note(t->journal, text))
        observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
}

static sh_status on_step(void *context, const sh_progress_report *report)
{
    training *t = context;
    const uint64_t now_ns = sh_clock_now_ns(sh_clock_system());
    sh_event event = sh_progress_event(SH_EVENT_STEP, report, &t->pace, now_ns);
    event.samples_per_second =
        sh_progress_rate(&t->pace, sh_schedule_batch(report->schedule, 0).samples.count, now_ns);
    count_samples(t);
    t->summary->train_loss = event.loss;
    sh_rate_trial_measure(&event, t->options, report);
    note_board(t, sh_scalars_step(&t->scalars, date(), report, event.samples_per_second));
    sh_run_journal_step(t->journal, report);
    note_trouble(t);
    observe(t, &event);
    const bool validates = t->bench->replica->phase == SH_PHASE_VALIDATION; /* saves it too */
    const bool due = t->setbacks.kind[SH_SETBACK_CHECKPOINT].lasts
                         ? sh_setbacks_is_due(&t->setbacks, SH_SETBACK_CHECKPOINT, now_ns)
                         : sh_cadence_is_due(&t->cadence, now_ns, report->steps);
    return due && !validates ? bear(t, SH_SETBACK_CHECKPOINT, checkpoint(t)) : SH_OK;
}

static sh_status on_validated(void *context, const sh_progress_report *report,
                              const sh_sum_totals *validation)
{
    training *t = context;
    sh_event event =
        sh_progress_validated(report, validation, &t->pace, sh_clock_now_ns(sh_clock_system()));
    event.samples_per_second = (double)t->summary->samples / event.seconds;
    t->summary->train_loss = event.loss;
    t->summary->val_loss = event.val_loss;
    t->summary->val_accuracy = event.val_accuracy;
    t->summary->val_mae = event.val_mae;
    t->summary->numbers = event.numbers;
    observe(t, &event);
    if (report->steps == t->start_steps) /* nothing was left to do: all is written already */
        return complete_kept(t);
    note_board(t, sh_scalars_epoch(&t->scalars, date(), &event));
    sh_run_journal_epoch(t->journal, &event);
    char *line;
    SH_TRY(sh_summary_epoch(&line, &event));
    const sh_status status = sh_setbacks_append(&t->setbacks, t->run, line);
    free(line);
    SH_TRY(bear(t, SH_SETBACK_METRICS, status));
    return bear(t, SH_SETBACK_CHECKPOINT, checkpoint_validated(t));
}

/* The first view of the devices: from here on time counts. */
static void on_view(void *context, uint32_t view, uint32_t devices)
{
    training *t = context;
    const sh_schedule *schedule = sh_trainer_schedule(t->bench->trainer);
    const uint64_t step = t->bench->replica->steps + 1;
    sh_company_enter(t->company, view, step);
    if (t->pace.start_ns != 0)
        return;
    sh_trainer_clear_times(t->bench->trainer);
    sh_progress_pace_start(&t->pace, sh_clock_now_ns(sh_clock_system()));
    sh_cadence_restart(&t->cadence, t->pace.start_ns, step - 1);
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
    const sh_occupation before =
        sh_vigil_note(t->vigil, wait ? SH_OCCUPATION_WAIT : SH_OCCUPATION_STEPS);
    const sh_status status = t->company->ops->idle(t->company, wait, over);
    sh_vigil_note(t->vigil, before);
    return status;
}

static bool announce(void *context, bool last, uint64_t *view)
{
    const training *t = context;
    return t->company->ops->announce(t->company, last, view);
}

static bool hurry(void *context)
{
    return sh_stop_requested(((const training *)context)->options->stop);
}

static void on_times(void *context, const sh_step_times *times)
{
    const training *t = context;
    sh_telemetry_step(sh_run_journal_telemetry(t->journal), times);
}

static void on_passed(void *context, const sh_stage_outcome *outcome)
{
    const training *t = context;
    if (t->company != NULL && t->company->station != NULL)
        sh_station_passed(t->company->station, outcome);
}

static void on_answers(void *context, const sh_answers *answers)
{
    sh_measure_add(((const training *)context)->measure, answers);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Balanced weights become numbers of the job, which other devices and resumed runs take as they
 * are. */
static sh_status weigh_classes(sh_workbench *bench)
{
    char *text = bench->job.class_weights;
    if (strcmp(text, SH_CLASS_WEIGHTS_BALANCED) != 0)
        return SH_OK;
    return sh_class_weights_balance(text, sh_pipeline_dataset(bench->pipeline));
}

static void on_packing(void *context, uint64_t packed, uint64_t samples)
{
    observe(context, &(sh_event){.kind = SH_EVENT_PACKING, .step = packed, .epoch_steps = samples});
}

static sh_status open_new(training *t, char note[SH_MESSAGE_BYTES])
{
    sh_job_given given = t->options->given;
    const sh_workbench_data data = {.on_packing = on_packing, .context = t, .given = &given};
    given.batch_size = given.batch_size || t->options->batch_per_device != 0;
    SH_TRY(sh_beginning_open(&t->bench, &t->options->job, &data, t->options->pretrained, note));
    return weigh_classes(t->bench);
}

/* Compiles for this device's lanes: those of --lanes, or its part of the cores. */
static sh_status start_lanes(training *t)
{
    sh_company *company = t->company;
    sh_lane_list list;
    SH_TRY(sh_lane_list_parse(&list, t->options->lanes));
    const uint32_t part = sh_host_cores() / company->here;
    if (t->options->lanes == NULL)
        list.cores = part > 0 ? part : 1;
    company->lanes = t->options->lanes;
    if (company->lanes == NULL) {
        snprintf(company->lanes_text, sizeof company->lanes_text, "%u", list.cores);
        company->lanes = company->lanes_text;
    }
    t->bench->gpus = list.gpus;
    t->bench->gpu_count = list.gpu_count;
    return sh_workbench_start(t->bench, list.cores, t->options->memory);
}

/* All that may be refused before anything is written. */
static sh_status prepare(training *t)
{
    const sh_train_options *options = t->options;
    sh_company *company = t->company;
    char note[SH_MESSAGE_BYTES];
    if (options->resume != NULL && options->pretrained != NULL)
        return sh_fail(SH_INVALID, "--pretrained with --resume: the checkpoint has the weights; "
                                   "leave --pretrained out, or begin a new run");
    SH_TRY(options->resume != NULL ? sh_resume_open(&t->bench, &t->before, options, note)
                                   : open_new(t, note));
    if (note[0] != '\0')
        observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = note});
    if (t->bench->choice.why[0] != '\0') {
        snprintf(note, sizeof note, "chosen      %s", t->bench->choice.why);
        observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = note});
    }
    if (t->bench->recipe.text[0] != '\0') {
        snprintf(note, sizeof note, "            %s", t->bench->recipe.text);
        observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = note});
    }
    SH_TRY(sh_company_choose_servers(&company->serving, options, &t->bench->job));
    if (options->profile != SH_PROFILE_OFF)
        t->bench->clock = sh_clock_system();
    SH_TRY(sh_flip_arm(&t->bench->flip, company->name));
    t->bench->shared = company->may_share;
    t->bench->on_passed = on_passed;
    t->bench->on_times = on_times;
    t->bench->on_answers = on_answers;
    t->bench->context = t;
    company->bench = t->bench;
    return start_lanes(t);
}

/* What the job was changed in, now and when it was resumed before. */
static sh_status add_changes(const training *t, json_t *json)
{
    char path[SH_PATH_BYTES], *text = NULL;
    SH_TRY(sh_run_path(t->run, SH_RUN_JOB, path));
    if (sh_file_read_own(&text, NULL, path, JOB_FILE_MAX) != SH_OK)
        text = NULL; /* a new run, or a file that is none */
    const sh_status status =
        sh_changes_add(json, text, &t->before, &t->bench->job, t->bench->replica->steps);
    free(text);
    return status;
}

static sh_status open_run(training *t)
{
    const sh_job *job = &t->bench->job;
    const sh_replica *replica = t->bench->replica;
    const uint64_t epoch_steps = sh_trainer_schedule(t->bench->trainer)->epoch_steps;
    const bool same_folder = t->options->run == NULL && t->options->resume != NULL &&
                             sh_resume_is_run(t->options->resume);
    const char *name = t->company->name;
    json_t *json;
    t->has_checkpoint = same_folder;
    SH_TRY(sh_run_open(&t->run,
                       &(sh_run_options){.path = same_folder ? t->options->resume : t->options->run,
                                         .model = job->model,
                                         .data = job->data,
                                         .now = sh_clock_date().tv_sec,
                                         .resume = same_folder}));
    t->events = (sh_log_tap){.lowest = SH_LOG_INFO, .sink = sh_run_log_sink, .context = t->run};
    sh_log_tap_add(&t->events);
    SH_TRY(sh_run_network_keep(t->run, t->bench->network));
    SH_TRY(sh_job_to_json(&json, job));
    sh_status status = t->options->resume != NULL ? add_changes(t, json) : SH_OK;
    if (status == SH_OK)
        status = sh_run_write_json(t->run, SH_RUN_JOB, json);
    json_decref(json);
    observe(t, &(sh_event){.kind = SH_EVENT_RUN, .text = sh_run_folder(t->run)});
    SH_TRY(status);
    if (t->options->tensorboard) {
        t->scalars.epoch = (uint32_t)(replica->steps / epoch_steps);
        if (replica->steps % epoch_steps != 0) /* else they are those of the epoch before */
            t->scalars.seen = replica->epoch;
        note_failure(t, sh_tensorboard_open(&t->scalars.file, &(sh_tensorboard_options){
                                                                  .folder = sh_run_folder(t->run),
                                                                  .host = name,
                                                                  .at = date(),
                                                                  .start_step = replica->steps,
                                                              }));
    }
    SH_TRY(sh_run_journal_open(&t->journal, &(sh_run_journal_options){t->run, t->bench, name}));
    t->saves.bench = t->bench;
    t->saves.folder = t->options->lr_find ? NULL : sh_run_checkpoints(t->run);
    sh_kept_open(&t->kept, sh_run_checkpoints(t->run), t->options->keep);
    if (t->options->resume != NULL)
        SH_TRY(complete_kept(t));
    t->company->run = t->run;
    t->company->journal = t->journal;
    return SH_OK;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* What each device has done, in the summary; all ranks together. */
static sh_status report_devices(training *t)
{
    sh_summary *summary = t->summary;
    const sh_trainer_work work = sh_trainer_work_done(t->bench->trainer);
    sh_device_report own = {
        .grains = work.grains,
        .samples = work.samples,
        .cpu_seconds = sh_process_cpu_seconds(),
        .peak_rss_bytes = sh_process_peak_rss_bytes(),
    };
    memcpy(own.name, t->company->name, sizeof own.name);
    summary->planned_bytes = sh_footprint_total(sh_trainer_footprint(t->bench->trainer));
    SH_TRY(sh_company_reports(t->company, &own, &summary->devices, &summary->device_count));
    for (size_t i = 0; i < summary->device_count; i++)
        if (summary->peak_rss_bytes < summary->devices[i].peak_rss_bytes)
            summary->peak_rss_bytes = summary->devices[i].peak_rss_bytes;
    return SH_OK;
}

static sh_status path_of(char path[SH_RUN_BYTES], const training *t, const char *name)
{
    char full[SH_PATH_BYTES];
    SH_TRY(sh_path_join(full, sh_run_checkpoints(t->run), name));
    snprintf(path, SH_RUN_BYTES, "%.*s", SH_RUN_BYTES - 1, full);
    return SH_OK;
}

/* Which epoch was the best, and where its weights are. */
static sh_status summarise_best(training *t)
{
    sh_summary *summary = t->summary;
    const sh_job *job = &t->bench->job;
    const uint64_t epoch_steps = sh_trainer_schedule(t->bench->trainer)->epoch_steps;
    const sh_best now = sh_best_now(&t->bench->replica->best, job);
    memcpy(summary->monitor, job->monitor, sizeof summary->monitor);
    summary->best_value = (double)NAN;
    if (now.steps > 0) {
        summary->best_epoch = (uint32_t)((now.steps + epoch_steps - 1) / epoch_steps);
        summary->best_steps = now.steps;
        summary->best_value = sh_best_shown(job, now.value);
    }
    if (t->has_checkpoint)
        SH_TRY(path_of(summary->last_file, t, SH_CHECKPOINT_LAST));
    if (now.steps > 0 && t->kept.best_steps == now.steps)
        SH_TRY(path_of(summary->best_file, t, SH_CHECKPOINT_BEST));
    return SH_OK;
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
    summary->first_steps = t->start_steps;
    summary->epoch_steps = sh_trainer_schedule(t->bench->trainer)->epoch_steps;
    summary->epochs = (uint32_t)(replica->steps / summary->epoch_steps);
    if (t->pace.start_ns != 0) {
        summary->train_seconds = seconds_since(t->pace.start_ns);
        summary->samples_per_second = (double)summary->samples / summary->train_seconds;
    }
    summary->redone_steps = course->redone_steps;
    summary->views = course->views;
    if (t->pace.start_ns != 0 && t->bench->clock != NULL)
        SH_TRY(sh_trainer_profile(t->bench->trainer, &summary->profile, t->options->profile));
    SH_TRY(sh_replica_hash(replica, summary->weights_hash));
    SH_TRY(report_devices(t));
    SH_TRY(summarise_best(t));
    const sh_status status = sh_summary_file_write(t->run, summary, ending);
    if (sh_setbacks_may_pass(status))
        note_failure(t, status);
    return sh_setbacks_may_pass(status) ? SH_OK : status;
}

/* After a failure that leaves good weights: saves them, and says where to go on. */
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

/* After a failure that leaves nothing to save: the other devices hear why. */
static sh_status give_up(const training *t, sh_status status)
{
    char message[SH_MESSAGE_BYTES];
    const char *remedy = status == SH_NUMERIC ? "; try a smaller --lr" : "";
    snprintf(message, sizeof message, "%s", sh_message());
    sh_company_fail(t->company, message);
    if (!t->has_checkpoint)
        return sh_fail(status, "%.900s%s; there is no checkpoint yet", message, remedy);
    return sh_fail(status, "%.700s%s; the last checkpoint in %.200s is whole", message, remedy,
                   sh_run_folder(t->run));
}

/* Patience is at its end, though the job has steps left. */
static void note_early_end(training *t)
{
    char text[SH_MESSAGE_BYTES], more[64] = "";
    const sh_job *job = &t->bench->job;
    const sh_replica *replica = t->bench->replica;
    const unsigned long long stale = sh_best_now(&replica->best, job).stale;
    if (replica->steps >= sh_trainer_schedule(t->bench->trainer)->total_steps)
        return;
    if (job->min_delta > 0)
        snprintf(more, sizeof more, " by more than %g", (double)job->min_delta);
    snprintf(text, sizeof text, "stopped early: no better %s%s for %llu epoch%s", job->monitor,
             more, stale, stale == 1 ? "" : "s");
    sh_log(SH_LOG_INFO, "job.stopped_early", "step=%llu text=\"%s\"",
           (unsigned long long)replica->steps, text);
    observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    t->summary->stopped_early = true;
}

/* What a full disk has left undone: the last checkpoint has to be written, the rest is told. */
static sh_status write_rest(training *t)
{
    char text[SH_MESSAGE_BYTES];
    const sh_best now = sh_best_now(&t->bench->replica->best, &t->bench->job);
    if (t->setbacks.kind[SH_SETBACK_CHECKPOINT].lasts) {
        SH_TRY(checkpoint_validated(t));
        SH_TRY(bear(t, SH_SETBACK_CHECKPOINT, SH_OK));
    }
    SH_TRY(bear(t, SH_SETBACK_METRICS, sh_setbacks_append(&t->setbacks, t->run, NULL)));
    if (t->scalars.file != NULL)
        note_board(t, sh_tensorboard_flush(t->scalars.file));
    if (sh_setbacks_left(&t->setbacks, text))
        observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    if (!t->options->lr_find && now.steps > 0 && t->kept.best_steps != now.steps)
        observe(t, &(sh_event){.kind = SH_EVENT_NOTE,
                               .text = "the best weights could not be saved when they were the "
                                       "best: the model's files have the last ones"});
    return SH_OK;
}

static sh_status finish(training *t, const sh_course *course, sh_status status, sh_ending ending)
{
    if (t->company->rank != 0) { /* the first one says it all */
        SH_TRY(status);
        SH_TRY(report_devices(t));
        sh_summary_release(t->summary);
        return SH_OK;
    }
    if (!course->whole)
        return give_up(t, status != SH_OK ? status
                                          : sh_fail(SH_PEER_LOST, "the job ended while this device "
                                                                  "took the replica from others"));
    if (status == SH_OK && ending == SH_ENDING_COMPLETE) {
        note_early_end(t);
        status = write_rest(t);
        return status == SH_OK ? summarise(t, course, "complete") : give_up(t, status);
    }
    if (status == SH_OK)
        return save_after(t, course, sh_fail(SH_STOPPED, "stopped on request"), "stopped");
    if (status == SH_STOPPED)
        return save_after(t, course, status, "stopped");
    if (status == SH_PEER_LOST)
        return save_after(t, course, status, "device lost");
    return give_up(t, status);
}

/* From here on everything else is written, so a failure is a note. */
static void note_missing(const training *t, const char *event)
{
    char text[SH_MESSAGE_BYTES];
    snprintf(text, sizeof text, "the best weights are not measured: %.700s; shoal eval %.200s does",
             sh_message(), t->summary->run);
    sh_log(SH_LOG_WARN, event, "reason=\"%s\"", sh_message());
    observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
}

/* When all other devices have left, the best weights take the place of the last ones: what they
 * are worth, and as files for other programs. */
static void conclude(training *t, bool stopped)
{
    sh_summary *summary = t->summary;
    sh_workbench *bench = t->bench;
    const bool held = t->kept.best_steps == bench->replica->steps;
    const sh_appraisal asked = {
        .bench = bench,
        .measure = &t->measure,
        .run = t->run,
        .limit_s = stopped ? LAST_PASS_S : 0,
    };
    if (!held && summary->best_file[0] != '\0' &&
        sh_appraisal_hold(bench->replica, summary->best_file) != SH_OK) {
        note_missing(t, "best.unreadable");
        return;
    }
    note_failure(t, sh_handover_write(t->run, &(sh_model_source){.job = &bench->job,
                                                                 .replica = bench->replica,
                                                                 .trained_text = bench->trained}));
    if (summary->best_epoch > 0 && sh_appraisal_write(&summary->metrics, &asked) != SH_OK)
        note_missing(t, "figures.missing");
}

/* ---- the story ------------------------------------------------------------------------------- */

static sh_status train(training *t)
{
    sh_company *company = t->company;
    const bool first = company->rank == 0;
    sh_ending ending = SH_ENDING_COMPLETE;
    SH_TRY(sh_company_unite(company, prepare(t)));
    SH_TRY(sh_company_compare(company));
    SH_TRY(sh_company_unite(company, first ? open_run(t) : SH_OK));
    if (t->options->memory != 0) { /* what the limit has led to */
        char text[SH_FOOTPRINT_TEXT];
        sh_footprint_print(text, sh_trainer_footprint(t->bench->trainer), t->options->memory);
        observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    }
    SH_TRY(sh_company_assemble(company));
    sh_memory_trim(); /* of what only the start has used */
    sh_course course = {
        .bench = t->bench,
        .station = company->station,
        .engine = company->engine,
        .stop = t->options->stop,
        .on_idle = on_idle,
        .announce = company->ops->announce != NULL ? announce : NULL,
        .hurry = hurry,
        .on_view = on_view,
        .on_step = first ? on_step : NULL,
        .on_validated = first ? on_validated : NULL,
        .context = t,
    };
    if (company->station == NULL)
        course.share = sh_company_share(company);
    t->start_steps = t->counted_steps = t->bench->replica->steps;
    sh_vigil_watch(t->vigil, sh_trainer_lanes(t->bench->trainer));
    sh_vigil_offer(t->vigil, true);
    sh_vigil_note(t->vigil, SH_OCCUPATION_STEPS);
    const sh_status status = sh_company_run(company, &course, &ending);
    sh_vigil_note(t->vigil, SH_OCCUPATION_FILES);
    return finish(t, &course, status, ending);
}

sh_status sh_train(const sh_train_options *options, sh_summary *summary)
{
    char message[SH_MESSAGE_BYTES], last[SH_MESSAGE_BYTES];
    char failed[SH_MESSAGE_BYTES + 16]; /* as the journal has it */
    const uint32_t devices = sh_company_devices(options);
    sh_train_options asked = *options;
    training t = {.options = &asked, .summary = summary};
    *summary =
        (sh_summary){.train_loss = NAN, .val_loss = NAN, .val_accuracy = NAN, .val_mae = NAN};
    if (devices > SH_DEVICES_MAX)
        return sh_fail(SH_LIMIT, "%u devices: a job has at most %d", devices, SH_DEVICES_MAX);
    SH_TRY(sh_train_options_complete(&asked));
    SH_TRY(sh_cadence_parse(&t.cadence, asked.checkpoint_every));
    SH_TRY(sh_company_open(&t.company, &asked));
    t.company->save_now = save_now;
    t.company->context = &t;
    sh_saves_init(&t.saves);

    sh_status status = t.company->may_be_killed
                           ? SH_OK
                           : sh_vigil_start(&t.vigil, &(sh_vigil_options){
                                                          .stop = options->stop,
                                                          .others = "the other devices",
                                                          .save = rescue,
                                                          .context = &t,
                                                          .observer = options->observer,
                                                          .observer_context = options->context,
                                                      });
    if (status == SH_OK)
        status = train(&t);
    snprintf(message, sizeof message, "%s", sh_message());

    sh_vigil_note(t.vigil, SH_OCCUPATION_WAIT);
    const sh_status end = sh_company_dismiss(t.company, status, message);
    snprintf(last, sizeof last, "%s", sh_message());
    sh_vigil_note(t.vigil, SH_OCCUPATION_FILES);
    sh_vigil_offer(t.vigil, false);
    snprintf(failed, sizeof failed, "failed: %s", message);
    sh_run_journal_end(t.journal,
                       status == SH_OK        ? "complete"
                       : status == SH_STOPPED ? "stopped"
                                              : failed,
                       status == SH_OK ? summary->weights_hash : NULL);
    note_trouble(&t);
    sh_run_journal_close(t.journal);
    const bool stopped = status == SH_STOPPED;
    const bool concludes = t.company->rank == 0 && t.has_checkpoint &&
                           (status == SH_OK || (stopped && !t.company->may_be_killed));
    sh_company_close(t.company, sh_stop_requested(options->stop));
    t.company = NULL;
    if (concludes)
        conclude(&t, stopped);
    sh_vigil_watch(t.vigil, NULL);
    sh_workbench_close(t.bench);
    sh_log_tap_remove(&t.events);
    sh_tensorboard_close(t.scalars.file);
    sh_setbacks_release(&t.setbacks);
    sh_run_close(t.run);
    sh_vigil_stop(t.vigil);
    sh_saves_release(&t.saves);
    if (status != SH_OK && status != SH_STOPPED && status != SH_PEER_LOST)
        sh_summary_release(summary);
    return end == SH_OK ? SH_OK : sh_fail(end, "%s", last);
}
