/* SPDX-License-Identifier: Apache-2.0 */
/* All functions except those of member.h run on the loop's thread. */
#include "node/member/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "cluster/silence.h"
#include "cluster/standby.h"
#include "node/member/callers.h"
#include "node/protocol/claims.h"
#include "shoal/about.h"
#include "train/job_json.h"

#define BLOCK_BITS 14 /* log2 of the received bytes that count as progress */
#define GOODBYE_MS (SH_CHANNEL_GOODBYE_MS + 1000)

struct sh_member {
    sh_member_options options;
    sh_channel *channel; /* to the coordinator; NULL: closed */
    sh_agent *agent;
    sh_listener *listener;
    sh_callers callers;
    sh_supply *supply;
    sh_delivery *delivery;
    unsigned char data_key[SH_KEY_BYTES];
    unsigned char token_key[SH_KEY_BYTES]; /* for devices that look for the coordinator */
    bool closing, connected, proved /* that it is the coordinator */, welcomed;
    uint64_t job;
    sh_failover_state failover;
    sh_silence silence;          /* of the coordinator */
    uint64_t clock_ms, ticks_ms; /* own time without suspension; last advance */
    sh_channel_stats closed_stats;
    sh_telemetry *telemetry; /* NULL before it is ready, or if unavailable */
};

static void send_message(sh_member *member, Shoal__Message *message)
{
    if (member->channel == NULL)
        return;
    message->job = member->job;
    const sh_status sent = sh_message_send(member->channel, message);
    (void)sent; /* the end of the channel reports it */
}

/* A lane may wait for a sample that will not arrive. */
static void end_delivery(const sh_member *member, sh_status status, const char *reason)
{
    if (member->delivery != NULL)
        sh_delivery_fail(member->delivery, status == SH_OK ? SH_STOPPED : status, reason);
}

static void end(sh_member *member, sh_status status, const char *reason)
{
    end_delivery(member, status, reason);
    sh_mailbox_post_text(member->options.mailbox, SH_MAIL_END, status, reason);
}

/* ---- the coordinator is lost ----------------------------------------------------------------- */

/* Keeps what works without the coordinator, such as complete data. */
static void lose_coordinator(sh_member *member, sh_status why, const char *reason)
{
    if (member->delivery != NULL && !sh_delivery_is_whole(member->delivery))
        end_delivery(member, SH_PEER_LOST, "the coordinator is lost");
    sh_agent_abandon(member->agent);
    sh_mailbox_post_text(member->options.mailbox, SH_MAIL_LOST, why, reason);
}

#define TICK_MS 200 /* most time counted between two ticks */

/* Time in which this device was suspended does not count as the coordinator's silence. */
static void watch_coordinator(sh_member *member)
{
    const uint64_t now_ms = sh_clock_now_ns(sh_clock_system()) / 1000000;
    const uint64_t passed_ms = now_ms - member->ticks_ms;
    char reason[SH_MESSAGE_BYTES];
    member->ticks_ms = now_ms;
    member->clock_ms += passed_ms < TICK_MS ? passed_ms : TICK_MS;
    const uint64_t silent_ms = sh_silence_ms(&member->silence, member->clock_ms);
    const uint64_t limit_ms =
        member->welcomed ? sh_silence_limit_ms(&member->silence, false) : SH_CHANNEL_PATIENCE_MS;
    if (member->channel == NULL || !member->connected || silent_ms < limit_ms)
        return;
    snprintf(reason, sizeof reason, "nothing was heard from the coordinator for %.1f s",
             (double)silent_ms / 1000);
    sh_channel_stats_get(member->channel, &member->closed_stats);
    sh_channel_close(member->channel);
    member->channel = NULL;
    lose_coordinator(member, member->welcomed ? SH_PEER_LOST : SH_NETWORK, reason);
}

/* ---- connections to the listener ------------------------------------------------------------- */

static bool is_able(const sh_member *member)
{
    return member->options.may_lead && member->failover.chain.count > 0 &&
           (member->delivery == NULL || sh_delivery_is_whole(member->delivery)) &&
           sh_agent_is_whole(member->agent);
}

