/* SPDX-License-Identifier: Apache-2.0 */
#include "node/record/run_journal.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/host.h"
#include "base/log.h"
#include "shoal/about.h"
#include "train/job_json.h"

struct sh_run_journal {
    sh_journal *store;
    sh_telemetry *telemetry;
    sh_log_tap events;

    pthread_mutex_t lock; /* guards all below */
    bool has_note, lost, has_newest;
    sh_sample newest;
    char note[SH_MESSAGE_BYTES];
    uint32_t view, seat_count;
    sh_seat seats[SH_DEVICES_MAX];
};

static uint64_t now_ns(void)
{
    return sh_clock_now_ns(sh_clock_system());
}

/* ---- notes and events ------------------------------------------------------------------------ */

static void on_trouble(void *context, const char *text)
{
    sh_run_journal *journal = context;
    pthread_mutex_lock(&journal->lock);
    snprintf(journal->note, sizeof journal->note, "%s", text);
    journal->has_note = true;
    pthread_mutex_unlock(&journal->lock);
}

static void on_log(void *context, sh_log_level level, const char *line)
{
    const sh_run_journal *journal = context;
    (void)level;
    sh_journal_line(journal->store, now_ns(), line);
}

static void on_own_batch(void *context, const sh_telemetry_batch *batch)
{
    sh_run_journal *journal = context;
    sh_run_journal_batch(journal, 0, batch);
    if (batch->sample_count == 0)
        return;
    pthread_mutex_lock(&journal->lock);
    journal->newest = batch->samples[batch->sample_count - 1];
    journal->has_newest = true;
    pthread_mutex_unlock(&journal->lock);
}

bool sh_run_journal_newest(sh_run_journal *journal, sh_sample *sample)
{
    if (journal == NULL)
        return false;
    pthread_mutex_lock(&journal->lock);
    const bool has = journal->has_newest;
    if (has)
        *sample = journal->newest;
    pthread_mutex_unlock(&journal->lock);
    return has;
}

/* ---- life ------------------------------------------------------------------------------------ */

sh_status sh_run_journal_open(sh_run_journal **journal, const sh_run_journal_options *options)
{
    const sh_session *session = options->session;
    const sh_replica *replica = session->replica;
    const sh_schedule *schedule = sh_trainer_schedule(session->trainer);
    const struct timespec date = sh_clock_date();
    const uint64_t checkpoint_bytes =
        (replica->weight_count + replica->summed_count * replica->slot_count) * sizeof(float);
    char *job = NULL;
    sh_status status;
    sh_run_journal *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the run's journal");
    pthread_mutex_init(&fresh->lock, NULL);
    SH_TRY_DONE(sh_job_to_text(&job, &session->job));
    SH_TRY_DONE(sh_journal_open(
        &fresh->store,
        &(sh_journal_options){
            .folder = sh_run_folder(options->run),
            .version = sh_version(),
            .run =
                {
                    .model = session->job.model,
                    .data = session->job.data,
                    .job = job,
                    .parameters = sh_model_parameters(replica->graph),
                    .steps = schedule->total_steps,
                    .epoch_steps = schedule->epoch_steps,
                    .epochs = (uint32_t)((schedule->total_steps + schedule->epoch_steps - 1) /
                                         schedule->epoch_steps),
                    .grains = sh_job_grains(&session->job),
                },
            .start_step = replica->steps,
            .reserve_bytes = 2 * checkpoint_bytes + (1 << 20), /* two checkpoints */
            .clock = sh_clock_system(),
            .date = (double)date.tv_sec + 1e-9 * (double)date.tv_nsec,
            .on_trouble = on_trouble,
            .context = fresh,
        }));
    fresh->events = (sh_log_tap){.lowest = SH_LOG_INFO, .sink = on_log, .context = fresh};
    sh_log_tap_add(&fresh->events);
    sh_journal_device(fresh->store, &(sh_journal_device_row){
                                        .device = 0,
                                        .at_ns = now_ns(),
                                        .name = options->name,
                                        .lanes = sh_lanes_count(sh_trainer_lanes(session->trainer)),
                                        .cores = sh_host_cores(),
                                    });
    SH_TRY_DONE(sh_telemetry_open(&fresh->telemetry, &(sh_telemetry_options){on_own_batch, fresh}));
    *journal = fresh;
done:
    free(job);
    if (status != SH_OK)
        sh_run_journal_close(fresh);
    return status;
}

void sh_run_journal_close(sh_run_journal *journal)
{
    if (journal == NULL)
        return;
    sh_telemetry_close(journal->telemetry);
    sh_log_tap_remove(&journal->events);
    sh_journal_close(journal->store);
    pthread_mutex_destroy(&journal->lock);
    free(journal);
}

sh_telemetry *sh_run_journal_telemetry(const sh_run_journal *journal)
{
    return journal == NULL ? NULL : journal->telemetry;
}

