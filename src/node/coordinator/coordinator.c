/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All functions except those of coordinator.h run on the loop's thread. A *client* is a connection
 * that proved the join token. Its hello makes it a device, with a number that is never reused.
 * Device 0 has an agent instead of a connection. `lock` guards the membership, because device 0,
 * when alone, announces a view from the step's thread.
 */
#include "node/coordinator/coordinator_successors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "shoal/about.h"

#define ENTRANTS_MAX (2 * SH_DEVICES_MAX)
#define TICK_MS 50
#define LINGER_MS 1000 /* for the last records of devices */
#define GOODBYE_MS (SH_CHANNEL_GOODBYE_MS + 1000)

static void carry_out(sh_coordinator *coordinator);

/* ---- clients --------------------------------------------------------------------------------- */

static void forget(client *gone)
{
    sh_coordinator *coordinator = gone->of;
    client **place = &coordinator->clients;
    while (*place != gone)
        place = &(*place)->next;
    *place = gone->next;
    sh_channel_stats_count(&coordinator->closed_stats, gone->channel);
    coordinator->client_count--;
    sh_pending_clients_leave(&coordinator->pending, gone->arrival);
    free(gone);
}

static uint64_t now_ms(const sh_coordinator *coordinator)
{
    return sh_clock_now_ns(coordinator->options.clock) / 1000000;
}

static void turn_away(client *gone, const char *reason)
{
    sh_channel *channel = gone->channel;
    char peer[SH_ADDRESS_TEXT];
    sh_channel_peer_address(channel, peer);
    sh_log(SH_LOG_WARN, "net.refused", "peer=%s reason=\"%s\"", peer, reason);
    forget(gone);
    sh_channel_close(channel);
}

static void reject_pending(sh_coordinator *coordinator, uint64_t arrival, const char *reason)
{
    client *gone = coordinator->clients;
    while (gone != NULL && gone->arrival != arrival)
        gone = gone->next;
    if (gone != NULL)
        turn_away(gone, reason);
}

static client *oldest_without_device(const sh_coordinator *coordinator)
{
    client *oldest = NULL; /* the list begins with the newest */
    for (client *each = coordinator->clients; each != NULL; each = each->next)
        if (each->device == NO_DEVICE)
            oldest = each;
    return oldest;
}

static void print_peer(const client *whom, char peer[SH_ADDRESS_TEXT])
{
    if (whom != NULL)
        sh_channel_peer_address(whom->channel, peer);
    else
        snprintf(peer, SH_ADDRESS_TEXT, "gone");
}

/* ---- the membership -------------------------------------------------------------------------- */

static void handle(sh_coordinator *coordinator, const sh_membership_event *event)
{
    if (coordinator->moved) /* another device decides */
        return;
    pthread_mutex_lock(&coordinator->lock);
    sh_membership_handle(coordinator->membership, event);
    pthread_mutex_unlock(&coordinator->lock);
    carry_out(coordinator);
}

static void report_gone(sh_coordinator *coordinator, uint32_t device, const char *reason)
{
    if (device == NO_DEVICE)
        return;
    if (device != 0)
        sh_run_journal_gone(coordinator->options.journal,
                            sh_device_reports_first(&coordinator->reports, device), reason);
    handle(coordinator,
           &(sh_membership_event){SH_MEMBERSHIP_GONE, .device = device, .reason = reason});
}

/* Without this message, device 0 cannot continue. */
static void end_where_failed(sh_coordinator *coordinator, sh_status status)
{
    if (status != SH_OK)
        report_gone(coordinator, 0, sh_message());
}

static void take_heartbeat(sh_coordinator *coordinator, uint32_t device,
                           const sh_heartbeat *heartbeat, const char *fingerprint,
                           const char *first_grain)
{
    pthread_mutex_lock(&coordinator->lock);
    sh_device_reports_note(&coordinator->reports, device, &heartbeat->done,
                           heartbeat->notice.view != 0);
    pthread_mutex_unlock(&coordinator->lock);
    char address[SH_ADDRESS_TEXT] = "";
    if (heartbeat->notice.broken != 0)
        sh_coordinator_print_route(coordinator, device, heartbeat->notice.broken_peer, address);
    handle(coordinator, &(sh_membership_event){
                            SH_MEMBERSHIP_NOTICE, .device = device, .notice = &heartbeat->notice,
                            .address = address[0] != '\0' ? address : NULL,
                            .fingerprint = fingerprint, .first_grain = first_grain});
}