static void tell_whereabouts(sh_member *member, sh_channel *channel)
{
    char host[SH_ADDRESS_TEXT] = "";
    Shoal__Whereabouts body = SHOAL__WHEREABOUTS__INIT;
    body.term = member->failover.term;
    body.lost = member->channel == NULL || !member->welcomed;
    body.able = is_able(member);
    body.heard_ms = (uint32_t)sh_silence_ms(&member->silence, member->clock_ms);
    if (!body.lost) {
        sh_channel_peer_host(member->channel, host);
        body.port = member->failover.token.addresses[0].port;
    }
    body.host = host;
    sh_callers_answer(&member->callers, channel, &body);
}

static void on_accept(void *context, sh_channel *channel, const char *identity)
{
    sh_member *member = context;
    if (strcmp(identity, SH_TOKEN_IDENTITY) == 0) {
        tell_whereabouts(member, channel);
        return;
    }
    if (!sh_agent_accept(member->agent, channel, identity) &&
        !sh_supply_accept(member->supply, channel, identity))
        sh_channel_close(channel);
}

static void on_heartbeat(void *context, const sh_heartbeat *heartbeat)
{
    sh_member *member = context;
    sh_heartbeat whole = *heartbeat;
    sh_heartbeat_message body;
    Shoal__Message message = SH_MESSAGE_INIT(NOTICE, notice, &body.body);
    watch_coordinator(member);
    if (!member->welcomed || member->closing)
        return;
    whole.able = is_able(member);
    sh_channel_stats all = {whole.done.bytes_sent, whole.done.bytes_received, whole.traffic};
    sh_channel_stats_add(&all, member->closed_stats);
    sh_channel_stats_count(&all, member->channel);
    sh_channel_stats_add(&all, sh_supply_stats(member->supply));
    const sh_channel_stats fetched = sh_delivery_stats(member->delivery);
    sh_channel_stats_add(&all, fetched);
    whole.notice.doing.progress += fetched.received_bytes >> BLOCK_BITS;
    all.traffic.busy_ns = heartbeat->traffic.busy_ns; /* of links and transfers only */
    whole.done.bytes_sent = all.sent_bytes;
    whole.done.bytes_received = all.received_bytes;
    sh_telemetry_network(member->telemetry, &all);
    sh_heartbeat_write(&body, &whole);
    send_message(member, &message);
}

/* ---- messages from the coordinator ----------------------------------------------------------- */

static sh_status open_door(sh_member *member, const char *host)
{
    const sh_listener_options options = {.host = host,
                                         .port = member->options.port,
                                         .option = "--port",
                                         .on_accept = on_accept,
                                         .context = member};
    sh_listener_options again = options;
    again.port = member->options.last_port;
    if (again.port == 0 || options.port != 0 ||
        sh_listener_open(&member->listener, member->options.loop, &again) != SH_OK)
        SH_TRY(sh_listener_open(&member->listener, member->options.loop, &options));
    return sh_listener_allow(member->listener, SH_TOKEN_IDENTITY, member->token_key);
}

static void on_open(void *context, sh_channel *channel)
{
    sh_member *member = context;
    sh_endpoint *own = &member->failover.own;
    char host[SH_ADDRESS_TEXT];
    unsigned char key[SH_KEY_BYTES];
    member->connected = true;
    sh_silence_begin(&member->silence, member->clock_ms);
    sh_channel_local_address(channel, host);
    if (sh_leader_public(key, member->options.key) != SH_OK || open_door(member, host) != SH_OK) {
        end(member, SH_NETWORK, sh_message());
        return;
    }
    snprintf(own->host, sizeof own->host, "%s", host);
    own->port = sh_listener_port(member->listener);
    sh_agent_set_listener(member->agent, member->listener);
    Shoal__Hello hello = SHOAL__HELLO__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(HELLO, hello, &hello);
    hello.version = (char *)(uintptr_t)sh_version();
    hello.name = (char *)(uintptr_t)member->options.name;
    hello.origin = (ProtobufCBinaryData){SH_MESSAGE_ORIGIN_BYTES,
                                         (uint8_t *)(uintptr_t)member->options.origin};
    hello.key = (ProtobufCBinaryData){SH_KEY_BYTES, key};
    hello.link_port = own->port;
    hello.local = member->options.local;
    send_message(member, &message);
}

static void tell_moved(const sh_member *member, const sh_endpoint *endpoint)
{
    sh_endpoint *copy = malloc(sizeof *copy);
    if (copy != NULL)
        *copy = *endpoint;
    sh_mailbox_post(member->options.mailbox, &(sh_mail){.kind = SH_MAIL_MOVED,
                                                        .status = SH_PEER_LOST,
                                                        .data = copy,
                                                        .data_bytes = sizeof *copy,
                                                        .text = "another device coordinates"});
}

