/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything here but the functions of coordinator.h runs on the loop's thread. An *entrant* is a
 * connection that proved the join token; it becomes a device of the cluster with its hello. Channel
 * and entrant end together; the cluster's member stays, so that its number is never given again.
 */
#include "node/coordinator.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "cluster/cluster.h"
#include "net/listener.h"
#include "node/invitation.h"
#include "shoal/about.h"

#define NO_DEVICE UINT32_MAX
#define ENTRANTS_MAX (2 * SH_CLUSTER_MAX)
#define GOODBYE_MS (SH_CHANNEL_GOODBYE_MS + 1000) /* for the last connection to be closed */

typedef struct entrant {
    struct entrant *next;
    sh_coordinator *of;
    sh_channel *channel;
    uint32_t device; /* NO_DEVICE before its hello */
    uint16_t link_port;
    uint32_t blocks_left; /* of the state, not yet written: they lie in our replica */
} entrant;

struct sh_coordinator {
    sh_coordinator_options options;
    sh_listener *listener;
    sh_invitation invitation;
    uint64_t job; /* number in every message */
    sh_cluster cluster;
    uint32_t next_device;
    bool closing; /* tell the mailbox when the last entrant is gone */
    entrant *entrants;
    uint32_t entrant_count;
    sh_channel_stats closed_stats; /* of channels that are gone */
    sh_ring *ring;                 /* once this device has opened its door */
    char ring_identity[SH_LINK_IDENTITY];
    sh_device_report reports[SH_CLUSTER_MAX];
    unsigned char keys[SH_CLUSTER_MAX][SH_KEY_BYTES]; /* of the link from each rank to the next */
};

static void carry_out(sh_coordinator *coordinator);

static entrant *entrant_of(const sh_coordinator *coordinator, uint32_t device)
{
    entrant *each = coordinator->entrants;
    while (each != NULL && each->device != device)
        each = each->next;
    return each;
}

static void forget(entrant *gone)
{
    sh_coordinator *coordinator = gone->of;
    sh_channel_stats stats;
    entrant **place = &coordinator->entrants;
    while (*place != gone)
        place = &(*place)->next;
    *place = gone->next;
    sh_channel_stats_get(gone->channel, &stats);
    coordinator->closed_stats.sent_bytes += stats.sent_bytes;
    coordinator->closed_stats.received_bytes += stats.received_bytes;
    coordinator->entrant_count--;
    free(gone);
}

/* Tells the cluster that a device is gone. */
static void report_gone(sh_coordinator *coordinator, uint32_t device, const char *reason)
{
    if (device == NO_DEVICE)
        return;
    if (sh_cluster_has(&coordinator->cluster, device))
        sh_log(SH_LOG_WARN, "device.gone", "device=%u reason=\"%s\"", device, reason);
    sh_cluster_handle(&coordinator->cluster,
                      &(sh_cluster_event){SH_CLUSTER_GONE, .device = device, .reason = reason});
    carry_out(coordinator);
}

/* Sends one message; where that fails, the channel's end will tell. */
static void send_message(entrant *to, Shoal__Message *message)
{
    uint8_t *bytes;
    size_t count;
    message->job = to->of->job;
    message->view = to->of->cluster.view;
    sh_status status = sh_message_pack(&bytes, &count, message);
    if (status == SH_OK) {
        status = sh_channel_send_control(to->channel, bytes, count);
        sh_key_wipe(bytes, count);
        free(bytes);
    }
    if (status != SH_OK)
        sh_log(SH_LOG_WARN, "device.unsent", "device=%u reason=\"%s\"", to->device, sh_message());
}

static void tell_end(entrant *to, sh_status status, const char *reason)
{
    Shoal__End end = SHOAL__END__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(END, end, &end);
    end.status = (uint32_t)status;
    end.reason = (char *)(uintptr_t)reason;
    send_message(to, &message);
}

/*
 * Refuses; `to` may be gone afterwards. One that is still being sent the state is cut off instead,
 * for the state is about to change.
 */
