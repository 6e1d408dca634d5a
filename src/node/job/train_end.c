/* SPDX-License-Identifier: Apache-2.0 */
#include "node/job/train_impl.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/job/final_model.h"
#include "node/job/run_evaluation.h"
#include "node/job/summary_file.h"
#include "store/checkpoint.h"

#define LAST_PASS_S 20 /* time limit of a validation after a stop */

static double seconds_since(uint64_t start_ns)
{
    return (double)(sh_clock_now_ns(sh_clock_system()) - start_ns) * 1e-9;
}

/* A collective call of all ranks. */
static sh_status report_devices(training *t)
{
    sh_summary *summary = t->summary;
    const sh_trainer_work work = sh_trainer_work_done(t->session->trainer);
    sh_device_report own = {
        .grains = work.grains,
        .samples = work.samples,
        .cpu_seconds = sh_process_cpu_seconds(),
        .peak_rss_bytes = sh_process_peak_rss_bytes(),
    };
    memcpy(own.name, t->group->name, sizeof own.name);
    summary->planned_bytes = sh_footprint_total(sh_trainer_footprint(t->session->trainer));
    SH_TRY(sh_device_group_reports(t->group, &own, &summary->devices, &summary->device_count));
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

static sh_status summarise_best(training *t)
{
    sh_summary *summary = t->summary;
    const sh_job *job = &t->session->job;
    const uint64_t epoch_steps = sh_trainer_schedule(t->session->trainer)->epoch_steps;
    const sh_best now = sh_best_now(&t->session->replica->best, job);
    memcpy(summary->monitor, job->monitor, sizeof summary->monitor);
    summary->best_value = (double)NAN;
    if (now.steps > 0) {
        summary->best_epoch = (uint32_t)((now.steps + epoch_steps - 1) / epoch_steps);
        summary->best_steps = now.steps;
        summary->best_value = sh_best_shown(job, now.value);
    }
    if (t->has_checkpoint)
        SH_TRY(path_of(summary->last_file, t, SH_CHECKPOINT_LAST));
    if (now.steps > 0 && t->retention.best_steps == now.steps)
        SH_TRY(path_of(summary->best_file, t, SH_CHECKPOINT_BEST));
    return SH_OK;
}

static sh_status summarise(training *t, const sh_training_loop *training_loop, const char *outcome)
{
    sh_summary *summary = t->summary;
    const sh_replica *replica = t->session->replica;
    snprintf(summary->model, sizeof summary->model, "%s", t->session->job.model);
    snprintf(summary->data, sizeof summary->data, "%s", t->session->job.data);
    summary->wire = t->session->job.wire;
    snprintf(summary->run, sizeof summary->run, "%.*s", SH_RUN_BYTES - 1, sh_run_folder(t->run));
    summary->parameters = sh_model_parameters(replica->graph);
    summary->steps = replica->steps;
    sh_training_count_samples(t);
    summary->first_steps = t->start_steps;
    summary->epoch_steps = sh_trainer_schedule(t->session->trainer)->epoch_steps;
    summary->epochs = (uint32_t)(replica->steps / summary->epoch_steps);
    if (t->pace.start_ns != 0) {
        summary->train_seconds = seconds_since(t->pace.start_ns);
        summary->samples_per_second = (double)summary->samples / summary->train_seconds;
    }
    summary->redone_steps = training_loop->redone_steps;
    summary->views = training_loop->views;
    if (t->pace.start_ns != 0 && t->session->clock != NULL)
        SH_TRY(sh_trainer_profile(t->session->trainer, &summary->profile, t->options->profile));
    SH_TRY(sh_replica_hash(replica, summary->weights_hash));
    SH_TRY(report_devices(t));
    SH_TRY(summarise_best(t));
    const sh_status status = sh_summary_file_write(t->run, summary, outcome);
    if (sh_write_failures_may_pass(status))
        sh_training_note_failure(t, status);
    return sh_write_failures_may_pass(status) ? SH_OK : status;
}

/* The weights are valid: saves them and says how to continue. */
static sh_status save_after(training *t, const sh_training_loop *training_loop, sh_status status,
                            const char *outcome)
{
    char message[SH_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", sh_message());
    SH_TRY(sh_fail_in(sh_training_checkpoint(t), "%s; and the checkpoint failed", message));
    SH_TRY(summarise(t, training_loop, outcome));
    return sh_fail(status, "%.900s; saved at step %llu", message,
                   (unsigned long long)t->session->replica->steps);
}

static sh_status give_up(const training *t, sh_status status)
{
    char message[SH_MESSAGE_BYTES];
    const char *remedy = status == SH_NUMERIC ? "; try a smaller --lr" : "";
    snprintf(message, sizeof message, "%s", sh_message());
    sh_device_group_fail(t->group, message);
    if (!t->has_checkpoint)
        return sh_fail(status, "%.900s%s; there is no checkpoint yet", message, remedy);
    return sh_fail(status, "%.700s%s; the last checkpoint in %.200s is intact", message, remedy,
                   sh_run_folder(t->run));
}

static void note_early_end(training *t)
{
    char text[SH_MESSAGE_BYTES], more[64] = "";
    const sh_job *job = &t->session->job;
    const sh_replica *replica = t->session->replica;
    const unsigned long long stale = sh_best_now(&replica->best, job).stale;
    if (replica->steps >= sh_trainer_schedule(t->session->trainer)->total_steps)
        return;
    if (job->min_delta > 0)
        snprintf(more, sizeof more, " by more than %g", (double)job->min_delta);
    snprintf(text, sizeof text, "stopped early: %s did not improve%s for %llu epoch%s",
             job->monitor, more, stale, stale == 1 ? "" : "s");
    sh_log(SH_LOG_INFO, "job.stopped_early", "step=%llu text=\"%s\"",
           (unsigned long long)replica->steps, text);
    sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    t->summary->stopped_early = true;
}

/* After a full disk: the last checkpoint is required, the rest is reported. */
static sh_status write_rest(training *t)
{
    char text[SH_MESSAGE_BYTES];
    const sh_best now = sh_best_now(&t->session->replica->best, &t->session->job);
    if (t->write_failures.kind[SH_WRITE_FAILURE_CHECKPOINT].lasts) {
        SH_TRY(sh_training_checkpoint_validated(t));
        SH_TRY(sh_training_tolerate(t, SH_WRITE_FAILURE_CHECKPOINT, SH_OK));
    }
    SH_TRY(sh_training_tolerate(t, SH_WRITE_FAILURE_METRICS,
                                sh_write_failures_append(&t->write_failures, t->run, NULL)));
    if (t->scalars.file != NULL)
        sh_training_note_board(t, sh_tensorboard_flush(t->scalars.file));
    if (sh_write_failures_left(&t->write_failures, text))
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    if (!t->options->lr_find && now.steps > 0 && t->retention.best_steps != now.steps)
        sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE,
                                           .text = "the best weights could not be saved at that "
                                                   "time: the model's files have the last ones"});
    return SH_OK;
}