static sh_status move(sh_member *member, uint32_t device, const char *host, uint32_t port)
{
    sh_endpoint endpoint = {.device = device, .port = (uint16_t)port};
    if (host[0] == '\0' || strlen(host) >= sizeof endpoint.host || port == 0 || port > UINT16_MAX)
        return sh_fail(SH_FORMAT, "a coordinator that cannot be reached");
    snprintf(endpoint.host, sizeof endpoint.host, "%s", host);
    sh_agent_abandon(member->agent);
    tell_moved(member, &endpoint);
    return SH_OK;
}

/* Before the proof, ignores all messages except the coordinator's new address; the coordinator
 * there must prove itself too. */
static sh_status take_proof(sh_member *member, const Shoal__Message *message)
{
    sh_claimed claimed;
    if (message->body_case == SHOAL__MESSAGE__BODY_WHEREABOUTS) {
        const Shoal__Whereabouts *body = message->whereabouts;
        if (!body->lost)
            return move(member, 0, body->host, body->port);
        return sh_fail(SH_NETWORK, "the device there has lost the coordinator");
    }
    if (sh_claim_read(&claimed, message, member->channel, member->failover.token.leader) != SH_OK)
        return sh_fail(SH_REFUSED, "the device at the token's address has the token, but is not "
                                   "the coordinator that made it: check who answers there");
    if (claimed.term < member->options.term)
        return sh_fail(SH_NETWORK, "the coordinator there is outdated");
    member->failover.term = claimed.term;
    member->proved = true;
    return SH_OK;
}

/* Without warrants from the token's key to its own, this device cannot lead. */
static void take_warrants(sh_member *member, const Shoal__Welcome *body)
{
    unsigned char own[SH_KEY_BYTES];
    sh_leader_chain *chain = &member->failover.chain;
    if (sh_chain_read(chain, body->warrants, body->n_warrants) != SH_OK ||
        sh_leader_public(own, member->options.key) != SH_OK ||
        sh_leader_check_chain(chain, member->failover.token.leader, own) != SH_OK)
        chain->count = 0;
}

static sh_status take_endpoint(sh_endpoint *endpoint, const Shoal__Successor *one)
{
    *endpoint = (sh_endpoint){.device = one->device};
    if (strlen(one->host) >= sizeof endpoint->host || one->port > UINT16_MAX)
        return sh_fail(SH_FORMAT, "a device with an invalid address");
    snprintf(endpoint->host, sizeof endpoint->host, "%s", one->host);
    endpoint->port = endpoint->host[0] == '\0' ? 0 : (uint16_t)one->port;
    return SH_OK;
}

static sh_status take_successors(sh_member *member, const Shoal__Successors *body)
{
    sh_failover_state *failover = &member->failover;
    if (body->n_successors > SH_SUCCESSORS_MAX || body->n_known > SH_ENDPOINTS_MAX ||
        body->devices > SH_DEVICES_MAX ||
        (body->used > SH_DEVICES_MAX && body->used != SH_STANDBY_AUTO) ||
        !(body->audit >= 0 && body->audit <= 100))
        return sh_fail(SH_FORMAT, "too many successors");
    failover->devices = body->devices;
    failover->used = body->used;
    failover->audit = body->audit;
    failover->successor_count = 0;
    for (size_t i = 0; i < body->n_successors; i++)
        SH_TRY(
            take_endpoint(&failover->successors[failover->successor_count++], body->successors[i]));
    failover->known.count = 0;
    for (size_t i = 0; i < body->n_known; i++) {
        sh_endpoint known;
        SH_TRY(take_endpoint(&known, body->known[i]));
        if (known.port != 0 && !sh_endpoint_equals(&known, &failover->own))
            sh_endpoints_add(&failover->known, &known);
    }
    return SH_OK;
}

static sh_status take_probe(sh_member *member, const Shoal__Probe *body)
{
    static uint8_t padding[SH_MESSAGE_PADDING_MAX];
    Shoal__Echo echo = SHOAL__ECHO__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(ECHO, echo, &echo);
    if (body->wanted > SH_MESSAGE_PADDING_MAX)
        return sh_fail(SH_FORMAT, "a probe that requests too much");
    echo.number = body->number;
    echo.padding = (ProtobufCBinaryData){body->wanted, padding};
    send_message(member, &message);
    return SH_OK;
}