static void tell_refusal(entrant *to, const char *reason)
{
    if (to->blocks_left > 0) {
        sh_channel *channel = to->channel;
        forget(to);
        sh_channel_close(channel);
        return;
    }
    Shoal__Refuse refuse = SHOAL__REFUSE__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(REFUSE, refuse, &refuse);
    refuse.reason = (char *)(uintptr_t)reason;
    send_message(to, &message);
    sh_channel_flush_close(to->channel);
}

static void peer_of(const entrant *whom, char peer[SH_ADDRESS_TEXT])
{
    if (whom != NULL)
        sh_channel_peer_address(whom->channel, peer);
    else
        snprintf(peer, SH_ADDRESS_TEXT, "gone");
}

/* Shows out whoever broke the rules, which no device of ours does; `from` may be gone afterwards.
 */
static void show_out(entrant *from, const char *reason)
{
    sh_coordinator *coordinator = from->of;
    const uint32_t device = from->device;
    char peer[SH_ADDRESS_TEXT];
    peer_of(from, peer);
    sh_log(SH_LOG_WARN, "net.refused", "peer=%s reason=\"%s\"", peer, reason);
    tell_refusal(from, reason);
    report_gone(coordinator, device, reason);
}

static void welcome(sh_coordinator *coordinator, entrant *to)
{
    const sh_job *job = coordinator->options.job;
    Shoal__Job body = SHOAL__JOB__INIT;
    Shoal__Welcome welcome = SHOAL__WELCOME__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(WELCOME, welcome, &welcome);
#define SH_JOB_TEXT(member, mark, option) body.member = (char *)(uintptr_t)job->member;
#define SH_JOB_U32(member, mark, option) body.member = job->member;
#define SH_JOB_U64(member, mark, option) body.member = job->member;
#define SH_JOB_FLOAT(member, mark, option) body.member = job->member;
#include "train/job_fields.def"
    welcome.device = to->device;
    welcome.job = &body;
    welcome.fingerprint = (char *)(uintptr_t)coordinator->options.fingerprint;
    for (uint32_t i = 0; i < coordinator->options.block_count; i++)
        welcome.state_bytes += coordinator->options.blocks[i].bytes;
    send_message(to, &message);
    for (uint32_t i = 0; i < coordinator->options.block_count; i++) {
        const sh_snapshot_block *block = &coordinator->options.blocks[i];
        const sh_frame head = {
            .bytes = (uint32_t)block->bytes, .kind = SH_FRAME_STATE, .bucket = (uint16_t)i};
        if (sh_channel_send(to->channel, &head, block->data) == SH_OK)
            to->blocks_left++;
        else
            sh_log(SH_LOG_WARN, "device.unsent", "device=%u reason=\"%s\"", to->device,
                   sh_message());
    }
}

/* Where the device of rank `to` is reached by that of rank `from`. */
static void find_way(const sh_coordinator *coordinator, uint32_t from, uint32_t to,
                     char host[SH_ADDRESS_TEXT], uint16_t *port)
{
    const entrant *viewer =
        entrant_of(coordinator, sh_cluster_device_at(&coordinator->cluster, from));
    const entrant *target =
        entrant_of(coordinator, sh_cluster_device_at(&coordinator->cluster, to));
    host[0] = '\0';
    *port = 1;
    if (target != NULL) {
        sh_channel_peer_host(target->channel, host);
        *port = target->link_port;
    } else if (viewer != NULL) { /* to us: by the address that it knows us by */
        sh_channel_local_address(viewer->channel, host);
        *port = sh_listener_port(coordinator->listener);
    }
}

/* The view as a message's members; `hosts` holds their texts. */
static void list_members(const sh_coordinator *coordinator, uint32_t from,
                         Shoal__Member members[SH_CLUSTER_MAX], char host[SH_ADDRESS_TEXT])
{
    const sh_cluster *cluster = &coordinator->cluster;
    for (uint32_t rank = 0; rank < cluster->devices; rank++) {
        const uint32_t device = sh_cluster_device_at(cluster, rank);
        const sh_member *member = &cluster->members[device];
        Shoal__Member *each = &members[rank];
        shoal__member__init(each);
        each->device = device;
        each->name = (char *)(uintptr_t)member->name;
        each->first_grain = member->first_grain;
        each->grains = member->grains;
        if (rank == (from + 1) % cluster->devices) { /* the only one whose address it needs */
            uint16_t port;
            find_way(coordinator, from, rank, host, &port);
            each->host = host;
            each->port = port;
        }
    }
}

