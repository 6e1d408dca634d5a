/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training from start to summary; `sh_train` at the end shows the order. The company
 * (node/job/company.h) handles other devices. Only rank 0 has a run folder and an observer.
 *
 * Writes job.json at the start, events as they happen, a checkpoint and a line of metrics after
 * each validation, checkpoints within an epoch (node/job/cadence), and one when the training is
 * stopped or a device is lost. A failed step leaves the weights unchanged, so a checkpoint is
 * always a state between two steps. A temporarily full disk ends nothing (node/job/setbacks); only
 * unsaved weights at the end are a failure.
 */
#include "node/job/train_impl.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "base/memory.h"
#include "data/trained.h"
#include "node/job/beginning.h"
#include "node/job/changes.h"
#include "node/job/rate_trial.h"
#include "node/job/resume.h"
#include "node/job/run_network.h"
#include "node/job/summary_file.h"
#include "train/class_weights.h"
#include "train/job_json.h"
#include "train/lane_list.h"
#include "train/strategy.h"

#define JOB_FILE_MAX ((size_t)1 << 20)
#define RECONNECT_S 60 /* time in which a former leader looks for the current one */

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

/* A batch per device becomes the job's global batch and does not change when devices join. */
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
        return sh_fail(SH_INVALID, "--batch-per-device %u: too many samples on %u devices",
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

/* ---- reports of the course ------------------------------------------------------------------- */

static sh_status on_step(void *context, const sh_progress_report *report)
{
    training *t = context;
    const uint64_t now_ns = sh_clock_now_ns(sh_clock_system());
    sh_event event = sh_progress_event(SH_EVENT_STEP, report, &t->pace, now_ns);
    event.samples_per_second =
        sh_progress_rate(&t->pace, sh_schedule_batch(report->schedule, 0).samples.count, now_ns);
    sh_training_count_samples(t);
    t->summary->train_loss = event.loss;
    sh_rate_trial_measure(&event, t->options, report);
    sh_training_note_board(
        t, sh_scalars_step(&t->scalars, sh_training_date(), report, event.samples_per_second));
    sh_run_journal_step(t->journal, report);
    sh_training_note_trouble(t);
    sh_training_observe(t, &event);
    const bool validates = t->bench->replica->phase == SH_PHASE_VALIDATION; /* saves it too */
    const bool due = t->setbacks.kind[SH_SETBACK_CHECKPOINT].lasts
                         ? sh_setbacks_is_due(&t->setbacks, SH_SETBACK_CHECKPOINT, now_ns)
                         : sh_cadence_is_due(&t->cadence, now_ns, report->steps);
    return due && !validates ? sh_training_bear(t, SH_SETBACK_CHECKPOINT, sh_training_checkpoint(t))
                             : SH_OK;
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
    sh_training_observe(t, &event);
    if (report->steps == t->start_steps) /* nothing was left to do; all is written */
        return sh_training_complete_kept(t);
    sh_training_note_board(t, sh_scalars_epoch(&t->scalars, sh_training_date(), &event));
    sh_run_journal_epoch(t->journal, &event);
    char *line;
    SH_TRY(sh_summary_epoch(&line, &event));
    const sh_status status = sh_setbacks_append(&t->setbacks, t->run, line);
    free(line);
    SH_TRY(sh_training_bear(t, SH_SETBACK_METRICS, status));
    return sh_training_bear(t, SH_SETBACK_CHECKPOINT, sh_training_checkpoint_validated(t));
}

/* Time counts from the first view. */
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
    sh_training_observe(t,
                        &(sh_event){.kind = SH_EVENT_STARTED,
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
    if (t->company != NULL && t->company->agent != NULL)
        sh_agent_passed(t->company->agent, outcome);
}

static void on_answers(void *context, const sh_answers *answers)
{
    sh_measure_add(((const training *)context)->measure, answers);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Balanced weights become numbers in the job, which other devices and resumed runs use
 * unchanged. */
static sh_status weigh_classes(sh_workbench *bench)
{
    char *text = bench->job.class_weights;
    if (strcmp(text, SH_CLASS_WEIGHTS_BALANCED) != 0)
        return SH_OK;
    return sh_class_weights_balance(text, sh_pipeline_dataset(bench->pipeline));
}

static void on_packing(void *context, uint64_t packed, uint64_t samples)
{
    sh_training_observe(
        context, &(sh_event){.kind = SH_EVENT_PACKING, .step = packed, .epoch_steps = samples});
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

/* Checks everything that may be refused before it writes anything. */
static sh_status prepare(training *t)
{
    const sh_train_options *options = t->options;
    sh_company *company = t->company;
    char note[SH_MESSAGE_BYTES];
    if (options->resume != NULL && options->pretrained != NULL)
        return sh_fail(SH_INVALID, "--pretrained with --resume: the checkpoint has the weights; "
                                   "leave --pretrained out, or start a new run");
    SH_TRY(options->resume != NULL ? sh_resume_open(&t->bench, &t->before, options, note)
                                   : open_new(t, note));
    if (note[0] != '\0')
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = note});
    if (t->bench->choice.why[0] != '\0') {
        snprintf(note, sizeof note, "chosen      %s", t->bench->choice.why);
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = note});
    }
    if (t->bench->recipe.text[0] != '\0') {
        snprintf(note, sizeof note, "            %s", t->bench->recipe.text);
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = note});
    }
    SH_TRY(sh_duties_choose(&company->duties, options, &t->bench->job));
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