/* Closes the connection of a client that broke the protocol; may free `from`. */
static void expel(client *from, const char *reason)
{
    sh_coordinator *coordinator = from->of;
    const uint32_t device = from->device;
    char peer[SH_ADDRESS_TEXT];
    print_peer(from, peer);
    sh_log(SH_LOG_WARN, "net.refused", "peer=%s reason=\"%s\"", peer, reason);
    sh_client_send_refusal(from, reason, false);
    report_gone(coordinator, device, reason);
}

/* ---- actions --------------------------------------------------------------------------------- */

static void note(sh_coordinator *coordinator, const sh_membership_action *action)
{
    char id[32], whom[24] = "";
    snprintf(id, sizeof id, "device.%s", sh_news_name(action->news));
    const bool bad = action->news == SH_NEWS_LOST || action->news == SH_NEWS_REPAIRED;
    if (action->news == SH_NEWS_LOST)
        sh_run_journal_lost(coordinator->options.journal);
    if (action->device != SH_MEMBERSHIP_ALL)
        snprintf(whom, sizeof whom, "device=%u ", action->device);
    sh_log(bad ? SH_LOG_WARN : SH_LOG_INFO, id, "%stext=\"%s\"", whom, action->text);
    client *one =
        action->news == SH_NEWS_STANDBY ? sh_client_find(coordinator, action->device) : NULL;
    if (one != NULL)
        sh_client_send_standby(one, action->text);
    /* Only for the log: frequent, or parts of a change that is reported as a whole. */
    if (action->news != SH_NEWS_SHARES && action->news != SH_NEWS_TRANSFER &&
        action->news != SH_NEWS_WHOLE && action->news != SH_NEWS_VIEW &&
        action->news != SH_NEWS_COMPARED)
        sh_mailbox_post_text(coordinator->options.mailbox, SH_MAIL_NOTE, SH_OK, action->text);
}

/* Also tells connections that have not sent a hello. */
static void tell_end(sh_coordinator *coordinator, const sh_membership_action *action)
{
    coordinator->over = true;
    coordinator->end_status = action->status;
    snprintf(coordinator->end_text, sizeof coordinator->end_text, "%s", action->text);
    for (client *each = coordinator->clients; each != NULL; each = each->next)
        if (!each->close_when_sent)
            sh_client_send_end(each, action->status, action->text);
}

/* An action may cause events, whose actions are queued after the remaining ones. */
static void carry_out(sh_coordinator *coordinator)
{
    for (;;) {
        sh_membership_action action;
        char peer[SH_ADDRESS_TEXT];
        pthread_mutex_lock(&coordinator->lock);
        const bool more = sh_membership_next(coordinator->membership, &action);
        pthread_mutex_unlock(&coordinator->lock);
        if (!more)
            return;
        if (coordinator->moved)
            continue;
        client *whom = sh_client_find(coordinator, action.device);
        switch (action.kind) {
        case SH_MEMBERSHIP_ADMIT:
            if (whom != NULL)
                end_where_failed(coordinator, sh_client_welcome(coordinator, whom));
            break;
        case SH_MEMBERSHIP_REFUSE:
            print_peer(whom, peer);
            sh_log(SH_LOG_WARN, "device.refused", "device=%u peer=%s reason=\"%s\"", action.device,
                   peer, action.text);
            if (whom != NULL)
                sh_client_send_refusal(whom, action.text, action.again);
            break;
        case SH_MEMBERSHIP_ORDER:
            if (action.device != 0 || coordinator->ready)
                end_where_failed(coordinator,
                                 sh_coordinator_send_orders(coordinator, action.device));
            break;
        case SH_MEMBERSHIP_NOTE:
            note(coordinator, &action);
            break;
        case SH_MEMBERSHIP_RESIGN:
            sh_coordinator_resign(coordinator);
            break;
        case SH_MEMBERSHIP_END:
            tell_end(coordinator, &action);
            sh_mailbox_post_text(coordinator->options.mailbox, SH_MAIL_END, action.status,
                                 action.text);
            break;
        }
    }
}

/* ---- messages from devices ------------------------------------------------------------------- */

