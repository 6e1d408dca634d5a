/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training from start to summary; `sh_train` at the end shows the order.
 *
 * A failed step leaves the weights unchanged, so a checkpoint is always a state between two steps.
 * A temporarily full disk ends nothing; only unsaved weights at the end are a failure.
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
#include "node/job/changes.h"
#include "node/job/lr_range.h"
#include "node/job/new_job.h"
#include "node/job/resume.h"
#include "node/job/run_network.h"
#include "node/job/summary_file.h"
#include "train/class_weights.h"
#include "train/job_json.h"
#include "train/lane_list.h"
#include "train/strategy.h"

#define JOB_FILE_MAX ((size_t)1 << 20)
#define RECONNECT_S 60 /* for a former leader to look for the current one */

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
    sh_checkpoint_interval interval;
    SH_TRY(sh_lr_range_begin(options));
    SH_TRY(sh_device_group_check(options));
    SH_TRY(sh_lanes_check(options->lanes));
    SH_TRY(sh_checkpoint_interval_parse(&interval, options->checkpoint_every));
    const bool apart =
        sh_strategy_parse(&strategy, options->job.strategy) == SH_OK && strategy.row->apart;
    const uint32_t devices = apart ? 1 : sh_device_group_devices(options); /* that share a batch */
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

/* ---- reports of the training loop ------------------------------------------------------------ */

static sh_status on_step(void *context, const sh_progress_report *report)
{
    training *t = context;
    const uint64_t now_ns = sh_clock_now_ns(sh_clock_system());
    sh_event event = sh_progress_event(SH_EVENT_STEP, report, &t->pace, now_ns);
    event.samples_per_second =
        sh_progress_rate(&t->pace, sh_schedule_batch(report->schedule, 0).samples.count, now_ns);
    sh_training_count_samples(t);
    t->summary->train_loss = event.loss;
    sh_lr_range_measure(&event, t->options, report);
    sh_training_note_board(
        t, sh_scalars_step(&t->scalars, sh_training_date(), report, event.samples_per_second));
    sh_run_journal_step(t->journal, report);
    sh_training_note_trouble(t);
    sh_training_observe(t, &event);
    const bool validates = t->session->replica->phase == SH_PHASE_VALIDATION;
    const bool due =
        t->write_failures.kind[SH_WRITE_FAILURE_CHECKPOINT].lasts
            ? sh_write_failures_is_due(&t->write_failures, SH_WRITE_FAILURE_CHECKPOINT, now_ns)
            : sh_checkpoint_interval_is_due(&t->interval, now_ns, report->steps);
    return due && !validates
               ? sh_training_tolerate(t, SH_WRITE_FAILURE_CHECKPOINT, sh_training_checkpoint(t))
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
        return sh_training_complete_retention(t);
    sh_training_note_board(t, sh_scalars_epoch(&t->scalars, sh_training_date(), &event));
    sh_run_journal_epoch(t->journal, &event);
    char *line;
    SH_TRY(sh_summary_epoch(&line, &event));
    const sh_status status = sh_write_failures_append(&t->write_failures, t->run, line);
    free(line);
    SH_TRY(sh_training_tolerate(t, SH_WRITE_FAILURE_METRICS, status));
    return sh_training_tolerate(t, SH_WRITE_FAILURE_CHECKPOINT,
                                sh_training_checkpoint_validated(t));
}

/* Time counts from the first view. */
static void on_view(void *context, uint32_t view, uint32_t devices)
{
    training *t = context;
    const sh_schedule *schedule = sh_trainer_schedule(t->session->trainer);
    const uint64_t step = t->session->replica->steps + 1;
    sh_device_group_enter(t->group, view, step);
    if (t->pace.start_ns != 0)
        return;
    sh_trainer_clear_times(t->session->trainer);
    sh_progress_pace_start(&t->pace, sh_clock_now_ns(sh_clock_system()));
    sh_checkpoint_interval_restart(&t->interval, t->pace.start_ns, step - 1);
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
        sh_hang_guard_set_occupation(t->guard, wait ? SH_OCCUPATION_WAIT : SH_OCCUPATION_STEPS);
    const sh_status status = t->group->ops->idle(t->group, wait, over);
    sh_hang_guard_set_occupation(t->guard, before);
    return status;
}

static bool announce(void *context, bool last, uint64_t *view)
{
    const training *t = context;
    return t->group->ops->announce(t->group, last, view);
}