/* Tells the device of this rank, or ourselves, about the view. */
static void send_view(sh_coordinator *coordinator, uint32_t rank)
{
    const uint32_t devices = coordinator->cluster.devices;
    const uint32_t device = sh_cluster_device_at(&coordinator->cluster, rank);
    Shoal__Member members[SH_CLUSTER_MAX], *pointers[SH_CLUSTER_MAX];
    char host[SH_ADDRESS_TEXT];
    Shoal__View body = SHOAL__VIEW__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(NEW_VIEW, new_view, &body);
    list_members(coordinator, rank, members, host);
    for (uint32_t i = 0; i < devices; i++)
        pointers[i] = &members[i];
    body.members = pointers;
    body.n_members = devices;
    body.key_to_next = (ProtobufCBinaryData){SH_KEY_BYTES, coordinator->keys[rank]};
    body.key_from_previous =
        (ProtobufCBinaryData){SH_KEY_BYTES, coordinator->keys[(rank + devices - 1) % devices]};
    if (device != 0) {
        send_message(entrant_of(coordinator, device), &message);
        return;
    }
    sh_mail mail = {.kind = SH_MAIL_VIEW};
    message.view = coordinator->cluster.view;
    if (devices == 1)
        mail.view = (sh_view){.number = message.view,
                              .devices = 1,
                              .grains = coordinator->options.grains,
                              .of = coordinator->options.grains};
    else if (sh_view_read(&mail.view, &message, 0) != SH_OK)
        mail = (sh_mail){.kind = SH_MAIL_END, .status = SH_INTERNAL};
    sh_mailbox_post(coordinator->options.mailbox, &mail);
    sh_key_wipe(&mail, sizeof mail);
}

static void make_links(sh_coordinator *coordinator)
{
    for (uint32_t i = 0; i < coordinator->cluster.devices; i++)
        if (sh_key_make(coordinator->keys[i]) != SH_OK) {
            report_gone(coordinator, 0, sh_message());
            return;
        }
    for (uint32_t i = 0; i < coordinator->cluster.devices; i++)
        send_view(coordinator, i);
}

static void start_all(sh_coordinator *coordinator)
{
    for (entrant *each = coordinator->entrants; each != NULL; each = each->next) {
        Shoal__Start start = SHOAL__START__INIT;
        Shoal__Message message = SH_MESSAGE_INIT(START, start, &start);
        if (each->device != NO_DEVICE)
            send_message(each, &message);
    }
    sh_mailbox_tell(coordinator->options.mailbox, SH_MAIL_START, SH_OK, "");
}

static void end_all(sh_coordinator *coordinator, sh_status status, const char *reason)
{
    for (entrant *each = coordinator->entrants; each != NULL; each = each->next)
        tell_end(each, status, reason);
    if (status != SH_OK && coordinator->ring != NULL)
        sh_ring_abort(coordinator->ring, status, reason);
    sh_mailbox_tell(coordinator->options.mailbox, SH_MAIL_END, status, reason);
}

static void note(sh_coordinator *coordinator, const sh_cluster_action *action)
{
    const sh_cluster *cluster = &coordinator->cluster;
    sh_mail mail = {.kind = SH_MAIL_JOINED};
    for (uint32_t i = 0; i < SH_CLUSTER_MAX; i++)
        mail.devices += cluster->members[i].state == SH_MEMBER_READY;
    snprintf(mail.text, sizeof mail.text, "%s", cluster->members[action->device].name);
    sh_mailbox_post(coordinator->options.mailbox, &mail);
    sh_log(SH_LOG_INFO, "device.ready", "device=%u name=\"%s\"", action->device, mail.text);
    if (action->text[0] != '\0')
        sh_mailbox_tell(coordinator->options.mailbox, SH_MAIL_NOTE, SH_OK, action->text);
}

