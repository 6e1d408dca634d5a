/* SPDX-License-Identifier: Apache-2.0 */
#include "node/crew.h"

#include <stdio.h>
#include <stdlib.h>

#include "node/children.h"
#include "node/coordinator.h"
#include "node/link.h"

#define LAST_WORD_MS 10000 /* for all devices to report, or for the name of a lost one */
#define CHILD_PATIENCE_MS 5000

struct sh_crew {
    sh_crew_options options;
    char family[SH_DIGEST_TEXT];
    sh_mailbox *mailbox;
    sh_loop *loop;
    sh_coordinator *coordinator;
    sh_children *children;
    sh_view view;
    sh_ring *ring; /* NULL where the view has this device alone */
    sh_snapshot_block blocks[SH_SNAPSHOT_BLOCKS];
    uint32_t block_count;
    void *tail;
};

static void observe(const sh_crew *crew, const sh_event *event)
{
    const sh_train_options *train = crew->options.train;
    if (train->observer != NULL)
        train->observer(train->context, event);
}

static sh_status open_door(sh_crew *crew)
{
    const sh_workbench *bench = crew->options.bench;
    const sh_job *job = &bench->job;
    SH_TRY(sh_snapshot_blocks(crew->blocks, &crew->block_count, &crew->tail, bench->replica));
    SH_TRY(sh_coordinator_open(&crew->coordinator,
                               &(sh_coordinator_options){
                                   .loop = crew->loop,
                                   .mailbox = crew->mailbox,
                                   .job = job,
                                   .name = crew->options.name,
                                   .fingerprint = sh_pipeline_about(bench->pipeline)->fingerprint,
                                   .family = crew->family,
                                   .min_devices = crew->options.min_devices,
                                   .grains = sh_batch_of_all(job->batch_size, job->grain).grains,
                                   .listen = crew->options.train->listen,
                                   .blocks = crew->blocks,
                                   .block_count = crew->block_count,
                               }));
    if (crew->options.train->listen != NULL)
        observe(crew, &(sh_event){.kind = SH_EVENT_TOKEN,
                                  .text = sh_coordinator_token(crew->coordinator)});
    return SH_OK;
}

static sh_status open_all(sh_crew *crew)
{
    SH_TRY(sh_trainer_family(crew->options.bench->trainer, crew->family));
    SH_TRY(sh_mailbox_new(&crew->mailbox));
    SH_TRY(sh_loop_start(&crew->loop));
    SH_TRY(open_door(crew));
    return sh_children_start(&crew->children,
                             &(sh_children_options){
                                 .count = crew->options.devices - 1,
                                 .program = crew->options.train->program,
                                 .token = sh_coordinator_local_token(crew->coordinator),
                                 .name = crew->options.name,
                                 .lanes = crew->options.lanes,
                                 .memory = crew->options.train->memory,
                                 .mailbox = crew->mailbox,
                             });
}

sh_status sh_crew_open(sh_crew **crew, const sh_crew_options *options)
{
    sh_crew *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the crew");
    fresh->options = *options;
    const sh_status status = open_all(fresh);
    if (status != SH_OK) {
        sh_crew_close(fresh);
        return status;
    }
    *crew = fresh;
    return SH_OK;
}

/* Waits for mail of one kind; passes on what the user should hear meanwhile. */
static sh_status expect(sh_crew *crew, sh_mail_kind kind, sh_mail *mail)
{
    for (;;) {
        SH_TRY(sh_mailbox_wait(crew->mailbox, mail, crew->options.train->stop, 0));
        if (mail->kind == kind)
            return SH_OK;
        if (mail->kind == SH_MAIL_JOINED)
            observe(
                crew,
                &(sh_event){.kind = SH_EVENT_JOINED, .text = mail->text, .devices = mail->devices});
        else if (mail->kind == SH_MAIL_NOTE)
            observe(crew, &(sh_event){.kind = SH_EVENT_NOTE, .text = mail->text});
        else if (mail->kind == SH_MAIL_END || mail->kind == SH_MAIL_CHILD)
            return sh_fail(SH_PEER_LOST, "%s before the training began", mail->text);
    }
}

sh_status sh_crew_assemble(sh_crew *crew, sh_view *view)
{
    sh_mail mail;
    sh_coordinator_ready(crew->coordinator);
    SH_TRY(expect(crew, SH_MAIL_VIEW, &mail));
    crew->view = mail.view;
    if (crew->view.devices > 1)
        SH_TRY(sh_link_prepare(&crew->ring, crew->loop, &crew->view));
    sh_coordinator_opened(crew->coordinator, crew->ring, &crew->view);
    SH_TRY(expect(crew, SH_MAIL_START, &mail));
    if (crew->ring != NULL)
        sh_link_connect(crew->ring, crew->loop, &crew->view);
    *view = crew->view;
    return SH_OK;
}

sh_engine *sh_crew_engine(const sh_crew *crew)
{
    return crew->ring == NULL ? sh_engine_solo() : sh_ring_engine(crew->ring);
}

/* Waits for the end of the job, for some time; false where it did not come. */
static bool wait_for_end(sh_crew *crew, sh_mail *mail)
{
    while (sh_mailbox_wait(crew->mailbox, mail, NULL, LAST_WORD_MS) == SH_OK) {
        if (mail->kind == SH_MAIL_END)
            return true;
        if (mail->kind == SH_MAIL_NOTE)
            observe(crew, &(sh_event){.kind = SH_EVENT_NOTE, .text = mail->text});
    }
    return false;
}

void sh_crew_collect(sh_crew *crew)
{
    sh_mail mail;
    sh_coordinator_reported(crew->coordinator);
    const bool ended = wait_for_end(crew, &mail);
    (void)ended; /* without a report, a device's figures stay 0 */
}

sh_status sh_crew_name_lost(sh_crew *crew)
{
    char message[SH_MESSAGE_BYTES];
    sh_mail mail;
    snprintf(message, sizeof message, "%s", sh_message());
    return sh_fail(SH_PEER_LOST, "%s", wait_for_end(crew, &mail) ? mail.text : message);
}

sh_status sh_crew_reports(sh_crew *crew, sh_device_report **reports, size_t *count,
                          bool *reproducible)
{
    SH_TRY(sh_coordinator_reports(crew->coordinator, reports, count, reproducible));
    sh_device_report *own = &(*reports)[0];
    const sh_channel_stats control = sh_coordinator_stats(crew->coordinator);
    sh_channel_stats ring = {0};
    if (crew->ring != NULL)
        ring = sh_ring_stats(crew->ring);
    own->bytes_sent = control.sent_bytes + ring.sent_bytes;
    own->bytes_received = control.received_bytes + ring.received_bytes;
    return SH_OK;
}

void sh_crew_fail(sh_crew *crew, const char *reason)
{
    sh_coordinator_fail(crew->coordinator, reason);
}

void sh_crew_close(sh_crew *crew)
{
    if (crew == NULL)
        return;
    sh_coordinator_close(crew->coordinator); /* it may speak to the ring, so it goes first */
    if (crew->ring != NULL)
        sh_engine_close(sh_ring_engine(crew->ring));
    sh_children_stop(crew->children, CHILD_PATIENCE_MS);
    sh_loop_stop(crew->loop);
    sh_mailbox_free(crew->mailbox);
    sh_key_wipe(&crew->view, sizeof crew->view);
    free(crew->tail);
    free(crew);
}