static void handle_hello(client *from, const Shoal__Hello *hello)
{
    sh_coordinator *coordinator = from->of;
    if (coordinator->over)
        return;
    if (hello->link_port == 0 || hello->link_port > UINT16_MAX) {
        expel(from, "its hello names no port");
        return;
    }
    if (hello->origin.len != SH_MESSAGE_ORIGIN_BYTES) {
        expel(from, "its hello does not name its process");
        return;
    }
    sh_pending_clients_leave(&coordinator->pending, from->arrival);
    from->device = coordinator->next_device++;
    from->link_port = (uint16_t)hello->link_port;
    from->local = hello->local;
    from->has_key = hello->key.len == SH_KEY_BYTES;
    if (from->has_key)
        memcpy(from->key, hello->key.data, SH_KEY_BYTES);
    pthread_mutex_lock(&coordinator->lock);
    sh_device_reports_add(&coordinator->reports, from->device, hello->name, hello->origin.data);
    pthread_mutex_unlock(&coordinator->lock);
    handle(coordinator,
           &(sh_membership_event){SH_MEMBERSHIP_HELLO, .device = from->device, .name = hello->name,
                                  .version = hello->version, .local = hello->local});
}

static void handle_notice(client *from, const Shoal__Notice *notice)
{
    sh_coordinator *coordinator = from->of;
    const uint32_t device = from->device;
    sh_heartbeat heartbeat;
    if (sh_heartbeat_read(&heartbeat, notice) != SH_OK) {
        expel(from, sh_message());
        return;
    }
    end_where_failed(coordinator, sh_coordinator_note_opened(coordinator, device, &from->opened,
                                                             heartbeat.opened));
    const bool news = !from->ready && heartbeat.notice.life >= SH_LIFE_READY;
    from->ready = from->ready || news;
    from->able = heartbeat.able;
    take_heartbeat(coordinator, device, &heartbeat, from->fingerprint, from->first_grain);
    pthread_mutex_lock(&coordinator->lock);
    const bool has = sh_membership_has(coordinator->membership, device);
    pthread_mutex_unlock(&coordinator->lock);
    if (!news || !has)
        return;
    sh_endpoint endpoint = {.device = device, .port = from->link_port};
    sh_channel_peer_host(from->channel, endpoint.host);
    if (!from->local)
        sh_coordinator_add_endpoint(coordinator, &endpoint);
    sh_mail mail = {.kind = SH_MAIL_JOINED, .devices = 1};
    for (const client *each = coordinator->clients; each != NULL; each = each->next)
        mail.devices += each->ready;
    snprintf(mail.text, sizeof mail.text, "%s",
             sh_device_reports_name(&coordinator->reports, device));
    sh_mailbox_post(coordinator->options.mailbox, &mail);
    sh_run_journal_device(coordinator->options.journal,
                          sh_device_reports_first(&coordinator->reports, device), mail.text,
                          from->lanes);
    sh_log(SH_LOG_INFO, "device.ready", "device=%u name=\"%s\"", device, mail.text);
}

static void handle_message(client *from, const Shoal__Message *message)
{
    sh_coordinator *coordinator = from->of;
    sh_telemetry_batch *batch = &coordinator->batch;
    const bool greeting = message->body_case == SHOAL__MESSAGE__BODY_HELLO ||
                          message->body_case == SHOAL__MESSAGE__BODY_SURVEY;
    if (greeting != (from->device == NO_DEVICE) ||
        (!greeting && message->job != coordinator->job)) {
        expel(from, "it sent a message out of turn");
        return;
    }
    if (!greeting)
        handle(coordinator, &(sh_membership_event){SH_MEMBERSHIP_HEARD, .device = from->device});
    switch (message->body_case) {
    case SHOAL__MESSAGE__BODY_HELLO:
        handle_hello(from, message->hello);
        break;
    case SHOAL__MESSAGE__BODY_SURVEY:
        if (!coordinator->over)
            sh_client_tell_roster(from);
        break;
    case SHOAL__MESSAGE__BODY_READY: {
        const Shoal__Ready *ready = message->ready;
        if (from->first_grain[0] != '\0' ||
            strlen(ready->first_grain) >= sizeof from->first_grain ||
            strlen(ready->fingerprint) >= sizeof from->fingerprint) {
            expel(from, "it reported ready twice, or an invalid report");
            break;
        }
        from->has_data = ready->has_data;
        from->lanes = ready->lanes;
        snprintf(from->first_grain, sizeof from->first_grain, "%s", ready->first_grain);
        snprintf(from->fingerprint, sizeof from->fingerprint, "%s", ready->fingerprint);
        break;
    }
    case SHOAL__MESSAGE__BODY_NOTICE:
        handle_notice(from, message->notice);
        break;
    case SHOAL__MESSAGE__BODY_FIGURES:
        if (sh_telemetry_batch_read(batch, message->figures) != SH_OK) {
            expel(from, sh_message());
            break;
        }
        sh_rate_limiter_apply(&from->limiter, batch, sh_clock_now_ns(coordinator->options.clock));
        sh_telemetry_batch_move(batch, sh_clock_now_ns(coordinator->options.clock));
        if (batch->sample_count > 0)
            from->newest = batch->samples[batch->sample_count - 1];
        sh_run_journal_batch(coordinator->options.journal,
                             sh_device_reports_first(&coordinator->reports, from->device), batch);
        break;
    case SHOAL__MESSAGE__BODY_ECHO:
        sh_client_take_echo(from, message->echo->number);
        break;
    case SHOAL__MESSAGE__BODY_FAIL:
        report_gone(coordinator, from->device, message->fail->reason);
        from->device = NO_DEVICE;
        from->close_when_sent = true;
        sh_channel_flush_close(from->channel);
        break;
    default:
        expel(from, "it sent a message that only the coordinator may");
        break;
    }
}