static void carry_out_one(sh_coordinator *coordinator, const sh_cluster_action *action)
{
    entrant *whom = entrant_of(coordinator, action->device);
    char peer[SH_ADDRESS_TEXT];
    switch (action->kind) {
    case SH_CLUSTER_ADMIT:
        welcome(coordinator, whom);
        break;
    case SH_CLUSTER_REFUSE:
        peer_of(whom, peer);
        sh_log(SH_LOG_WARN, "device.refused", "device=%u peer=%s reason=\"%s\"", action->device,
               peer, action->text);
        if (whom != NULL)
            tell_refusal(whom, action->text);
        break;
    case SH_CLUSTER_NOTE:
        note(coordinator, action);
        break;
    case SH_CLUSTER_VIEW:
        make_links(coordinator);
        break;
    case SH_CLUSTER_START:
        start_all(coordinator);
        break;
    case SH_CLUSTER_LOSE:
        end_all(coordinator, SH_PEER_LOST, action->text);
        break;
    case SH_CLUSTER_END:
        end_all(coordinator, SH_OK, "");
        break;
    }
}

/* Actions may bring events about, whose actions then stand behind those that are left. */
static void carry_out(sh_coordinator *coordinator)
{
    sh_cluster_action action;
    while (sh_cluster_next(&coordinator->cluster, &action))
        carry_out_one(coordinator, &action);
}

static void handle_hello(entrant *from, const Shoal__Hello *hello)
{
    sh_coordinator *coordinator = from->of;
    from->device = coordinator->next_device++;
    from->link_port = (uint16_t)hello->link_port;
    if (hello->link_port == 0 || hello->link_port > UINT16_MAX) {
        show_out(from, "its hello names no port");
        return;
    }
    sh_cluster_handle(&coordinator->cluster,
                      &(sh_cluster_event){SH_CLUSTER_HELLO, .device = from->device,
                                          .name = hello->name, .version = hello->version,
                                          .local = hello->local});
    carry_out(coordinator);
}

static void handle_report(entrant *from, const Shoal__Report *report)
{
    sh_coordinator *coordinator = from->of;
    sh_device_report *kept = &coordinator->reports[from->device];
    kept->grains = report->grains;
    kept->samples = report->samples;
    kept->cpu_seconds = report->cpu_seconds;
    kept->peak_rss_bytes = report->peak_rss_bytes;
    kept->bytes_sent = report->bytes_sent;
    kept->bytes_received = report->bytes_received;
    sh_cluster_handle(&coordinator->cluster,
                      &(sh_cluster_event){SH_CLUSTER_REPORTED, .device = from->device});
    carry_out(coordinator);
}

/* A device that asks to go gives no reason; one that cannot go on does. */
static void handle_leave(entrant *from, const Shoal__Leave *leave)
{
    sh_coordinator *coordinator = from->of;
    char text[SH_CLUSTER_TEXT];
    if (leave->reason[0] != '\0') {
        report_gone(coordinator, from->device, leave->reason);
        return;
    }
    snprintf(text, sizeof text, "device %.64s asks to leave",
             coordinator->cluster.members[from->device].name);
    sh_mailbox_tell(coordinator->options.mailbox, SH_MAIL_NOTE, SH_OK, text);
}

