/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "node/coordinator/children.h"
#include "node/coordinator/coordinator.h"
#include "node/job/device_group.h"
#include "node/job/handover_request.h"
#include "node/member/discovery.h"
#include "store/file.h"

#define CHILD_PATIENCE_MS 5000
#define GATHER_MS 1000           /* a successor's wait for the remaining devices */
#define RESTART_PATIENCE_MS 3000 /* for answers of the devices before a restart */
#define ASK_AGAIN_MS 100         /* for a device that is about to coordinate the job */

typedef struct sh_crew {
    sh_device_group group;
    char token_file[SH_PATH_BYTES], endpoints_file[SH_PATH_BYTES];
    sh_endpoints known;
    uint32_t endpoint_changes;
    char first_grain[SH_DIGEST_TEXT];
    sh_handover_request handover;
    sh_mailbox *mailbox;
    sh_loop *loop;
    sh_coordinator *coordinator;
    sh_children *children;
    bool begun; /* from the first view on, the training loop handles losses and stop requests */
} sh_crew;

static uint32_t count_local(const sh_train_options *options)
{
    return options->devices == 0 ? 1 : options->devices;
}

static uint32_t count_devices(const sh_train_options *options)
{
    const uint32_t here = count_local(options);
    return options->min_devices > here ? options->min_devices : here;
}

static bool fits(const sh_train_options *options)
{
    return count_devices(options) > 1 || options->listen != NULL;
}

static sh_status open_crew(sh_device_group *group)
{
    group->here = count_local(group->options);
    group->may_share = true;
    return SH_OK;
}

static void observe(const sh_crew *crew, const sh_event *event)
{
    const sh_train_options *options = crew->group.options;
    if (options->observer != NULL)
        options->observer(options->context, event);
}

/* Asks the known devices once. *moved: the job's present coordinator; port 0: none. True: a known
 * device is about to become it. */
static bool ask_known(sh_endpoint *moved, const sh_crew *crew, const sh_token *token)
{
    const sh_endpoints *known = &crew->known;
    sh_discovery_answers answers;
    bool soon = false;
    sh_discovery_ask(&answers, &(sh_discovery_options){.loop = crew->loop,
                                                       .token = token,
                                                       .endpoints = known->items,
                                                       .count = known->count,
                                                       .patience_ms = RESTART_PATIENCE_MS});
    for (uint32_t i = 0; i < answers.count && moved->port == 0; i++) {
        const sh_successor_answer *answer = &answers.words[i];
        if (answer->word == SH_SUCCESSOR_LEADS)
            *moved = known->items[i];
        else if (answer->word == SH_SUCCESSOR_FOLLOWS)
            *moved = answers.address[i];
        soon = soon || (answer->word == SH_SUCCESSOR_LOST && answer->able);
    }
    return soon;
}

/* A restarted coordinator finds out whether another device has continued its job, or is about
 * to. */
static sh_status look_for_successor(sh_crew *crew)
{
    sh_device_group *group = &crew->group;
    const uint64_t until_ns =
        sh_clock_now_ns(sh_clock_system()) + RESTART_PATIENCE_MS * UINT64_C(1000000);
    sh_mail mail;
    char *text;
    if (crew->known.count == 0 ||
        sh_file_read_own(&text, NULL, crew->token_file, SH_TOKEN_TEXT) != SH_OK)
        return SH_OK; /* there were no other devices, or they could not return */
    const sh_status parsed = sh_token_parse(&group->token, text, strlen(text));
    sh_key_free(text, strlen(text));
    if (parsed != SH_OK)
        return SH_OK; /* the coordinator reports it when it opens */
    while (ask_known(&group->moved, crew, &group->token) && group->moved.port == 0 &&
           sh_clock_now_ns(sh_clock_system()) < until_ns) {
        const sh_status waited =
            sh_mailbox_wait(crew->mailbox, &mail, group->options->stop, ASK_AGAIN_MS);
        if (waited == SH_OK)
            sh_mail_drop(&mail);
        else if (waited != SH_LIMIT)
            return waited;
    }
    if (group->moved.port == 0)
        return SH_OK;
    observe(crew, &(sh_event){.kind = SH_EVENT_NOTE,
                              .text = "another device has continued this job: this one joins it"});
    return sh_fail(SH_ABORTED, "another device coordinates the job now");
}

