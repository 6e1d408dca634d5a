/* SPDX-License-Identifier: Apache-2.0 */
#include "node/crew.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "node/children.h"
#include "node/coordinator.h"

#define CHILD_PATIENCE_MS 5000
#define END_PATIENCE_MS 10000 /* for the others to come to the end of the job */

struct sh_crew {
    sh_crew_options options;
    char family[SH_DIGEST_TEXT];
    sh_mailbox *mailbox;
    sh_loop *loop;
    sh_coordinator *coordinator;
    sh_children *children;
    bool begun, stop_told;
};

static void observe(const sh_crew *crew, const sh_event *event)
{
    const sh_train_options *train = crew->options.train;
    if (train->observer != NULL)
        train->observer(train->context, event);
}

static sh_status open_door(sh_crew *crew)
{
    SH_TRY(sh_coordinator_open(&crew->coordinator, &(sh_coordinator_options){
                                                       .loop = crew->loop,
                                                       .mailbox = crew->mailbox,
                                                       .bench = crew->options.bench,
                                                       .name = crew->options.name,
                                                       .family = crew->family,
                                                       .min_devices = crew->options.min_devices,
                                                       .mixed = crew->options.train->mixed,
                                                       .serving = crew->options.serving,
                                                       .listen = crew->options.train->listen,
                                                       .token_file = crew->options.token_file,
                                                       .clock = sh_clock_system(),
                                                       .chronicle = crew->options.chronicle,
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
    SH_TRY(sh_children_start(&crew->children,
                             &(sh_children_options){
                                 .count = crew->options.devices - 1,
                                 .program = crew->options.train->program,
                                 .token = sh_coordinator_local_token(crew->coordinator),
                                 .name = crew->options.name,
                                 .lanes = crew->options.lanes,
                                 .memory = crew->options.train->memory,
                                 .mailbox = crew->mailbox,
                             }));
    sh_coordinator_ready(crew->coordinator);
    return SH_OK;
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

sh_station *sh_crew_station(const sh_crew *crew)
{
    return sh_coordinator_station(crew->coordinator);
}

void sh_crew_begin(sh_crew *crew)
{
    crew->begun = true;
}

bool sh_crew_announce(sh_crew *crew, bool last, uint64_t *view)
{
    return sh_coordinator_announce(crew->coordinator, last, view);
}

void sh_crew_enter(sh_crew *crew, uint32_t view, uint64_t step)
{
    sh_coordinator_enter(crew->coordinator, view, step);
}

/* One letter: *stay false where the step's thread has something to do. */
static sh_status read_mail(sh_crew *crew, const sh_mail *mail, bool *stay, bool *over)
{
    switch (mail->kind) {
    case SH_MAIL_JOINED:
        observe(crew,
                &(sh_event){.kind = SH_EVENT_JOINED, .text = mail->text, .devices = mail->devices});
        return SH_OK;
    case SH_MAIL_NOTE:
        observe(crew, &(sh_event){.kind = SH_EVENT_NOTE, .text = mail->text});
        return SH_OK;
    case SH_MAIL_TASK:
        *stay = false;
        return SH_OK;
    case SH_MAIL_CHILD: /* once it has begun, the job goes on without */
        return crew->begun ? SH_OK
                           : sh_fail(SH_PEER_LOST, "%s before the training began", mail->text);
    case SH_MAIL_END:
        *stay = false;
        *over = true;
        return mail->status == SH_OK ? SH_OK : sh_fail(mail->status, "%s", mail->text);
    default:
        return SH_OK;
    }
}

/* Once training, a request to stop goes round with the next stage; waiting for it is no reason to
 * break anything off. */
sh_status sh_crew_idle(sh_crew *crew, bool wait, bool *over)
{
    const sh_stop *stop = crew->begun ? NULL : crew->options.train->stop;
    bool stay = true;
    sh_mail mail;
    *over = false;
    while (sh_mailbox_take(crew->mailbox, &mail))
        SH_TRY(read_mail(crew, &mail, &stay, over));
    while (wait && stay) {
        SH_TRY(sh_mailbox_wait(crew->mailbox, &mail, stop, 0));
        SH_TRY(read_mail(crew, &mail, &stay, over));
    }
    return SH_OK;
}

sh_status sh_crew_reports(sh_crew *crew, sh_device_report **reports, size_t *count,
                          bool *reproducible)
{
    return sh_coordinator_reports(crew->coordinator, reports, count, reproducible);
}

void sh_crew_fail(sh_crew *crew, const char *reason)
{
    sh_coordinator_fail(crew->coordinator, reason);
}

void sh_crew_close(sh_crew *crew)
{
    if (crew == NULL)
        return;
    sh_coordinator_close(crew->coordinator);
    sh_children_stop(crew->children, CHILD_PATIENCE_MS);
    sh_loop_stop(crew->loop);
    sh_mailbox_free(crew->mailbox);
    free(crew);
}