static void on_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    client *from = context;
    Shoal__Message *message;
    (void)channel;
    if (sh_message_unpack(&message, body, bytes) != SH_OK) {
        char reason[SH_MEMBERSHIP_TEXT];
        snprintf(reason, sizeof reason, "it sent a malformed message: %.180s", sh_message());
        expel(from, reason);
        return;
    }
    handle_message(from, message);
    sh_message_free(message);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    client *gone = context;
    sh_coordinator *coordinator = gone->of;
    const uint32_t device = gone->device;
    (void)channel;
    forget(gone);
    if (coordinator->closing && coordinator->clients == NULL)
        sh_mailbox_post_text(coordinator->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
    if (!coordinator->closing)
        report_gone(coordinator, device, why == SH_OK ? "it closed its connection" : reason);
}

static const sh_channel_events client_events = {
    .on_control = on_control,
    .on_close = on_close,
};

static void on_accept(void *context, sh_channel *channel, const char *identity)
{
    sh_coordinator *coordinator = context;
    if (strcmp(identity, SH_TOKEN_IDENTITY) != 0) {
        if (!sh_agent_accept(coordinator->agent, channel, identity) &&
            !sh_supply_accept(coordinator->supply, channel, identity))
            sh_channel_close(channel);
        return;
    }
    if (coordinator->moved) {
        sh_coordinator_send_address(coordinator, channel);
        return;
    }
    if (sh_invitation_prove(&coordinator->invitation, channel, coordinator->steps) != SH_OK) {
        sh_log(SH_LOG_WARN, "net.refused", "reason=\"%s\"", sh_message());
        sh_channel_close(channel);
        return;
    }
    client *idle =
        coordinator->client_count < ENTRANTS_MAX ? NULL : oldest_without_device(coordinator);
    if (idle != NULL)
        turn_away(idle, "another device needs its place");
    client *fresh = coordinator->client_count < ENTRANTS_MAX ? calloc(1, sizeof *fresh) : NULL;
    if (fresh == NULL) {
        sh_log(SH_LOG_WARN, "net.refused", "reason=\"%u devices are connected, or memory ran out\"",
               coordinator->client_count);
        sh_channel_close(channel);
        return;
    }
    coordinator->client_count++;
    *fresh = (client){.next = coordinator->clients,
                      .of = coordinator,
                      .channel = channel,
                      .arrival = ++coordinator->arrivals,
                      .device = NO_DEVICE};
    coordinator->clients = fresh;
    sh_channel_own(channel, &client_events, fresh);
    char host[SH_ADDRESS_TEXT];
    sh_channel_peer_host(channel, host);
    reject_pending(
        coordinator,
        sh_pending_clients_enter(&coordinator->pending, fresh->arrival, host, now_ms(coordinator)),
        "it has not said hello, and others connected");
    if (coordinator->over)
        sh_client_send_end(fresh, coordinator->end_status, coordinator->end_text);
}

/* ---- device 0 -------------------------------------------------------------------------------- */