static bool end_early(void *context)
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
    if (t->group != NULL && t->group->agent != NULL)
        sh_agent_passed(t->group->agent, outcome);
}

static void on_answers(void *context, const sh_answers *answers)
{
    sh_measure_add(((const training *)context)->measure, answers);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* Balanced weights become numbers, which other devices and resumed runs use unchanged. */
static sh_status weigh_classes(sh_session *session)
{
    char *text = session->job.class_weights;
    if (strcmp(text, SH_CLASS_WEIGHTS_BALANCED) != 0)
        return SH_OK;
    return sh_class_weights_balance(text, sh_pipeline_dataset(session->pipeline));
}

static void on_packing(void *context, uint64_t packed, uint64_t samples)
{
    sh_training_observe(
        context, &(sh_event){.kind = SH_EVENT_PACKING, .step = packed, .epoch_steps = samples});
}

static sh_status open_new(training *t, char note[SH_MESSAGE_BYTES])
{
    sh_job_given given = t->options->given;
    const sh_session_data data = {.on_packing = on_packing, .context = t, .given = &given};
    given.batch_size = given.batch_size || t->options->batch_per_device != 0;
    SH_TRY(sh_new_job_open(&t->session, &t->options->job, &data, t->options->pretrained, note));
    return weigh_classes(t->session);
}

/* The lanes of --lanes, or this device's part of the cores. */
static sh_status start_lanes(training *t)
{
    sh_device_group *group = t->group;
    sh_lane_list list;
    SH_TRY(sh_lane_list_parse(&list, t->options->lanes));
    const uint32_t part = sh_host_cores() / group->here;
    if (t->options->lanes == NULL)
        list.cores = part > 0 ? part : 1;
    group->lanes = t->options->lanes;
    if (group->lanes == NULL) {
        snprintf(group->lanes_text, sizeof group->lanes_text, "%u", list.cores);
        group->lanes = group->lanes_text;
    }
    t->session->gpus = list.gpus;
    t->session->gpu_count = list.gpu_count;
    return sh_session_start(t->session, list.cores, t->options->memory);
}

/* Checks everything that may be refused before it writes anything. */
static sh_status prepare(training *t)
{
    const sh_train_options *options = t->options;
    sh_device_group *group = t->group;
    char note[SH_MESSAGE_BYTES];
    if (options->resume != NULL && options->pretrained != NULL)
        return sh_fail(SH_INVALID, "--pretrained with --resume: the checkpoint has the weights; "
                                   "leave --pretrained out, or start a new run");
    SH_TRY(options->resume != NULL ? sh_resume_open(&t->session, &t->before, options, note)
                                   : open_new(t, note));
    if (note[0] != '\0')
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = note});
    if (t->session->choice.why[0] != '\0') {
        snprintf(note, sizeof note, "chosen      %s", t->session->choice.why);
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = note});
    }
    if (t->session->recipe.text[0] != '\0') {
        snprintf(note, sizeof note, "            %s", t->session->recipe.text);
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = note});
    }
    SH_TRY(sh_device_roles_choose(&group->roles, options, &t->session->job));
    if (options->profile != SH_PROFILE_OFF)
        t->session->clock = sh_clock_system();
    SH_TRY(sh_bit_flip_arm(&t->session->flip, group->name));
    t->session->shared = group->may_share;
    t->session->on_passed = on_passed;
    t->session->on_times = on_times;
    t->session->on_answers = on_answers;
    t->session->context = t;
    group->session = t->session;
    return start_lanes(t);
}

static sh_status adopt(training *t)
{
    sh_session *session = t->lead->session;
    sh_device_group *group = t->group;
    t->session = session;
    SH_TRY(sh_device_roles_choose(&group->roles, t->options, &session->job));
    if (session->trained == NULL)
        SH_TRY(sh_trained_text(&session->trained, sh_pipeline_dataset(session->pipeline)));
    session->on_passed = on_passed;
    session->on_times = on_times;
    session->on_answers = on_answers;
    session->context = t;
    sh_session_set_callbacks(session);
    sh_session_reopen(session);
    group->session = session;
    return SH_OK;
}

static sh_status add_changes(const training *t, json_t *json)
{
    char path[SH_PATH_BYTES], *text = NULL;
    SH_TRY(sh_run_path(t->run, SH_RUN_JOB, path));
    if (sh_file_read_own(&text, NULL, path, JOB_FILE_MAX) != SH_OK)
        text = NULL; /* a new run, or an invalid file */
    const sh_status status =
        sh_changes_add(json, text, &t->before, &t->session->job, t->session->replica->steps);
    free(text);
    return status;
}