bool sh_run_journal_note(sh_run_journal *journal, char text[SH_MESSAGE_BYTES])
{
    if (journal == NULL)
        return false;
    pthread_mutex_lock(&journal->lock);
    const bool has = journal->has_note;
    if (has)
        memcpy(text, journal->note, SH_MESSAGE_BYTES);
    journal->has_note = false;
    pthread_mutex_unlock(&journal->lock);
    return has;
}

/* ---- devices and views ----------------------------------------------------------------------- */

void sh_run_journal_device(sh_run_journal *journal, uint32_t device, const char *name,
                           uint32_t lanes)
{
    if (journal != NULL)
        sh_journal_device(journal->store,
                          &(sh_journal_device_row){device, now_ns(), name, lanes, 0});
}

void sh_run_journal_gone(sh_run_journal *journal, uint32_t device, const char *reason)
{
    if (journal != NULL)
        sh_journal_device_gone(journal->store, device, now_ns(), reason);
}

void sh_run_journal_lost(sh_run_journal *journal)
{
    if (journal == NULL)
        return;
    pthread_mutex_lock(&journal->lock);
    journal->lost = true;
    pthread_mutex_unlock(&journal->lock);
}

/* Caller locks. */
static const char *reason_for(const sh_run_journal *journal, const sh_seat *seats, uint32_t count)
{
    bool joined = false, left = false, moved = false;
    for (uint32_t i = 0; i < count; i++) {
        const sh_seat *before = sh_seat_of(journal->seats, journal->seat_count, seats[i].device);
        joined = joined || before == NULL;
        moved = moved || (before != NULL && before->share.count != seats[i].share.count);
    }
    for (uint32_t i = 0; i < journal->seat_count; i++)
        left = left || sh_seat_of(seats, count, journal->seats[i].device) == NULL;
    if (journal->seat_count == 0)
        return "start";
    if (left)
        return journal->lost ? "loss" : "leave";
    return joined ? "join" : moved ? "shares" : "links";
}

void sh_run_journal_view(sh_run_journal *journal, uint32_t view, uint64_t step,
                         const sh_seat *seats, uint32_t count)
{
    if (journal == NULL || count == 0)
        return;
    pthread_mutex_lock(&journal->lock);
    const char *reason = reason_for(journal, seats, count);
    memcpy(journal->seats, seats, count * sizeof *seats);
    journal->seat_count = count;
    journal->view = view;
    journal->lost = false;
    pthread_mutex_unlock(&journal->lock);
    for (uint32_t i = 0; i < count; i++)
        sh_journal_view(journal->store, &(sh_journal_view_row){
                                            .view = view,
                                            .device = seats[i].device,
                                            .at_ns = now_ns(),
                                            .step = step,
                                            .grains = seats[i].share.count,
                                            .reason = reason,
                                        });
}

/* ---- figures --------------------------------------------------------------------------------- */

void sh_run_journal_batch(sh_run_journal *journal, uint32_t device, const sh_telemetry_batch *batch)
{
    if (journal == NULL)
        return;
    for (uint32_t i = 0; i < batch->sample_count; i++)
        sh_journal_sample(journal->store, device, &batch->samples[i]);
    for (uint32_t i = 0; i < batch->step_count; i++)
        sh_journal_work(journal->store, device, &batch->steps[i]);
    if (batch->dropped > 0) {
        char text[96];
        snprintf(text, sizeof text, "%u records came faster than they could be passed on",
                 batch->dropped);
        sh_journal_event(journal->store, now_ns(), device, "records.dropped", text);
    }
}

void sh_run_journal_step(sh_run_journal *journal, const sh_progress_report *report)
{
    if (journal == NULL)
        return;
    const sh_sum_totals *totals = &report->totals;
    const sh_figures figures =
        sh_figures_of(&report->scale, totals->loss, totals->score, totals->samples);
    sh_journal_step(journal->store, &(sh_journal_step_row){
                                        .step = report->steps,
                                        .at_ns = now_ns(),
                                        .merged = report->applied,
                                        .view = report->view,
                                        .epoch = report->batch.epoch + 1,
                                        .samples = (uint32_t)report->totals.samples,
                                        .redone = report->redone,
                                        .loss = figures.loss,
                                        .accuracy = figures.accuracy,
                                    });
}

void sh_run_journal_epoch(sh_run_journal *journal, const sh_event *event)
{
    if (journal != NULL)
        sh_journal_epoch(journal->store, &(sh_journal_epoch_row){
                                             .step = event->total_step,
                                             .at_ns = now_ns(),
                                             .epoch = event->epoch,
                                             .loss = event->loss,
                                             .accuracy = event->accuracy,
                                             .val_loss = event->val_loss,
                                             .val_accuracy = event->val_accuracy,
                                             .seconds = event->seconds,
                                         });
}

void sh_run_journal_end(sh_run_journal *journal, const char *status, const char *weights_hash)
{
    if (journal == NULL)
        return;
    sh_journal_end(journal->store, status, weights_hash);
    sh_journal_flush(journal->store); /* so that later failures are recorded */
}