static sh_status take_welcome(sh_member *member, const Shoal__Message *message)
{
    const Shoal__Welcome *body = message->welcome;
    sh_job job;
    SH_TRY(sh_job_from_text(&job, body->job));
    SH_TRY(sh_job_complete(&job));
    sh_welcome *welcome = calloc(1, sizeof *welcome);
    if (welcome == NULL)
        return sh_fail_memory(sizeof *welcome, "a welcome");
    welcome->job = job;
    snprintf(welcome->fingerprint, sizeof welcome->fingerprint, "%.*s", SH_DIGEST_TEXT - 1,
             body->fingerprint);
    sh_status status = sh_sources_read(&welcome->sources, body->sources, body->n_sources);
    if (status == SH_OK && body->data_key.len != SH_KEY_BYTES)
        status = sh_fail(SH_FORMAT, "a welcome without a key");
    if (status != SH_OK) {
        sh_key_free(welcome, sizeof *welcome);
        return status;
    }
    memcpy(member->data_key, body->data_key.data, SH_KEY_BYTES);
    take_warrants(member, body);
    member->welcomed = true;
    member->job = message->job;
    member->failover.device = body->device;
    sh_mailbox_post(
        member->options.mailbox,
        &(sh_mail){.kind = SH_MAIL_WELCOME, .data = welcome, .data_bytes = sizeof *welcome});
    return SH_OK;
}

static sh_status handle_message(sh_member *member, const Shoal__Message *message)
{
    sh_orders orders;
    if (!member->proved)
        return take_proof(member, message);
    const bool is_welcome = message->body_case == SHOAL__MESSAGE__BODY_WELCOME;
    if (message->body_case == SHOAL__MESSAGE__BODY_REFUSE) {
        const Shoal__Refuse *refuse = message->refuse;
        char text[SH_MESSAGE_BYTES];
        snprintf(text, sizeof text, "the others continued without this device: %.800s",
                 refuse->reason);
        if (refuse->again)
            sh_mailbox_post_text(member->options.mailbox, SH_MAIL_LOST, SH_PEER_LOST, text);
        else
            end(member, SH_REFUSED, refuse->reason);
        return SH_OK;
    }
    const bool is_end = message->body_case == SHOAL__MESSAGE__BODY_END;
    if (is_welcome ? member->welcomed : !member->welcomed && !is_end)
        return sh_fail(SH_FORMAT, "the coordinator sent a message out of turn");
    if (member->welcomed && message->job != member->job)
        return sh_fail(SH_FORMAT, "the coordinator sent a message out of turn");
    switch (message->body_case) {
    case SHOAL__MESSAGE__BODY_WELCOME:
        return take_welcome(member, message);
    case SHOAL__MESSAGE__BODY_ORDER:
        SH_TRY(sh_orders_read(&orders, message->order, member->failover.device));
        sh_agent_follow(member->agent, &orders);
        sh_key_wipe(&orders, sizeof orders);
        return SH_OK;
    case SHOAL__MESSAGE__BODY_BEAT:
        return SH_OK;
    case SHOAL__MESSAGE__BODY_SUCCESSORS:
        return take_successors(member, message->successors);
    case SHOAL__MESSAGE__BODY_PROBE:
        return take_probe(member, message->probe);
    case SHOAL__MESSAGE__BODY_REST:
        sh_mailbox_post_text(member->options.mailbox, SH_MAIL_STANDBY, SH_OK,
                             message->rest->reason);
        return SH_OK;
    case SHOAL__MESSAGE__BODY_MOVED:
        return move(member, message->moved->device, message->moved->host, message->moved->port);
    case SHOAL__MESSAGE__BODY_END:
        end(member,
            message->end->status <= SH_INTERNAL ? (sh_status)message->end->status : SH_INTERNAL,
            message->end->reason);
        return SH_OK;
    default:
        return sh_fail(SH_FORMAT, "the coordinator sent a message that only a device may");
    }
}