static void on_heartbeat(void *context, const sh_heartbeat *heartbeat)
{
    sh_coordinator *coordinator = context;
    sh_heartbeat own = *heartbeat;
    sh_channel_stats all = {own.done.bytes_sent, own.done.bytes_received, own.traffic};
    sh_channel_stats_add(&all, sh_supply_stats(coordinator->supply));
    sh_channel_stats_add(&all, coordinator->closed_stats);
    for (const client *each = coordinator->clients; each != NULL; each = each->next)
        sh_channel_stats_count(&all, each->channel);
    all.traffic.busy_ns = heartbeat->traffic.busy_ns; /* of links and transfers only */
    own.done.bytes_sent = all.sent_bytes;
    own.done.bytes_received = all.received_bytes;
    sh_telemetry_network(sh_run_journal_telemetry(coordinator->options.journal), &all);
    if (!coordinator->ready)
        return;
    coordinator->steps = own.notice.position.steps;
    end_where_failed(coordinator, sh_coordinator_note_opened(coordinator, 0,
                                                             &coordinator->own_opened, own.opened));
    take_heartbeat(coordinator, 0, &own,
                   sh_pipeline_about(coordinator->options.session->pipeline)->fingerprint,
                   coordinator->options.first_grain);
}

/* During transfers of replicas, a probe would measure only their traffic. */
static void measure_links(sh_coordinator *coordinator)
{
    sh_link_speed link;
    pthread_mutex_lock(&coordinator->lock);
    const bool busy = sh_membership_moves_replicas(coordinator->membership);
    pthread_mutex_unlock(&coordinator->lock);
    for (client *each = coordinator->clients; each != NULL; each = each->next) {
        if (!each->ready || each->local || each->close_when_sent ||
            coordinator->options.used == SH_STANDBY_ALL)
            continue;
        if (busy)
            sh_gauge_stop(&each->gauge);
        else
            sh_client_probe(each);
        if (!sh_gauge_news(&each->gauge, sh_clock_now_ns(coordinator->options.clock), &link))
            continue;
        if (!each->gauge.told_overdue)
            sh_log(SH_LOG_INFO, "link.measured",
                   "device=%u in_mbit=%.3g out_mbit=%.3g delay_ms=%.3g", each->device,
                   8e-6 * link.in, 8e-6 * link.out, 1e3 * link.delay_s);
        handle(coordinator,
               &(sh_membership_event){SH_MEMBERSHIP_LINK, .device = each->device, .link = &link});
    }
}

static void on_tick(void *context)
{
    sh_coordinator *coordinator = context;
    uint64_t overdue;
    while ((overdue = sh_pending_clients_overdue(&coordinator->pending, now_ms(coordinator))) != 0)
        reject_pending(coordinator, overdue, "it has not said hello in time");
    handle(coordinator, &(sh_membership_event){SH_MEMBERSHIP_TICK, .now_ms = now_ms(coordinator)});
    measure_links(coordinator);
    sh_coordinator_update_successors(coordinator);
}

/* ---- life ------------------------------------------------------------------------------------ */

typedef struct request {
    sh_coordinator *coordinator;
    sh_status status;
    char message[SH_MESSAGE_BYTES];
    const char *reason; /* or a name */
    char *receiver;
    sh_device_report *reports;
    size_t report_count;
    sh_endpoints *endpoints;
} request;

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

/* Keeps the devices' endpoints, because they may have found another coordinator. */
static void inherit(sh_coordinator *coordinator, const sh_failover_state *failover)
{
    const sh_endpoint former = sh_endpoint_of(&failover->token.addresses[0]);
    sh_invitation_inherit(&coordinator->invitation, &failover->token, failover->key,
                          &failover->chain, failover->term + 1);
    for (uint32_t i = 0; i < failover->known.count; i++)
        sh_coordinator_add_endpoint(coordinator, &failover->known.items[i]);
    sh_coordinator_add_endpoint(coordinator, &former);
    for (uint32_t i = 0; i < failover->successor_count; i++)
        if (failover->successors[i].device != failover->device && failover->successors[i].port != 0)
            sh_coordinator_add_endpoint(coordinator, &failover->successors[i]);
}