static void handle_message(entrant *from, const Shoal__Message *message)
{
    sh_coordinator *coordinator = from->of;
    const uint32_t device = from->device;
    const bool greeting = message->body_case == SHOAL__MESSAGE__BODY_HELLO;
    if (device != NO_DEVICE && device >= SH_CLUSTER_MAX)
        return; /* refused with its hello, and about to be closed */
    if (greeting != (device == NO_DEVICE) || device == coordinator->next_device ||
        (!greeting && message->job != coordinator->job)) {
        show_out(from, "it sent a message out of turn");
        return;
    }
    switch (message->body_case) {
    case SHOAL__MESSAGE__BODY_HELLO:
        handle_hello(from, message->hello);
        break;
    case SHOAL__MESSAGE__BODY_READY:
        sh_cluster_handle(&coordinator->cluster,
                          &(sh_cluster_event){SH_CLUSTER_READY, .device = device,
                                              .fingerprint = message->ready->fingerprint,
                                              .family = message->ready->family});
        carry_out(coordinator);
        break;
    case SHOAL__MESSAGE__BODY_OPENED:
        sh_cluster_handle(&coordinator->cluster,
                          &(sh_cluster_event){SH_CLUSTER_OPENED, .device = device});
        carry_out(coordinator);
        break;
    case SHOAL__MESSAGE__BODY_REPORT:
        handle_report(from, message->report);
        break;
    case SHOAL__MESSAGE__BODY_LEAVE:
        handle_leave(from, message->leave);
        break;
    default:
        show_out(from, "it sent a message that only the coordinator may");
        break;
    }
}

static void on_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    entrant *from = context;
    Shoal__Message *message;
    if (sh_message_unpack(&message, body, bytes) != SH_OK) {
        char reason[SH_CLUSTER_TEXT];
        (void)channel;
        snprintf(reason, sizeof reason, "it sent a malformed message: %.180s", sh_message());
        show_out(from, reason);
        return;
    }
    handle_message(from, message);
    sh_message_free(message);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    entrant *gone = context;
    sh_coordinator *coordinator = gone->of;
    const uint32_t device = gone->device;
    (void)channel;
    forget(gone);
    if (coordinator->closing) {
        if (coordinator->entrants == NULL)
            sh_mailbox_tell(coordinator->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
        return;
    }
    report_gone(coordinator, device, why == SH_OK ? "it closed its connection" : reason);
}

static void on_sent(void *context, sh_channel *channel, const sh_frame *head)
{
    entrant *to = context;
    (void)channel;
    (void)head;
    to->blocks_left--;
}

static const sh_channel_events entrant_events = {
    .on_control = on_control,
    .on_sent = on_sent,
    .on_close = on_close,
};

/* A device came in by the token, or one came to link to us. */
static void on_accept(void *context, sh_channel *channel, const char *identity)
{
    sh_coordinator *coordinator = context;
    if (coordinator->ring != NULL && strcmp(identity, coordinator->ring_identity) == 0) {
        if (sh_ring_take_previous(coordinator->ring, channel) != SH_OK)
            sh_channel_close(channel);
        return;
    }
    entrant *fresh = coordinator->entrant_count < ENTRANTS_MAX ? calloc(1, sizeof *fresh) : NULL;
    if (fresh == NULL) {
        sh_log(SH_LOG_WARN, "net.refused", "reason=\"%u devices are connected, or memory is out\"",
               coordinator->entrant_count);
        sh_channel_close(channel);
        return;
    }
    coordinator->entrant_count++;
    *fresh = (entrant){
        .next = coordinator->entrants, .of = coordinator, .channel = channel, .device = NO_DEVICE};
    coordinator->entrants = fresh;
    sh_channel_own(channel, &entrant_events, fresh);
}

static sh_status open_door(sh_coordinator *coordinator)
{
    sh_invitation *invitation = &coordinator->invitation;
    unsigned char key[SH_KEY_BYTES];
    SH_TRY(sh_invitation_read(invitation, coordinator->options.listen));
    const sh_listener_options options = {
        .host = invitation->host[0] == '\0' ? NULL : invitation->host,
        .port = invitation->port,
        .on_accept = on_accept,
        .context = coordinator,
    };
    SH_TRY(sh_listener_open(&coordinator->listener, coordinator->options.loop, &options));
    SH_TRY(sh_invitation_issue(invitation, sh_listener_port(coordinator->listener)));
    SH_TRY(sh_token_key(key, &invitation->token));
    const sh_status status = sh_listener_allow(coordinator->listener, SH_TOKEN_IDENTITY, key);
    sh_key_wipe(key, sizeof key);
    return status;
}