static void on_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    sh_member *member = context;
    Shoal__Message *message;
    (void)channel;
    sh_silence_heard(&member->silence, member->clock_ms);
    sh_status status = sh_message_unpack(&message, body, bytes);
    if (status == SH_OK) {
        status = handle_message(member, message);
        sh_message_free(message);
    }
    if (status == SH_NETWORK)
        sh_mailbox_post_text(member->options.mailbox, SH_MAIL_LOST, status, sh_message());
    else if (status != SH_OK)
        end(member, status, sh_message());
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    sh_member *member = context;
    sh_channel_stats_get(channel, &member->closed_stats);
    member->channel = NULL;
    if (member->closing) {
        sh_mailbox_post_text(member->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
        return;
    }
    lose_coordinator(member, why == SH_OK ? SH_PEER_LOST : why,
                     why == SH_OK ? "the coordinator closed the connection" : reason);
}

static const sh_channel_events coordinator_events = {
    .on_open = on_open,
    .on_control = on_control,
    .on_close = on_close,
};

typedef struct parcel {
    sh_member *member;
    sh_telemetry_batch batch;
} parcel;

static void send_batch(void *context)
{
    parcel *sent = context;
    sh_telemetry_message *body = sh_telemetry_batch_write(&sent->batch);
    if (body != NULL) {
        Shoal__Message message = SH_MESSAGE_INIT(FIGURES, figures, &body->body);
        send_message(sent->member, &message);
    }
    free(body);
    free(sent);
}

static void on_batch(void *context, const sh_telemetry_batch *batch)
{
    sh_member *member = context;
    parcel *fresh = malloc(sizeof *fresh);
    if (fresh == NULL)
        return;
    fresh->member = member;
    fresh->batch = *batch;
    if (sh_loop_post(member->options.loop, send_batch, fresh) != SH_OK)
        free(fresh);
}

void sh_member_step(sh_member *member, const sh_step_times *times)
{
    sh_telemetry_step(member->telemetry, times);
}

typedef struct request {
    sh_member *member;
    const char *fingerprint, *first_grain, *reason;
    uint32_t lanes;
    sh_delivery *delivery;
    sh_supply *supply;
    sh_telemetry *telemetry;
    sh_failover_state *failover;
    sh_endpoint caller;
    sh_status status;
    char text[SH_MESSAGE_BYTES];
} request;

static void do_connect(void *context)
{
    request *asked = context;
    sh_member *member = asked->member;
    const sh_token *token = &member->failover.token;
    member->ticks_ms = sh_clock_now_ns(sh_clock_system()) / 1000000;
    sh_silence_begin(&member->silence, 0);
    asked->status = sh_token_key(member->token_key, token);
    if (asked->status == SH_OK)
        asked->status = sh_channel_connect(&member->channel, member->options.loop,
                                           &(sh_channel_target){.host = token->addresses[0].host,
                                                                .port = token->addresses[0].port,
                                                                .identity = SH_TOKEN_IDENTITY,
                                                                .key = member->token_key},
                                           &coordinator_events, member);
    snprintf(asked->text, sizeof asked->text, "%s", sh_message());
}

sh_status sh_member_connect(sh_member **member, const sh_member_options *options)
{
    sh_member *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a connection");
    fresh->options = *options;
    fresh->failover.token = *options->token;
    memcpy(fresh->failover.key, options->key, SH_KEY_BYTES);
    request asked = {.member = fresh};
    asked.status = sh_agent_new(&fresh->agent, &(sh_agent_options){.loop = options->loop,
                                                                   .mailbox = options->mailbox,
                                                                   .on_heartbeat = on_heartbeat,
                                                                   .context = fresh});
    if (asked.status == SH_OK)
        sh_loop_call(options->loop, do_connect, &asked);
    else
        snprintf(asked.text, sizeof asked.text, "%s", sh_message());
    fresh->options.token = NULL;
    if (asked.status != SH_OK) {
        sh_agent_close(fresh->agent);
        sh_key_free(fresh, sizeof *fresh);
        return sh_fail(asked.status, "%s", asked.text);
    }
    *member = fresh;
    return SH_OK;
}

static void do_ready(void *context)
{
    request *asked = context;
    Shoal__Ready ready = SHOAL__READY__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(READY, ready, &ready);
    sh_member *member = asked->member;
    member->delivery = asked->delivery;
    member->telemetry = asked->telemetry;
    if (asked->supply != NULL && member->listener != NULL) {
        char identity[SH_LINK_IDENTITY];
        member->supply = asked->supply;
        sh_data_identity(identity, member->failover.device);
        ready.has_data = sh_listener_allow(member->listener, identity, member->data_key) == SH_OK;
    }
    ready.lanes = asked->lanes;
    ready.fingerprint = (char *)(uintptr_t)asked->fingerprint;
    ready.first_grain = (char *)(uintptr_t)asked->first_grain;
    send_message(asked->member, &message);
}

