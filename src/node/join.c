/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A device's life in a job: connect, be welcomed, prepare, take its place in the view, train,
 * report. Everything that the coordinator says comes by mail; what does not come in its turn is the
 * job's end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "node/course.h"
#include "node/host.h"
#include "node/link.h"
#include "node/member.h"

#define LAST_WORD_MS 10000 /* for the coordinator to say how the job ended */

typedef struct device {
    const sh_join_options *options;
    char name[SH_NAME_BYTES];
    sh_mailbox *mailbox;
    sh_loop *loop;
    sh_device_member *member;
    sh_workbench *bench;
    sh_ring *ring;
    bool said_leave;
} device;

static void observe(const device *self, const sh_event *event)
{
    if (self->options->observer != NULL)
        self->options->observer(self->options->context, event);
}

/* How the job ended for us, as a status with its message. */
static sh_status ended(const sh_mail *mail)
{
    if (mail->status == SH_OK)
        return SH_OK;
    return sh_fail(mail->status, "%s", mail->text);
}

/* Waits for mail of one kind. The end of the job instead of it is a failure, whatever its status.
 */
static sh_status expect(device *self, sh_mail_kind kind, sh_mail *mail)
{
    /* One that train has started gets the signals of train's group too. Training, it asks all to
     * stop; before, train itself decides, or this would be a device lost. */
    const sh_stop *stop = self->options->local ? NULL : self->options->stop;
    for (;;) {
        SH_TRY(sh_mailbox_wait(self->mailbox, mail, stop, 0));
        if (mail->kind == kind)
            return SH_OK;
        if (mail->kind == SH_MAIL_END) {
            SH_TRY(ended(mail));
            return sh_fail(SH_REFUSED, "the job ended before this device could take part");
        }
    }
}

static sh_status receive_state(device *self, const sh_welcome *welcome)
{
    sh_snapshot_block blocks[SH_SNAPSHOT_BLOCKS];
    uint32_t count;
    uint64_t bytes = 0;
    void *tail;
    sh_mail mail;
    SH_TRY(sh_snapshot_blocks(blocks, &count, &tail, self->bench->replica));
    for (uint32_t i = 0; i < count; i++)
        bytes += blocks[i].bytes;
    sh_status status = SH_OK;
    if (bytes != welcome->state_bytes)
        SH_TRY_DONE(
            sh_fail(SH_MISMATCH, "the job's state has another size than its model has here"));
    sh_member_receive(self->member, blocks, count);
    SH_TRY_DONE(expect(self, SH_MAIL_STATE, &mail));
    status = sh_snapshot_adopt(self->bench->replica, tail, blocks[count - 1].bytes);
done:
    if (status != SH_OK) { /* the loop may still write into the tail */
        sh_member_close(self->member);
        self->member = NULL;
    }
    free(tail);
    return status;
}

static sh_status prepare(device *self, const sh_welcome *welcome)
{
    char family[SH_DIGEST_TEXT];
    const sh_status opened =
        sh_workbench_open(&self->bench, &welcome->job, self->options->data, self->options->backend);
    if (opened == SH_NOT_FOUND && self->options->data == NULL)
        return sh_fail(opened, "%s; if this device holds the data elsewhere, say where with --data",
                       sh_message());
    SH_TRY(opened);
    const char *fingerprint = sh_pipeline_about(self->bench->pipeline)->fingerprint;
    if (strcmp(fingerprint, welcome->fingerprint) != 0)
        return sh_fail(
            SH_MISMATCH,
            "%s differs from the job's data: copy the same files, or name their folder with "
            "--data",
            self->options->data != NULL ? self->options->data : welcome->job.data);
    SH_TRY(receive_state(self, welcome));
    self->bench->shared = true;
    SH_TRY(sh_workbench_start(self->bench, self->options->lanes, self->options->memory));
    if (self->options->memory != 0) {
        char text[SH_FOOTPRINT_TEXT];
        sh_footprint_print(text, sh_trainer_footprint(self->bench->trainer), self->options->memory);
        observe(self, &(sh_event){.kind = SH_EVENT_NOTE, .text = text});
    }
    SH_TRY(sh_trainer_family(self->bench->trainer, family));
    sh_member_ready(self->member, fingerprint, family);
    return SH_OK;
}

static void on_step(void *context, const sh_progress_report *report)
{
    device *self = context;
    if (sh_stop_requested(self->options->stop) && !self->said_leave) {
        sh_member_leave(self->member, "");
        self->said_leave = true;
    }
    observe(self, &(sh_event){.kind = SH_EVENT_STEP,
                              .epoch = report->batch.epoch + 1,
                              .step = report->batch.step + 1,
                              .epoch_steps = report->schedule->epoch_steps,
                              .total_step = report->steps,
                              .total_steps = report->schedule->total_steps});
}