/* A former follower already has what a training needs. */
static sh_status adopt(training *t)
{
    sh_workbench *bench = t->lead->bench;
    sh_company *company = t->company;
    t->bench = bench;
    SH_TRY(sh_duties_choose(&company->duties, t->options, &bench->job));
    if (bench->trained == NULL)
        SH_TRY(sh_trained_text(&bench->trained, sh_pipeline_dataset(bench->pipeline)));
    bench->on_passed = on_passed;
    bench->on_times = on_times;
    bench->on_answers = on_answers;
    bench->context = t;
    sh_workbench_hear(bench);
    sh_workbench_reopen(bench);
    company->bench = bench;
    return SH_OK;
}

static sh_status add_changes(const training *t, json_t *json)
{
    char path[SH_PATH_BYTES], *text = NULL;
    SH_TRY(sh_run_path(t->run, SH_RUN_JOB, path));
    if (sh_file_read_own(&text, NULL, path, JOB_FILE_MAX) != SH_OK)
        text = NULL; /* a new run, or an invalid file */
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
    sh_training_observe(t, &(sh_event){.kind = SH_EVENT_RUN, .text = sh_run_folder(t->run)});
    SH_TRY(status);
    if (t->options->tensorboard) {
        t->scalars.epoch = (uint32_t)(replica->steps / epoch_steps);
        if (replica->steps % epoch_steps != 0) /* else they belong to the previous epoch */
            t->scalars.seen = replica->epoch;
        sh_training_note_failure(
            t, sh_tensorboard_open(&t->scalars.file, &(sh_tensorboard_options){
                                                         .folder = sh_run_folder(t->run),
                                                         .host = name,
                                                         .at = sh_training_date(),
                                                         .start_step = replica->steps,
                                                     }));
    }
    SH_TRY(sh_run_journal_open(&t->journal, &(sh_run_journal_options){t->run, t->bench, name}));
    t->saves.bench = t->bench;
    t->saves.folder = t->options->lr_find ? NULL : sh_run_checkpoints(t->run);
    sh_kept_open(&t->kept, sh_run_checkpoints(t->run), t->options->keep);
    if (t->options->resume != NULL)
        SH_TRY(sh_training_complete_kept(t));
    t->company->run = t->run;
    t->company->journal = t->journal;
    return SH_OK;
}

/* ---- the course ------------------------------------------------------------------------------ */