sh_status sh_training_finish(training *t, const sh_training_loop *training_loop, sh_status status,
                             sh_outcome outcome)
{
    if (t->group->rank != 0) { /* the first rank reports */
        SH_TRY(status);
        SH_TRY(report_devices(t));
        sh_summary_release(t->summary);
        return SH_OK;
    }
    if (status == SH_ABORTED && t->group->moved.port != 0) {
        t->moved_whole = training_loop->whole;
        return training_loop->whole ? save_after(t, training_loop, status, "moved") : status;
    }
    if (!training_loop->whole)
        return give_up(
            t, status != SH_OK
                   ? status
                   : sh_fail(SH_PEER_LOST, "the job ended while this device received the replica"));
    if (status == SH_OK && outcome == SH_OUTCOME_COMPLETE) {
        note_early_end(t);
        status = write_rest(t);
        return status == SH_OK ? summarise(t, training_loop, "complete") : give_up(t, status);
    }
    if (status == SH_OK)
        return save_after(t, training_loop, sh_fail(SH_STOPPED, "stopped on request"), "stopped");
    if (status == SH_STOPPED)
        return save_after(t, training_loop, status, "stopped");
    if (status == SH_PEER_LOST)
        return save_after(t, training_loop, status, "device lost");
    return give_up(t, status);
}

static void note_missing(const training *t, const char *event)
{
    char text[SH_MESSAGE_BYTES];
    snprintf(text, sizeof text, "the best weights are not measured: %.700s; use shoal eval %.200s",
             sh_message(), t->summary->run);
    sh_log(SH_LOG_WARN, event, "reason=\"%s\"", sh_message());
    sh_training_observe(t, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
}

void sh_training_conclude(training *t, bool stopped)
{
    sh_summary *summary = t->summary;
    sh_session *session = t->session;
    const bool held = t->retention.best_steps == session->replica->steps;
    const sh_run_evaluation asked = {
        .session = session,
        .measure = &t->measure,
        .run = t->run,
        .limit_s = stopped ? LAST_PASS_S : 0,
    };
    if (!held && summary->best_file[0] != '\0' &&
        sh_run_evaluation_load(session->replica, summary->best_file) != SH_OK) {
        note_missing(t, "best.unreadable");
        return;
    }
    sh_training_note_failure(
        t, sh_final_model_write(t->run, &(sh_model_source){.job = &session->job,
                                                           .replica = session->replica,
                                                           .trained_text = session->trained}));
    if (summary->best_epoch > 0 && sh_run_evaluation_write(&summary->metrics, &asked) != SH_OK)
        note_missing(t, "figures.missing");
}