/* Without these endpoints, a restarted coordinator would continue alone. */
static void note_doors(sh_crew *crew)
{
    sh_endpoints endpoints;
    const uint32_t changes = sh_coordinator_endpoint_changes(crew->coordinator);
    if (crew->group.options->listen == NULL || changes == crew->endpoint_changes)
        return;
    crew->endpoint_changes = changes;
    sh_coordinator_endpoints(crew->coordinator, &endpoints);
    if (sh_endpoints_write(&endpoints, crew->endpoints_file) != SH_OK)
        sh_log(SH_LOG_WARN, "doors.unwritten", "reason=\"%s\"", sh_message());
}

static void see_handover_request(sh_crew *crew)
{
    char receiver[SH_NAME_BYTES];
    sh_handover_request *handover = &crew->handover;
    if (crew->group.options->listen == NULL || !crew->begun ||
        !sh_handover_request_take(handover, crew->group.run, sh_clock_now_ns(sh_clock_system())))
        return;
    const sh_status status = sh_coordinator_hand_over(crew->coordinator, handover->name, receiver);
    sh_handover_request_answer(handover, status == SH_OK,
                               status == SH_OK ? receiver : sh_message());
}

static sh_status assemble(sh_device_group *group)
{
    sh_crew *crew = (sh_crew *)group;
    const sh_train_options *options = group->options;
    const sh_failover_state *failover = group->failover;
    SH_TRY(sh_run_path(group->run, SH_RUN_TOKEN, crew->token_file));
    SH_TRY(sh_trainer_first_grain(group->session->trainer, crew->first_grain));
    SH_TRY(sh_mailbox_new(&crew->mailbox));
    SH_TRY(sh_loop_start(&crew->loop));
    SH_TRY(sh_run_path(group->run, SH_RUN_ENDPOINTS, crew->endpoints_file));
    if (failover == NULL && options->listen != NULL) {
        sh_endpoints_read(&crew->known, crew->endpoints_file);
        SH_TRY(look_for_successor(crew));
    }
    SH_TRY(sh_coordinator_open(&crew->coordinator,
                               &(sh_coordinator_options){
                                   .loop = crew->loop,
                                   .mailbox = crew->mailbox,
                                   .session = group->session,
                                   .name = group->name,
                                   .first_grain = crew->first_grain,
                                   .min_devices = failover != NULL && failover->devices > 1
                                                      ? failover->devices - 1
                                                      : group->devices,
                                   .gather_ms = failover != NULL ? GATHER_MS : 0,
                                   .failover = failover,
                                   .known = &crew->known,
                                   .serving = group->roles.serving,
                                   .used = group->roles.used,
                                   .audit = group->roles.audit,
                                   .traffic = sh_trainer_traffic(group->session->trainer),
                                   .listen = options->listen,
                                   .token_file = options->listen != NULL ? crew->token_file : NULL,
                                   .clock = sh_clock_system(),
                                   .journal = group->journal,
                               }));
    const sh_invitation *invitation = sh_coordinator_invitation(crew->coordinator);
    if (options->listen != NULL)
        observe(crew, &(sh_event){.kind = SH_EVENT_TOKEN, .text = invitation->text});
    if (options->listen != NULL && invitation->advice[0] != '\0')
        observe(crew, &(sh_event){.kind = SH_EVENT_NOTE, .text = invitation->advice});
    SH_TRY(sh_children_start(&crew->children,
                             &(sh_children_options){
                                 .count = group->here - 1,
                                 .program = options->program,
                                 .token = sh_coordinator_invitation(crew->coordinator)->local_text,
                                 .name = group->name,
                                 .lanes = group->lanes,
                                 .memory = options->memory,
                                 .mailbox = crew->mailbox,
                             }));
    sh_coordinator_ready(crew->coordinator);
    group->agent = sh_coordinator_agent(crew->coordinator);
    return SH_OK;
}