void sh_member_ready(sh_member *member, sh_session *session, const char *first_grain,
                     sh_delivery *delivery, bool whole)
{
    sh_telemetry *telemetry = NULL;
    if (sh_telemetry_open(&telemetry, &(sh_telemetry_options){on_batch, member}) != SH_OK)
        sh_log(SH_LOG_WARN, "monitor.failed", "reason=\"%s\"", sh_message());
    const sh_contents *contents;
    const sh_dataset *dataset = sh_pipeline_dataset(session->pipeline);
    sh_supply *supply = NULL;
    if ((delivery == NULL || sh_delivery_is_whole(delivery)) &&
        sh_contents_of(&contents, dataset) == SH_OK &&
        sh_supply_new(&supply, &(sh_supply_options){.loop = member->options.loop,
                                                    .dataset = dataset,
                                                    .network = session->network,
                                                    .device = member->failover.device}) != SH_OK)
        supply = NULL;
    sh_loop_call(member->options.loop, do_ready,
                 &(request){.member = member,
                            .delivery = delivery,
                            .supply = supply,
                            .telemetry = telemetry,
                            .lanes = sh_lanes_count(sh_trainer_lanes(session->trainer)),
                            .fingerprint = sh_pipeline_about(session->pipeline)->fingerprint,
                            .first_grain = first_grain});
    if (member->supply != supply) /* the listener is already closed */
        sh_supply_free(supply);
    sh_agent_begin(member->agent, member->failover.device, session, whole);
}

static void do_fail(void *context)
{
    request *asked = context;
    Shoal__Fail fail = SHOAL__FAIL__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(FAIL, fail, &fail);
    fail.reason = (char *)(uintptr_t)asked->reason;
    if (asked->member->welcomed)
        send_message(asked->member, &message);
}

void sh_member_fail(sh_member *member, const char *reason)
{
    sh_loop_call(member->options.loop, do_fail, &(request){.member = member, .reason = reason});
}

sh_agent *sh_member_agent(const sh_member *member)
{
    return member->agent;
}

static void do_copy(void *context)
{
    const request *asked = context;
    *asked->failover = asked->member->failover;
}

static void do_see_caller(void *context)
{
    request *asked = context;
    asked->caller = asked->member->callers.coordinator;
}

bool sh_member_caller(sh_member *member, sh_endpoint *endpoint)
{
    request asked = {.member = member};
    sh_loop_call(member->options.loop, do_see_caller, &asked);
    if (asked.caller.port != 0)
        *endpoint = asked.caller;
    return asked.caller.port != 0;
}

void sh_member_failover_state(sh_member *member, sh_failover_state *failover)
{
    sh_loop_call(member->options.loop, do_copy, &(request){.member = member, .failover = failover});
}

static void do_detach(void *context)
{
    sh_member *member = context;
    member->telemetry = NULL;
}

static void do_part(void *context)
{
    sh_member *member = context;
    sh_agent_set_listener(member->agent, NULL);
    sh_callers_close(&member->callers);
    sh_listener_close(member->listener);
    member->listener = NULL;
    if (member->welcomed)
        sh_agent_report(member->agent);
    member->closing = true;
    if (member->channel != NULL)
        sh_channel_flush_close(member->channel);
    else
        sh_mailbox_post_text(member->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
}

static void do_close(void *context)
{
    sh_member *member = context;
    sh_supply_close(member->supply);
    sh_channel_close(member->channel);
    member->channel = NULL;
}

void sh_member_close(sh_member *member)
{
    sh_mail mail = {.kind = SH_MAIL_NOTE};
    if (member == NULL)
        return;
    sh_loop *loop = member->options.loop;
    sh_telemetry *telemetry = member->telemetry;
    sh_loop_call(loop, do_detach, member);
    sh_telemetry_close(telemetry); /* posts the last batch */
    sh_loop_call(loop, do_part, member);
    while (mail.kind != SH_MAIL_CLOSED &&
           sh_mailbox_wait(member->options.mailbox, &mail, NULL, GOODBYE_MS) == SH_OK)
        sh_mail_drop(&mail);
    sh_loop_call(loop, do_close, member);
    sh_agent_close(member->agent);
    sh_supply_free(member->supply);
    sh_key_free(member, sizeof *member);
}