/* A call from the driver's thread, carried out on the loop's. */
typedef struct request {
    sh_coordinator *coordinator;
    sh_status status;
    char message[SH_MESSAGE_BYTES];
    const char *reason;
    sh_ring *ring;
    const sh_view *view;
    sh_channel_stats stats;
    sh_device_report *reports;
    size_t report_count;
    bool reproducible;
} request;

/* Keeps a failure's message for the thread that asked. */
static void answer(request *asked, sh_status status)
{
    asked->status = status;
    if (status != SH_OK)
        snprintf(asked->message, sizeof asked->message, "%s", sh_message());
}

static sh_status ask(sh_coordinator *coordinator, sh_loop_task *task, request *asked)
{
    asked->coordinator = coordinator;
    asked->status = SH_OK;
    sh_loop_call(coordinator->options.loop, task, asked);
    return asked->status == SH_OK ? SH_OK : sh_fail(asked->status, "%s", asked->message);
}

static void do_open(void *context)
{
    request *asked = context;
    answer(asked, open_door(asked->coordinator));
}

sh_status sh_coordinator_open(sh_coordinator **coordinator, const sh_coordinator_options *options)
{
    unsigned char random[SH_KEY_BYTES];
    request asked;
    sh_coordinator *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the coordinator");
    fresh->options = *options;
    fresh->next_device = 1;
    sh_cluster_init(&fresh->cluster, &(sh_cluster_options){.min_devices = options->min_devices,
                                                           .grains = options->grains,
                                                           .name = options->name,
                                                           .version = sh_version(),
                                                           .fingerprint = options->fingerprint,
                                                           .family = options->family});
    sh_status status = sh_key_make(random);
    memcpy(&fresh->job, random, sizeof fresh->job);
    if (status == SH_OK)
        status = ask(fresh, do_open, &asked);
    if (status != SH_OK) {
        sh_coordinator_close(fresh);
        return status;
    }
    *coordinator = fresh;
    return SH_OK;
}

const char *sh_coordinator_token(const sh_coordinator *coordinator)
{
    return coordinator->invitation.text;
}

const char *sh_coordinator_local_token(const sh_coordinator *coordinator)
{
    return coordinator->invitation.local_text;
}

static void do_ready(void *context)
{
    request *asked = context;
    sh_coordinator *coordinator = asked->coordinator;
    sh_cluster_handle(&coordinator->cluster,
                      &(sh_cluster_event){SH_CLUSTER_READY, .device = 0,
                                          .fingerprint = coordinator->options.fingerprint,
                                          .family = coordinator->options.family});
    carry_out(coordinator);
}

void sh_coordinator_ready(sh_coordinator *coordinator)
{
    sh_loop_call(coordinator->options.loop, do_ready, &(request){.coordinator = coordinator});
}

static void do_opened(void *context)
{
    request *asked = context;
    sh_coordinator *coordinator = asked->coordinator;
    const sh_view *view = asked->view;
    coordinator->ring = asked->ring;
    if (view->devices > 1) {
        sh_view_identity(coordinator->ring_identity, view,
                         (view->rank + view->devices - 1) % view->devices);
        if (sh_listener_allow(coordinator->listener, coordinator->ring_identity,
                              view->key_from_previous) != SH_OK) {
            report_gone(coordinator, 0, sh_message());
            return;
        }
    }
    sh_cluster_handle(&coordinator->cluster, &(sh_cluster_event){SH_CLUSTER_OPENED, .device = 0});
    carry_out(coordinator);
}

void sh_coordinator_opened(sh_coordinator *coordinator, sh_ring *ring, const sh_view *view)
{
    sh_loop_call(coordinator->options.loop, do_opened,
                 &(request){.coordinator = coordinator, .ring = ring, .view = view});
}

static void do_reported(void *context)
{
    request *asked = context;
    sh_cluster_handle(&asked->coordinator->cluster,
                      &(sh_cluster_event){SH_CLUSTER_REPORTED, .device = 0});
    carry_out(asked->coordinator);
}

