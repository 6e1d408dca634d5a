/* SPDX-License-Identifier: Apache-2.0 */
#include "node/chronicle.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/host.h"
#include "shoal/about.h"
#include "train/snapshot.h"

struct sh_chronicle {
    sh_journal *journal;
    sh_recorder *recorder;
    sh_log_tap events;

    pthread_mutex_t lock; /* guards all below */
    bool has_note, lost;
    char note[SH_MESSAGE_BYTES];
    uint32_t view, seat_count;
    sh_seat seats[SH_DEVICES_MAX];
};

static uint64_t now_ns(void)
{
    return sh_clock_now_ns(sh_clock_system());
}

/* ---- what it hears by itself ----------------------------------------------------------------- */

static void on_trouble(void *context, const char *text)
{
    sh_chronicle *chronicle = context;
    pthread_mutex_lock(&chronicle->lock);
    snprintf(chronicle->note, sizeof chronicle->note, "%s", text);
    chronicle->has_note = true;
    pthread_mutex_unlock(&chronicle->lock);
}

static void on_log(void *context, sh_log_level level, const char *line)
{
    const sh_chronicle *chronicle = context;
    (void)level;
    sh_journal_line(chronicle->journal, now_ns(), line);
}

static void on_own_records(void *context, const sh_records *records)
{
    sh_chronicle_records(context, 0, records);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* That of the next one, and as much to spare. */
static uint64_t room_of_checkpoints(const sh_replica *replica)
{
    return 2 * (replica->weight_count + replica->summed_count * replica->slot_count) *
               sizeof(float) +
           (1 << 20);
}

static sh_status open_journal(sh_chronicle *chronicle, const sh_chronicle_options *options,
                              const char *job_text)
{
    const sh_job *job = &options->bench->job;
    const sh_schedule *schedule = sh_trainer_schedule(options->bench->trainer);
    const struct timespec date = sh_clock_date();
    return sh_journal_open(
        &chronicle->journal,
        &(sh_journal_options){
            .folder = sh_run_folder(options->run),
            .version = sh_version(),
            .run =
                {
                    .model = job->model,
                    .data = job->data,
                    .job = job_text,
                    .parameters = sh_model_parameters(options->bench->replica->graph),
                    .steps = schedule->total_steps,
                    .epoch_steps = schedule->epoch_steps,
                    .epochs = (uint32_t)((schedule->total_steps + schedule->epoch_steps - 1) /
                                         schedule->epoch_steps),
                    .grains = sh_job_grains(job),
                },
            .start_step = options->bench->replica->steps,
            .reserve_bytes = room_of_checkpoints(options->bench->replica),
            .clock = sh_clock_system(),
            .date = (double)date.tv_sec + 1e-9 * (double)date.tv_nsec,
            .on_trouble = on_trouble,
            .context = chronicle,
        });
}

static sh_status open_all(sh_chronicle *chronicle, const sh_chronicle_options *options)
{
    json_t *job;
    SH_TRY(sh_job_to_json(&job, &options->bench->job));
    char *text = json_dumps(job, JSON_COMPACT);
    json_decref(job);
    if (text == NULL)
        return sh_fail_memory(sizeof(sh_job), "the run's journal");
    const sh_status status = open_journal(chronicle, options, text);
    free(text);
    SH_TRY(status);
    chronicle->events = (sh_log_tap){.lowest = SH_LOG_INFO, .sink = on_log, .context = chronicle};
    sh_log_tap_add(&chronicle->events);
    sh_journal_device(chronicle->journal,
                      &(sh_journal_device_row){
                          .device = 0,
                          .at_ns = now_ns(),
                          .name = options->name,
                          .lanes = sh_lanes_count(sh_trainer_lanes(options->bench->trainer)),
                          .cores = sh_host_cores(),
                      });
    return sh_recorder_open(&chronicle->recorder,
                            &(sh_recorder_options){on_own_records, chronicle});
}

sh_status sh_chronicle_open(sh_chronicle **chronicle, const sh_chronicle_options *options)
{
    sh_chronicle *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the chronicle");
    pthread_mutex_init(&fresh->lock, NULL);
    const sh_status status = open_all(fresh, options);
    if (status != SH_OK) {
        sh_chronicle_close(fresh);
        return status;
    }
    *chronicle = fresh;
    return SH_OK;
}

void sh_chronicle_close(sh_chronicle *chronicle)
{
    if (chronicle == NULL)
        return;
    sh_recorder_close(chronicle->recorder);
    sh_log_tap_remove(&chronicle->events);
    sh_journal_close(chronicle->journal);
    pthread_mutex_destroy(&chronicle->lock);
    free(chronicle);
}

sh_recorder *sh_chronicle_recorder(const sh_chronicle *chronicle)
{
    return chronicle == NULL ? NULL : chronicle->recorder;
}

bool sh_chronicle_note(sh_chronicle *chronicle, char text[SH_MESSAGE_BYTES])
{
    if (chronicle == NULL)
        return false;
    pthread_mutex_lock(&chronicle->lock);
    const bool has = chronicle->has_note;
    if (has)
        memcpy(text, chronicle->note, SH_MESSAGE_BYTES);
    chronicle->has_note = false;
    pthread_mutex_unlock(&chronicle->lock);
    return has;
}

/* ---- devices and views ----------------------------------------------------------------------- */

void sh_chronicle_device(sh_chronicle *chronicle, uint32_t device, const char *name, uint32_t lanes,
                         const char *family)
{
    if (chronicle != NULL)
        sh_journal_device(chronicle->journal,
                          &(sh_journal_device_row){device, now_ns(), name, family, lanes, 0});
}

void sh_chronicle_gone(sh_chronicle *chronicle, uint32_t device, const char *reason)
{
    if (chronicle != NULL)
        sh_journal_device_gone(chronicle->journal, device, now_ns(), reason);
}

void sh_chronicle_lost(sh_chronicle *chronicle)
{
    if (chronicle == NULL)
        return;
    pthread_mutex_lock(&chronicle->lock);
    chronicle->lost = true;
    pthread_mutex_unlock(&chronicle->lock);
}

static const sh_seat *find_seat(const sh_seat *seats, uint32_t count, uint32_t device)
{
    for (uint32_t i = 0; i < count; i++)
        if (seats[i].device == device)
            return &seats[i];
    return NULL;
}

/* Caller locks. */
static const char *reason_for(const sh_chronicle *chronicle, const sh_seat *seats, uint32_t count)
{
    bool joined = false, left = false, moved = false;
    for (uint32_t i = 0; i < count; i++) {
        const sh_seat *before = find_seat(chronicle->seats, chronicle->seat_count, seats[i].device);
        joined = joined || before == NULL;
        moved = moved || (before != NULL && before->share.count != seats[i].share.count);
    }
    for (uint32_t i = 0; i < chronicle->seat_count; i++)
        left = left || find_seat(seats, count, chronicle->seats[i].device) == NULL;
    if (chronicle->seat_count == 0)
        return "start";
    if (left)
        return chronicle->lost ? "loss" : "leave";
    return joined ? "join" : moved ? "shares" : "links";
}

void sh_chronicle_view(sh_chronicle *chronicle, uint32_t view, uint64_t step, const sh_seat *seats,
                       uint32_t count)
{
    if (chronicle == NULL || count == 0)
        return;
    pthread_mutex_lock(&chronicle->lock);
    const char *reason = reason_for(chronicle, seats, count);
    memcpy(chronicle->seats, seats, count * sizeof *seats);
    chronicle->seat_count = count;
    chronicle->view = view;
    chronicle->lost = false;
    pthread_mutex_unlock(&chronicle->lock);
    for (uint32_t i = 0; i < count; i++)
        sh_journal_view(chronicle->journal, &(sh_journal_view_row){
                                                .view = view,
                                                .device = seats[i].device,
                                                .at_ns = now_ns(),
                                                .step = step,
                                                .grains = seats[i].share.count,
                                                .reason = reason,
                                            });
}

/* ---- figures --------------------------------------------------------------------------------- */

void sh_chronicle_records(sh_chronicle *chronicle, uint32_t device, const sh_records *records)
{
    if (chronicle == NULL)
        return;
    for (uint32_t i = 0; i < records->sample_count; i++)
        sh_journal_sample(chronicle->journal, device, &records->samples[i]);
    for (uint32_t i = 0; i < records->step_count; i++)
        sh_journal_work(chronicle->journal, device, &records->steps[i]);
    if (records->dropped > 0) {
        char text[96];
        snprintf(text, sizeof text, "%u records came faster than they could be handed on",
                 records->dropped);
        sh_journal_event(chronicle->journal, now_ns(), device, "records.dropped", text);
    }
}

void sh_chronicle_step(sh_chronicle *chronicle, const sh_progress_report *report)
{
    if (chronicle == NULL)
        return;
    const double samples = (double)report->totals.samples;
    sh_journal_step(chronicle->journal, &(sh_journal_step_row){
                                            .step = report->steps,
                                            .at_ns = now_ns(),
                                            .merged = report->applied,
                                            .view = report->view,
                                            .epoch = report->batch.epoch + 1,
                                            .samples = (uint32_t)report->totals.samples,
                                            .redone = report->redone,
                                            .loss = report->totals.loss / samples,
                                            .accuracy = (double)report->totals.correct / samples,
                                        });
}

void sh_chronicle_epoch(sh_chronicle *chronicle, const sh_event *event)
{
    if (chronicle != NULL)
        sh_journal_epoch(chronicle->journal, &(sh_journal_epoch_row){
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

void sh_chronicle_end(sh_chronicle *chronicle, const char *status, const char *weights_hash)
{
    if (chronicle == NULL)
        return;
    sh_journal_end(chronicle->journal, status, weights_hash);
    sh_journal_flush(chronicle->journal); /* so that there is a note of what goes wrong yet */
}