static sh_status train(training *t)
{
    sh_company *company = t->company;
    const bool first = company->rank == 0;
    sh_ending ending = SH_ENDING_COMPLETE;
    SH_TRY(sh_company_unite(company, t->lead != NULL ? adopt(t) : prepare(t)));
    SH_TRY(sh_company_compare(company));
    SH_TRY(sh_company_unite(company, first ? open_run(t) : SH_OK));
    if (t->options->memory != 0) { /* the effects of the limit */
        char text[SH_FOOTPRINT_TEXT];
        sh_footprint_print(text, sh_trainer_footprint(t->bench->trainer), t->options->memory);
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    }
    SH_TRY(sh_company_assemble(company));
    sh_memory_trim(); /* used only by the start */
    sh_course course = {
        .bench = t->bench,
        .agent = company->agent,
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
    if (company->agent == NULL)
        course.share = sh_company_share(company);
    t->start_steps = t->counted_steps = t->bench->replica->steps;
    sh_vigil_watch(t->vigil, sh_trainer_lanes(t->bench->trainer));
    sh_vigil_offer(t->vigil, true);
    sh_vigil_note(t->vigil, SH_OCCUPATION_STEPS);
    const sh_status status = sh_company_run(company, &course, &ending);
    sh_vigil_note(t->vigil, SH_OCCUPATION_FILES);
    return sh_training_finish(t, &course, status, ending);
}

/* Closes everything except the bench. */
static sh_status tell_story(training *t, sh_door *moved)
{
    char message[SH_MESSAGE_BYTES], last[SH_MESSAGE_BYTES];
    char failed[SH_MESSAGE_BYTES + 16]; /* for the journal */
    const sh_train_options *options = t->options;
    sh_summary *summary = t->summary;
    *moved = (sh_door){0};
    SH_TRY(sh_cadence_parse(&t->cadence, options->checkpoint_every));
    SH_TRY(sh_company_open(&t->company, options));
    t->company->save_now = sh_training_save_now;
    t->company->context = t;
    if (t->lead != NULL) {
        t->company->legacy = t->lead->legacy;
        snprintf(t->company->name, sizeof t->company->name, "%s", t->lead->name);
    }
    sh_saves_init(&t->saves);

    sh_status status = t->company->may_be_killed
                           ? SH_OK
                           : sh_vigil_start(&t->vigil, &(sh_vigil_options){
                                                           .stop = options->stop,
                                                           .others = "the other devices",
                                                           .save = sh_training_rescue,
                                                           .context = t,
                                                           .observer = options->observer,
                                                           .observer_context = options->context,
                                                       });
    if (status == SH_OK)
        status = train(t);
    if (status == SH_OK && t->lead != NULL)
        status = t->lead->at_end(t->lead->context);
    snprintf(message, sizeof message, "%s", sh_message());

    sh_vigil_note(t->vigil, SH_OCCUPATION_WAIT);
    const sh_status end = sh_company_dismiss(t->company, status, message);
    snprintf(last, sizeof last, "%s", sh_message());
    sh_vigil_note(t->vigil, SH_OCCUPATION_FILES);
    sh_vigil_offer(t->vigil, false);
    snprintf(failed, sizeof failed, "failed: %s", message);
    if (t->company->moved.port != 0) {
        *moved = t->company->moved;
        t->token = t->company->token;
        memcpy(t->name, t->company->name, sizeof t->name);
    }
    sh_run_journal_end(t->journal,
                       status == SH_OK               ? "complete"
                       : status == SH_STOPPED        ? "stopped"
                       : t->company->moved.port != 0 ? "moved"
                                                     : failed,
                       status == SH_OK ? summary->weights_hash : NULL);
    sh_training_note_trouble(t);
    sh_run_journal_close(t->journal);
    const bool stopped = status == SH_STOPPED;
    const bool concludes = t->company->rank == 0 && t->has_checkpoint &&
                           (status == SH_OK || (stopped && !t->company->may_be_killed));
    sh_company_close(t->company, sh_stop_requested(options->stop));
    t->company = NULL;
    if (concludes)
        sh_training_conclude(t, stopped);
    sh_vigil_watch(t->vigil, NULL);
    sh_log_tap_remove(&t->events);
    sh_tensorboard_close(t->scalars.file);
    sh_setbacks_release(&t->setbacks);
    sh_run_close(t->run);
    sh_vigil_stop(t->vigil);
    sh_saves_release(&t->saves);
    if (status != SH_OK && status != SH_STOPPED && status != SH_PEER_LOST && status != SH_ABORTED)
        sh_summary_release(summary);
    return end == SH_OK ? SH_OK : sh_fail(end, "%s", last);
}

sh_status sh_lead(sh_summary *summary, sh_door *moved, bool *whole, const sh_lead_options *options)
{
    const sh_legacy *legacy = options->legacy;
    const sh_join_options *device = options->device;
    char listen[SH_TOKEN_HOST + 16], used[SH_STANDBY_TEXT];
    sh_train_options asked;
    training t = {.options = &asked, .lead = options, .summary = summary};
    *summary =
        (sh_summary){.train_loss = NAN, .val_loss = NAN, .val_accuracy = NAN, .val_mae = NAN};
    sh_train_options_init(&asked);
    snprintf(listen, sizeof listen, "[%s]:%u", legacy->own.host, (unsigned)legacy->own.port);
    asked.job = options->bench->job;
    sh_standby_print(legacy->used, used);
    asked.devices_used = used;
    asked.listen = listen;
    asked.run = device->run;
    asked.lanes = device->lanes;
    asked.memory = device->memory;
    asked.stop = device->stop;
    asked.observer = device->observer;
    asked.context = device->context;
    const sh_status status = tell_story(&t, moved);
    *whole = t.moved_whole;
    return status;
}

/* Another device continues the job: takes its result. */
static sh_status follow(training *t, const sh_door *door)
{
    sh_summary *summary = t->summary;
    const sh_train_options *options = t->options;
    const sh_join_options device = {
        .lanes = options->lanes,
        .memory = options->memory,
        .reconnect_s = RECONNECT_S,
        .stop = options->stop,
        .observer = options->observer,
        .context = options->context,
    };
    sh_join_result result = {0};
    snprintf(summary->model, sizeof summary->model, "%s", t->bench->job.model);
    snprintf(summary->data, sizeof summary->data, "%s", t->bench->job.data);
    if (options->resume != NULL && summary->run[0] == '\0')
        snprintf(summary->run, sizeof summary->run, "%s", options->resume);
    const sh_status status = sh_follow(&result, &(sh_follow_options){.device = &device,
                                                                     .name = t->name,
                                                                     .token = &t->token,
                                                                     .bench = t->bench,
                                                                     .whole = t->moved_whole,
                                                                     .door = *door});
    t->bench = NULL; /* handed over */
    if (!result.took_part)
        return status;
    summary->steps = result.steps;
    summary->epochs = result.epochs;
    summary->train_loss = result.train_loss;
    summary->val_loss = result.val_loss;
    summary->val_accuracy = result.val_accuracy;
    summary->val_mae = result.val_mae;
    memcpy(summary->weights_hash, result.weights_hash, sizeof summary->weights_hash);
    return status;
}

sh_status sh_train(const sh_train_options *options, sh_summary *summary)
{
    const uint32_t devices = sh_company_devices(options);
    sh_train_options asked = *options;
    training t = {.options = &asked, .summary = summary};
    sh_door moved;
    *summary =
        (sh_summary){.train_loss = NAN, .val_loss = NAN, .val_accuracy = NAN, .val_mae = NAN};
    if (devices > SH_DEVICES_MAX)
        return sh_fail(SH_LIMIT, "%u devices: a job has at most %d", devices, SH_DEVICES_MAX);
    SH_TRY(sh_train_options_complete(&asked));
    sh_status status = tell_story(&t, &moved);
    if (moved.port != 0)
        status = follow(&t, &moved);
    sh_workbench_close(t.bench);
    sh_token_wipe(&t.token);
    return status;
}