static void send_report(device *self)
{
    const sh_trainer_work work = sh_trainer_work_done(self->bench->trainer);
    const sh_channel_stats ring = sh_ring_stats(self->ring),
                           control = sh_member_stats(self->member);
    char hash[SH_DIGEST_TEXT] = "";
    const sh_device_report report = {
        .grains = work.grains,
        .samples = work.samples,
        .cpu_seconds = sh_process_cpu_seconds(),
        .peak_rss_bytes = sh_process_peak_rss_bytes(),
        .bytes_sent = ring.sent_bytes + control.sent_bytes,
        .bytes_received = ring.received_bytes + control.received_bytes,
    };
    if (sh_replica_hash(self->bench->replica, hash) == SH_OK)
        sh_member_report(self->member, &report, hash);
}

/* Trains, and gives the coordinator the last word on why it ended. */
static sh_status take_part(device *self, const sh_view *view)
{
    sh_mail mail = {.kind = SH_MAIL_NOTE};
    sh_ending ending = SH_ENDING_COMPLETE;
    sh_course course = {
        .bench = self->bench,
        .part = {.share = {view->first_grain, view->grains},
                 .of = view->of,
                 .engine = sh_ring_engine(self->ring)},
        .stop = self->options->stop,
        .on_step = on_step,
        .context = self,
    };
    sh_status status = sh_course_run(&course, &ending);
    if (status == SH_OK)
        send_report(self);
    else if (status != SH_PEER_LOST && status != SH_NUMERIC)
        sh_member_leave(self->member, sh_message()); /* the fault is here, and nobody else knows */
    char message[SH_MESSAGE_BYTES];
    snprintf(message, sizeof message, "%s", sh_message());
    while (mail.kind != SH_MAIL_END &&
           sh_mailbox_wait(self->mailbox, &mail, NULL, LAST_WORD_MS) == SH_OK)
        ;
    if (mail.kind == SH_MAIL_END && (status == SH_OK || status == SH_PEER_LOST))
        SH_TRY(ended(&mail));
    else if (status != SH_OK)
        return sh_fail(status, "%s", message);
    if (ending == SH_ENDING_STOPPED && self->said_leave)
        return sh_fail(SH_STOPPED, "left on request");
    return SH_OK;
}

static sh_status live(device *self)
{
    sh_mail mail;
    SH_TRY(expect(self, SH_MAIL_WELCOME, &mail));
    sh_welcome *welcome = mail.data;
    sh_status status = prepare(self, welcome);
    free(welcome);
    if (status != SH_OK) {
        if (self->member != NULL && status != SH_STOPPED)
            sh_member_leave(self->member, sh_message());
        return status;
    }
    SH_TRY(expect(self, SH_MAIL_VIEW, &mail));
    const sh_view view = mail.view;
    SH_TRY(sh_link_prepare(&self->ring, self->loop, &view));
    SH_TRY(sh_member_opened(self->member, self->ring, &view));
    SH_TRY(expect(self, SH_MAIL_START, &mail));
    sh_link_connect(self->ring, self->loop, &view);
    const sh_schedule *schedule = sh_trainer_schedule(self->bench->trainer);
    observe(self, &(sh_event){.kind = SH_EVENT_STARTED,
                              .devices = view.devices,
                              .epoch_steps = schedule->epoch_steps,
                              .total_step = self->bench->replica->steps,
                              .total_steps = schedule->total_steps});
    return take_part(self, &view);
}

static sh_status connect_and_live(device *self)
{
    sh_token token;
    const char *text = self->options->token;
    SH_TRY(sh_token_parse(&token, text, strlen(text)));
    SH_TRY(sh_mailbox_new(&self->mailbox));
    SH_TRY(sh_loop_start(&self->loop));
    const sh_status status =
        sh_member_connect(&self->member, &(sh_member_options){.loop = self->loop,
                                                              .mailbox = self->mailbox,
                                                              .token = &token,
                                                              .name = self->name,
                                                              .lanes = self->options->lanes,
                                                              .local = self->options->local});
    sh_token_wipe(&token);
    SH_TRY(status);
    return live(self);
}

sh_status sh_join(const sh_join_options *options)
{
    device self = {.options = options};
    char message[SH_MESSAGE_BYTES];
    if (options->name != NULL)
        snprintf(self.name, sizeof self.name, "%.*s", SH_NAME_BYTES - 1, options->name);
    else
        sh_host_name(self.name);
    const sh_status status = connect_and_live(&self);
    snprintf(message, sizeof message, "%s", sh_message());
    /* The coordinator's last messages may speak to the ring, so its connection goes first. */
    sh_member_close(self.member);
    if (self.ring != NULL)
        sh_engine_close(sh_ring_engine(self.ring));
    sh_loop_stop(self.loop);
    sh_workbench_close(self.bench);
    sh_mailbox_free(self.mailbox);
    return status == SH_OK ? SH_OK : sh_fail(status, "%s", message);
}