static bool announce(sh_device_group *group, bool last, uint64_t *view)
{
    return sh_coordinator_announce(((sh_crew *)group)->coordinator, last, view);
}

static void enter(sh_device_group *group, uint32_t view, uint64_t step)
{
    sh_crew *crew = (sh_crew *)group;
    crew->begun = true;
    sh_coordinator_enter(crew->coordinator, view, step);
}

/* During training, a stop request travels with the next stage and does not end the wait. */
static sh_status idle(sh_device_group *group, bool wait, bool *over)
{
    sh_crew *crew = (sh_crew *)group;
    const sh_stop *stop = crew->begun ? NULL : group->options->stop;
    sh_mail mail;
    *over = false;
    note_doors(crew);
    see_handover_request(crew);
    for (;;) {
        if (!sh_mailbox_take(crew->mailbox, &mail)) {
            if (!wait)
                return SH_OK;
            SH_TRY(sh_agent_wait(crew->group.agent, &mail, stop));
        }
        switch (mail.kind) {
        case SH_MAIL_JOINED:
            observe(crew, &(sh_event){
                              .kind = SH_EVENT_JOINED, .text = mail.text, .devices = mail.devices});
            break;
        case SH_MAIL_NOTE:
            observe(crew, &(sh_event){.kind = SH_EVENT_NOTE, .text = mail.text});
            break;
        case SH_MAIL_CHILD:
            if (!crew->begun) /* else the job continues */
                return sh_fail(SH_PEER_LOST, "%s before the training began", mail.text);
            break;
        case SH_MAIL_END:
            *over = true;
            wait = false;
            if (mail.status != SH_OK)
                return sh_fail(mail.status, "%s", mail.text);
            break;
        case SH_MAIL_MOVED:
            if (mail.data != NULL)
                group->moved = *(const sh_endpoint *)mail.data;
            group->token = sh_coordinator_invitation(crew->coordinator)->token;
            sh_mail_drop(&mail);
            *over = true;
            return sh_fail(SH_ABORTED, "%s", mail.text);
        case SH_MAIL_TASK:
            wait = false;
            break;
        default:
            break;
        }
    }
}

static sh_status report(sh_device_group *group, const sh_device_report *own,
                        sh_device_report **reports, size_t *count)
{
    SH_TRY(sh_coordinator_reports(((sh_crew *)group)->coordinator, reports, count));
    const sh_device_report told = (*reports)[0];
    (*reports)[0] = *own;
    (*reports)[0].bytes_sent = told.bytes_sent;
    (*reports)[0].bytes_received = told.bytes_received;
    return SH_OK;
}

static void fail(sh_device_group *group, const char *reason)
{
    sh_coordinator_fail(((sh_crew *)group)->coordinator, reason);
}

static sh_status dismiss(sh_device_group *group, sh_status status, const char *message)
{
    sh_crew *crew = (sh_crew *)group;
    if (status == SH_OK) {
        sh_invitation_forget(crew->token_file);
        unlink(crew->endpoints_file);
    }
    if (status != SH_OK && group->moved.port == 0 && group->agent != NULL && !crew->begun) {
        char text[SH_MESSAGE_BYTES];
        snprintf(text, sizeof text, "the job has ended: %.900s", message);
        sh_coordinator_fail(crew->coordinator, text);
    }
    sh_coordinator_close(crew->coordinator);
    sh_children_stop(crew->children, CHILD_PATIENCE_MS);
    sh_loop_stop(crew->loop);
    return status == SH_OK ? SH_OK : sh_fail(status, "%s", message);
}

static void close_crew(sh_device_group *group, bool in_haste)
{
    (void)in_haste;
    sh_mailbox_free(((sh_crew *)group)->mailbox);
    sh_token_wipe(&group->token);
}

const sh_device_group_ops sh_device_group_crew = {
    .purpose = "the crew",
    .bytes = sizeof(sh_crew),
    .fits = fits,
    .devices = count_devices,
    .open = open_crew,
    .assemble = assemble,
    .enter = enter,
    .announce = announce,
    .idle = idle,
    .reports = report,
    .fail = fail,
    .dismiss = dismiss,
    .close = close_crew,
};