static void do_open(void *context)
{
    request *asked = context;
    sh_coordinator *coordinator = asked->coordinator;
    const char *token_file = coordinator->options.token_file;
    char identity[SH_LINK_IDENTITY];
    sh_invitation *invitation = &coordinator->invitation;
    sh_reach interfaces[SH_REACH_MAX];
    unsigned char key[SH_KEY_BYTES];
    sh_status status;
    SH_TRY_DONE(sh_invitation_read(invitation, coordinator->options.listen));
    const sh_failover_state *failover = coordinator->options.failover;
    const sh_endpoints *known = coordinator->options.known;
    for (uint32_t i = 0; known != NULL && i < known->count; i++)
        sh_coordinator_add_endpoint(coordinator, &known->items[i]);
    if (failover != NULL)
        inherit(coordinator, failover);
    else if (token_file != NULL)
        SH_TRY_DONE(sh_invitation_recall(invitation, token_file));
    const sh_listener_options options = {
        .host = invitation->host[0] == '\0' ? NULL : invitation->host,
        .port = invitation->port,
        .on_accept = on_accept,
        .context = coordinator,
    };
    SH_TRY_DONE(sh_listener_open(&coordinator->listener, coordinator->options.loop, &options));
    SH_TRY_DONE(sh_invitation_issue(invitation, sh_listener_port(coordinator->listener), interfaces,
                                    sh_reach_read(interfaces)));
    if (token_file != NULL)
        SH_TRY_DONE(sh_invitation_keep(invitation, token_file));
    SH_TRY_DONE(sh_token_key(key, &invitation->token));
    SH_TRY_DONE(sh_listener_allow(coordinator->listener, SH_TOKEN_IDENTITY, key));
    sh_data_identity(identity, 0);
    SH_TRY_DONE(sh_coordinator_make_key(coordinator, key, identity));
    SH_TRY_DONE(sh_listener_allow(coordinator->listener, identity, key));
    sh_agent_set_listener(coordinator->agent, coordinator->listener);
    SH_TRY_DONE(sh_timer_new(&coordinator->tick, coordinator->options.loop, on_tick, coordinator));
    status = sh_timer_start(coordinator->tick, TICK_MS, TICK_MS);
done:
    sh_key_wipe(key, sizeof key);
    answer(asked, status);
}

static sh_lineup_job lineup_of(const sh_coordinator_options *options)
{
    const sh_traffic traffic = options->traffic;
    const bool gathers = !options->serving.on;
    return (sh_lineup_job){.summed = (double)(traffic.summed - (gathers ? traffic.spared : 0)),
                           .gathered = gathers ? (double)traffic.gathered : 0};
}

sh_status sh_coordinator_open(sh_coordinator **coordinator, const sh_coordinator_options *options)
{
    unsigned char random[SH_KEY_BYTES];
    request asked = {0};
    sh_status status;
    sh_coordinator *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the coordinator");
    fresh->options = *options;
    fresh->next_device = 1;
    pthread_mutex_init(&fresh->lock, NULL);
    SH_TRY_DONE(sh_membership_new(
        &fresh->membership,
        &(sh_membership_options){
            .min_devices = options->min_devices,
            .gather_ms = options->gather_ms,
            .serving = options->serving,
            .used = options->used,
            .audit = options->audit,
            .lineup = lineup_of(options),
            .followed = (double)options->traffic.summed,
            .grains = sh_job_grains(&options->session->job),
            .name = options->name,
            .version = sh_version(),
            .fingerprint = sh_pipeline_about(options->session->pipeline)->fingerprint,
            .first_grain = options->first_grain,
        }));
    SH_TRY_DONE(sh_key_make(fresh->secret));
    SH_TRY_DONE(sh_key_make(random));
    memcpy(&fresh->job, random, sizeof fresh->job);
    SH_TRY_DONE(sh_key_make(random));
    sh_device_reports_add(&fresh->reports, 0, options->name, random);
    SH_TRY_DONE(sh_agent_new(&fresh->agent, &(sh_agent_options){.loop = options->loop,
                                                                .mailbox = options->mailbox,
                                                                .on_heartbeat = on_heartbeat,
                                                                .context = fresh}));
    SH_TRY_DONE(sh_supply_new(
        &fresh->supply,
        &(sh_supply_options){.loop = options->loop,
                             .dataset = sh_pipeline_dataset(options->session->pipeline),
                             .network = options->session->network,
                             .vouches = true}));
    SH_TRY_DONE(ask(fresh, do_open, &asked));
    *coordinator = fresh;
    return SH_OK;
done:
    sh_coordinator_close(fresh);
    return status;
}