static sh_status open_run(training *t)
{
    const sh_job *job = &t->session->job;
    const sh_replica *replica = t->session->replica;
    const uint64_t epoch_steps = sh_trainer_schedule(t->session->trainer)->epoch_steps;
    const bool same_folder = t->options->run == NULL && t->options->resume != NULL &&
                             sh_resume_is_run(t->options->resume);
    const char *name = t->group->name;
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
    SH_TRY(sh_run_network_keep(t->run, t->session->network));
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
    SH_TRY(sh_run_journal_open(&t->journal, &(sh_run_journal_options){t->run, t->session, name}));
    t->writer.session = t->session;
    t->writer.folder = t->options->lr_find ? NULL : sh_run_checkpoints(t->run);
    sh_retention_open(&t->retention, sh_run_checkpoints(t->run), t->options->keep);
    if (t->options->resume != NULL)
        SH_TRY(sh_training_complete_retention(t));
    t->group->run = t->run;
    t->group->journal = t->journal;
    return SH_OK;
}

/* ---- the training loop ----------------------------------------------------------------------- */

static sh_status train(training *t)
{
    sh_device_group *group = t->group;
    const bool first = group->rank == 0;
    sh_outcome outcome = SH_OUTCOME_COMPLETE;
    SH_TRY(sh_device_group_agree(group, t->lead != NULL ? adopt(t) : prepare(t)));
    SH_TRY(sh_device_group_compare(group));
    SH_TRY(sh_device_group_agree(group, first ? open_run(t) : SH_OK));
    if (t->options->memory != 0) {
        char text[SH_FOOTPRINT_TEXT];
        sh_footprint_print(text, sh_trainer_footprint(t->session->trainer), t->options->memory);
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    }
    SH_TRY(sh_device_group_assemble(group));
    sh_memory_trim();
    sh_training_loop training_loop = {
        .session = t->session,
        .agent = group->agent,
        .engine = group->engine,
        .stop = t->options->stop,
        .on_idle = on_idle,
        .announce = group->ops->announce != NULL ? announce : NULL,
        .end_early = end_early,
        .on_view = on_view,
        .on_step = first ? on_step : NULL,
        .on_validated = first ? on_validated : NULL,
        .context = t,
    };
    if (group->agent == NULL)
        training_loop.share = sh_device_group_share(group);
    t->start_steps = t->counted_steps = t->session->replica->steps;
    sh_hang_guard_watch_lanes(t->guard, sh_trainer_lanes(t->session->trainer));
    sh_hang_guard_set_savable(t->guard, true);
    sh_hang_guard_set_occupation(t->guard, SH_OCCUPATION_STEPS);
    const sh_status status = sh_device_group_run(group, &training_loop, &outcome);
    sh_hang_guard_set_occupation(t->guard, SH_OCCUPATION_FILES);
    return sh_training_finish(t, &training_loop, status, outcome);
}