void sh_coordinator_reported(sh_coordinator *coordinator)
{
    sh_loop_call(coordinator->options.loop, do_reported, &(request){.coordinator = coordinator});
}

static void do_fail(void *context)
{
    request *asked = context;
    report_gone(asked->coordinator, 0, asked->reason);
}

void sh_coordinator_fail(sh_coordinator *coordinator, const char *reason)
{
    sh_loop_call(coordinator->options.loop, do_fail,
                 &(request){.coordinator = coordinator, .reason = reason});
}

static void do_reports(void *context)
{
    request *asked = context;
    const sh_coordinator *coordinator = asked->coordinator;
    const sh_cluster *cluster = &coordinator->cluster;
    const size_t devices = cluster->devices == 0 ? 1 : cluster->devices;
    asked->reproducible = sh_cluster_is_reproducible(cluster);
    asked->reports = calloc(devices, sizeof *asked->reports);
    if (asked->reports == NULL) {
        answer(asked, sh_fail_memory(devices * sizeof *asked->reports, "the devices' reports"));
        return;
    }
    asked->report_count = devices;
    for (uint32_t i = 1; i < SH_CLUSTER_MAX; i++) {
        const sh_member *member = &cluster->members[i];
        if (member->rank == 0 || member->rank >= devices)
            continue;
        sh_device_report *report = &asked->reports[member->rank];
        *report = coordinator->reports[i];
        snprintf(report->name, sizeof report->name, "%.*s", SH_NAME_BYTES - 1, member->name);
    }
}

sh_status sh_coordinator_reports(sh_coordinator *coordinator, sh_device_report **reports,
                                 size_t *count, bool *reproducible)
{
    request asked = {0};
    SH_TRY(ask(coordinator, do_reports, &asked));
    *reports = asked.reports;
    *count = asked.report_count;
    *reproducible = asked.reproducible;
    return SH_OK;
}

static void do_stats(void *context)
{
    request *asked = context;
    asked->stats = asked->coordinator->closed_stats;
    for (const entrant *each = asked->coordinator->entrants; each != NULL; each = each->next) {
        sh_channel_stats stats;
        sh_channel_stats_get(each->channel, &stats);
        asked->stats.sent_bytes += stats.sent_bytes;
        asked->stats.received_bytes += stats.received_bytes;
    }
}

sh_channel_stats sh_coordinator_stats(sh_coordinator *coordinator)
{
    request asked = {.coordinator = coordinator};
    sh_loop_call(coordinator->options.loop, do_stats, &asked);
    return asked.stats;
}

/* Says goodbye to all; the last one's end is told to the mailbox. */
static void do_part(void *context)
{
    request *asked = context;
    sh_coordinator *coordinator = asked->coordinator;
    sh_listener_close(coordinator->listener);
    coordinator->listener = NULL;
    coordinator->closing = true;
    for (entrant *each = coordinator->entrants; each != NULL; each = each->next)
        sh_channel_flush_close(each->channel);
    if (coordinator->entrants == NULL)
        sh_mailbox_tell(coordinator->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
}

static void do_close(void *context)
{
    request *asked = context;
    while (asked->coordinator->entrants != NULL) {
        sh_channel *channel = asked->coordinator->entrants->channel;
        forget(asked->coordinator->entrants);
        sh_channel_close(channel);
    }
}

void sh_coordinator_close(sh_coordinator *coordinator)
{
    sh_mail mail = {.kind = SH_MAIL_NOTE};
    if (coordinator == NULL)
        return;
    sh_loop *loop = coordinator->options.loop;
    sh_loop_call(loop, do_part, &(request){.coordinator = coordinator});
    while (mail.kind != SH_MAIL_CLOSED &&
           sh_mailbox_wait(coordinator->options.mailbox, &mail, NULL, GOODBYE_MS) == SH_OK)
        ;
    sh_loop_call(loop, do_close, &(request){.coordinator = coordinator});
    sh_invitation_wipe(&coordinator->invitation);
    sh_key_wipe(coordinator->keys, sizeof coordinator->keys);
    free(coordinator);
}