const sh_invitation *sh_coordinator_invitation(const sh_coordinator *coordinator)
{
    return &coordinator->invitation;
}

sh_agent *sh_coordinator_agent(const sh_coordinator *coordinator)
{
    return coordinator->agent;
}

static void do_ready(void *context)
{
    sh_coordinator *coordinator = context;
    coordinator->ready = true;
}

void sh_coordinator_ready(sh_coordinator *coordinator)
{
    sh_loop_call(coordinator->options.loop, do_ready, coordinator);
    sh_agent_begin(coordinator->agent, 0, coordinator->options.session, true);
}

static void do_endpoints(void *context)
{
    request *asked = context;
    *asked->endpoints = asked->coordinator->endpoints;
}

void sh_coordinator_endpoints(sh_coordinator *coordinator, sh_endpoints *endpoints)
{
    sh_loop_call(coordinator->options.loop, do_endpoints,
                 &(request){.coordinator = coordinator, .endpoints = endpoints});
}

static void do_hand_over(void *context)
{
    request *asked = context;
    answer(asked, sh_coordinator_hand_over_to(asked->coordinator, asked->reason, asked->receiver));
}

sh_status sh_coordinator_hand_over(sh_coordinator *coordinator, const char *name,
                                   char receiver[SH_NAME_BYTES])
{
    return ask(coordinator, do_hand_over, &(request){.reason = name, .receiver = receiver});
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
    sh_coordinator *coordinator = asked->coordinator;
    answer(asked,
           sh_device_reports_list(&coordinator->reports, &asked->reports, &asked->report_count));
}

sh_status sh_coordinator_reports(sh_coordinator *coordinator, sh_device_report **reports,
                                 size_t *count)
{
    request asked = {0};
    SH_TRY(ask(coordinator, do_reports, &asked));
    *reports = asked.reports;
    *count = asked.report_count;
    return SH_OK;
}

/* The job is over: devices disconnect. The end of the last one posts SH_MAIL_CLOSED. */
static void do_linger(void *context)
{
    sh_coordinator *coordinator = context;
    sh_timer_free(coordinator->tick);
    coordinator->tick = NULL;
    coordinator->closing = true;
    if (coordinator->clients == NULL)
        sh_mailbox_post_text(coordinator->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
}

/* As do_linger, but closes the channels. */
static void do_part(void *context)
{
    sh_coordinator *coordinator = context;
    if (coordinator->agent != NULL)
        sh_agent_set_listener(coordinator->agent, NULL);
    sh_listener_close(coordinator->listener);
    coordinator->listener = NULL;
    for (client *each = coordinator->clients; each != NULL; each = each->next)
        sh_channel_flush_close(each->channel);
    if (coordinator->clients == NULL)
        sh_mailbox_post_text(coordinator->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
}

static void do_close(void *context)
{
    sh_coordinator *coordinator = context;
    sh_coordinator_end_succession(coordinator);
    sh_supply_close(coordinator->supply);
    while (coordinator->clients != NULL) {
        sh_channel *channel = coordinator->clients->channel;
        forget(coordinator->clients);
        sh_channel_close(channel);
    }
}

/* Waits until the last connection closes, or until no mail arrives for this time. */
static void wait_for_close(const sh_coordinator *coordinator, uint32_t timeout_ms)
{
    sh_mail mail = {.kind = SH_MAIL_NOTE};
    while (mail.kind != SH_MAIL_CLOSED &&
           sh_mailbox_wait(coordinator->options.mailbox, &mail, NULL, timeout_ms) == SH_OK)
        ;
}

void sh_coordinator_close(sh_coordinator *coordinator)
{
    if (coordinator == NULL)
        return;
    sh_loop *loop = coordinator->options.loop;
    sh_loop_call(loop, do_linger, coordinator);
    wait_for_close(coordinator, LINGER_MS);
    sh_loop_call(loop, do_part, coordinator);
    wait_for_close(coordinator, GOODBYE_MS);
    sh_loop_call(loop, do_close, coordinator);
    sh_agent_close(coordinator->agent);
    sh_supply_free(coordinator->supply);
    sh_membership_free(coordinator->membership);
    sh_key_wipe(&coordinator->invitation, sizeof coordinator->invitation);
    sh_key_wipe(coordinator->secret, sizeof coordinator->secret);
    pthread_mutex_destroy(&coordinator->lock);
    sh_device_reports_release(&coordinator->reports);
    free(coordinator);
}