/* Closes everything except the session. */
static sh_status tell_story(training *t, sh_endpoint *moved)
{
    char message[SH_MESSAGE_BYTES], last[SH_MESSAGE_BYTES];
    char failed[SH_MESSAGE_BYTES + 16];
    const sh_train_options *options = t->options;
    sh_summary *summary = t->summary;
    *moved = (sh_endpoint){0};
    SH_TRY(sh_checkpoint_interval_parse(&t->interval, options->checkpoint_every));
    SH_TRY(sh_device_group_open(&t->group, options));
    t->group->save_now = sh_training_save_now;
    t->group->context = t;
    if (t->lead != NULL) {
        t->group->failover = t->lead->failover;
        snprintf(t->group->name, sizeof t->group->name, "%s", t->lead->name);
    }
    sh_checkpoint_writer_init(&t->writer);

    sh_status status =
        t->group->may_be_killed
            ? SH_OK
            : sh_hang_guard_start(&t->guard, &(sh_hang_guard_options){
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

    sh_hang_guard_set_occupation(t->guard, SH_OCCUPATION_WAIT);
    const sh_status end = sh_device_group_dismiss(t->group, status, message);
    snprintf(last, sizeof last, "%s", sh_message());
    sh_hang_guard_set_occupation(t->guard, SH_OCCUPATION_FILES);
    sh_hang_guard_set_savable(t->guard, false);
    snprintf(failed, sizeof failed, "failed: %s", message);
    if (t->group->moved.port != 0) {
        *moved = t->group->moved;
        t->token = t->group->token;
        memcpy(t->name, t->group->name, sizeof t->name);
    }
    sh_run_journal_end(t->journal,
                       status == SH_OK             ? "complete"
                       : status == SH_STOPPED      ? "stopped"
                       : t->group->moved.port != 0 ? "moved"
                                                   : failed,
                       status == SH_OK ? summary->weights_hash : NULL);
    sh_training_note_trouble(t);
    sh_run_journal_close(t->journal);
    const bool stopped = status == SH_STOPPED;
    const bool concludes = t->group->rank == 0 && t->has_checkpoint &&
                           (status == SH_OK || (stopped && !t->group->may_be_killed));
    sh_device_group_close(t->group, sh_stop_requested(options->stop));
    t->group = NULL;
    if (concludes)
        sh_training_conclude(t, stopped);
    sh_hang_guard_watch_lanes(t->guard, NULL);
    sh_log_tap_remove(&t->events);
    sh_tensorboard_close(t->scalars.file);
    sh_write_failures_release(&t->write_failures);
    sh_run_close(t->run);
    sh_hang_guard_stop(t->guard);
    sh_checkpoint_writer_release(&t->writer);
    if (status != SH_OK && status != SH_STOPPED && status != SH_PEER_LOST && status != SH_ABORTED)
        sh_summary_release(summary);
    return end == SH_OK ? SH_OK : sh_fail(end, "%s", last);
}

sh_status sh_lead(sh_summary *summary, sh_endpoint *moved, bool *whole,
                  const sh_lead_options *options)
{
    const sh_failover_state *failover = options->failover;
    const sh_join_options *device = options->device;
    char listen[SH_TOKEN_HOST + 16], used[SH_STANDBY_TEXT];
    sh_train_options asked;
    training t = {.options = &asked, .lead = options, .summary = summary};
    *summary =
        (sh_summary){.train_loss = NAN, .val_loss = NAN, .val_accuracy = NAN, .val_mae = NAN};
    sh_train_options_init(&asked);
    snprintf(listen, sizeof listen, "[%s]:%u", failover->own.host, (unsigned)failover->own.port);
    asked.job = options->session->job;
    sh_standby_print(failover->used, used);
    asked.devices_used = used;
    asked.audit = failover->audit;
    asked.listen = listen;
    asked.run = options->run;
    asked.lanes = device->lanes;
    asked.memory = device->memory;
    asked.stop = device->stop;
    asked.observer = device->observer;
    asked.context = device->context;
    const sh_status status = tell_story(&t, moved);
    *whole = t.moved_whole;
    return status;
}

static sh_status follow(training *t, const sh_endpoint *endpoint)
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
    snprintf(summary->model, sizeof summary->model, "%s", t->session->job.model);
    snprintf(summary->data, sizeof summary->data, "%s", t->session->job.data);
    if (options->resume != NULL && summary->run[0] == '\0')
        snprintf(summary->run, sizeof summary->run, "%s", options->resume);
    const sh_status status = sh_follow(&result, &(sh_follow_options){.device = &device,
                                                                     .name = t->name,
                                                                     .token = &t->token,
                                                                     .session = t->session,
                                                                     .whole = t->moved_whole,
                                                                     .endpoint = *endpoint});
    t->session = NULL;
    if (!result.took_part)
        return status != SH_OK
                   ? status
                   : sh_fail(SH_PEER_LOST, "another device ended the job before this one had its "
                                           "last weights: they are in the run's folder there");
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
    const uint32_t devices = sh_device_group_devices(options);
    sh_train_options asked = *options;
    training t = {.options = &asked, .summary = summary};
    sh_endpoint moved;
    *summary =
        (sh_summary){.train_loss = NAN, .val_loss = NAN, .val_accuracy = NAN, .val_mae = NAN};
    if (devices > SH_DEVICES_MAX)
        return sh_fail(SH_LIMIT, "%u devices: a job has at most %d", devices, SH_DEVICES_MAX);
    SH_TRY(sh_train_options_complete(&asked));
    sh_status status = tell_story(&t, &moved);
    if (moved.port != 0)
        status = follow(&t, &moved);
    sh_session_close(t.session);
    sh_token_wipe(&t.token);
    return status;
}
