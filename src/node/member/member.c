/* SPDX-License-Identifier: Apache-2.0 */
/* Everything here but the functions of member.h runs on the loop's thread. */
#include "node/member/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "shoal/about.h"
#include "train/job_json.h"

#define BLOCK_BITS 14 /* data that come are progress, by so many bytes */
#define GOODBYE_MS (SH_CHANNEL_GOODBYE_MS + 1000)

struct sh_member {
    sh_member_options options;
    sh_channel *channel; /* to the coordinator; NULL once it is gone */
    sh_station *station;
    sh_listener *listener;
    sh_supply *supply;     /* of the data; NULL where this device does not give them */
    sh_delivery *delivery; /* to it; NULL where it has them */
    unsigned char data_key[SH_KEY_BYTES];
    unsigned char leader[SH_LEADER_FINGERPRINT_BYTES]; /* the coordinator's, as the token says */
    bool closing, proved /* that it is the coordinator */, welcomed;
    uint64_t job;
    uint32_t device;
    sh_channel_stats closed_stats;
    sh_telemetry *telemetry; /* NULL before it is ready, and where it cannot be had */
};

static void send_message(sh_member *member, Shoal__Message *message)
{
    if (member->channel == NULL)
        return;
    message->job = member->job;
    const sh_status sent = sh_message_send(member->channel, message);
    (void)sent; /* the channel's end will tell */
}

/* A lane may wait for a sample that does not come any more. */
static void end_delivery(const sh_member *member, sh_status status, const char *reason)
{
    if (member->delivery != NULL)
        sh_delivery_fail(member->delivery, status == SH_OK ? SH_STOPPED : status, reason);
}

static void end(sh_member *member, sh_status status, const char *reason)
{
    end_delivery(member, status, reason);
    sh_mailbox_tell(member->options.mailbox, SH_MAIL_END, status, reason);
}

/* Another device comes to link, or to take the replica or data. */
static void on_accept(void *context, sh_channel *channel, const char *identity)
{
    const sh_member *member = context;
    if (!sh_station_accept(member->station, channel, identity) &&
        !sh_supply_accept(member->supply, channel, identity))
        sh_channel_close(channel);
}

static void on_standing(void *context, const sh_standing *standing)
{
    sh_member *member = context;
    sh_standing whole = *standing;
    sh_standing_message body;
    Shoal__Message message = SH_MESSAGE_INIT(NOTICE, notice, &body.body);
    if (!member->welcomed || member->closing)
        return;
    sh_channel_stats all = {whole.done.bytes_sent, whole.done.bytes_received, whole.traffic};
    sh_channel_stats_add(&all, member->closed_stats);
    sh_channel_stats_count(&all, member->channel);
    sh_channel_stats_add(&all, sh_supply_stats(member->supply));
    const sh_channel_stats fetched = sh_delivery_stats(member->delivery);
    sh_channel_stats_add(&all, fetched);
    whole.notice.doing.progress += fetched.received_bytes >> BLOCK_BITS;
    all.traffic.busy_ns = standing->traffic.busy_ns; /* of links alone */
    whole.done.bytes_sent = all.sent_bytes;
    whole.done.bytes_received = all.received_bytes;
    sh_telemetry_network(member->telemetry, &all);
    sh_standing_write(&body, &whole);
    send_message(member, &message);
}

/* Connected: open the door on the address by which the coordinator sees us, and say hello. */
static void on_open(void *context, sh_channel *channel)
{
    sh_member *member = context;
    char host[SH_ADDRESS_TEXT];
    sh_channel_local_address(channel, host);
    if (sh_listener_open(&member->listener, member->options.loop,
                         &(sh_listener_options){.host = host,
                                                .port = member->options.port,
                                                .option = "--port",
                                                .on_accept = on_accept,
                                                .context = member}) != SH_OK) {
        end(member, SH_NETWORK, sh_message());
        return;
    }
    sh_station_set_door(member->station, member->listener);
    Shoal__Hello hello = SHOAL__HELLO__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(HELLO, hello, &hello);
    hello.version = (char *)(uintptr_t)sh_version();
    hello.name = (char *)(uintptr_t)member->options.name;
    hello.origin = (ProtobufCBinaryData){SH_MESSAGE_ORIGIN_BYTES,
                                         (uint8_t *)(uintptr_t)member->options.origin};
    hello.link_port = sh_listener_port(member->listener);
    hello.local = member->options.local;
    send_message(member, &message);
}

/* Before its proof, nothing that the other side says counts. */
static sh_status take_proof(sh_member *member, const Shoal__Message *message)
{
    unsigned char binding[SH_LEADER_BINDING_BYTES];
    sh_leader_proof proof = {{0}, {0}};
    const Shoal__Proof *body = message->proof;
    const bool whole = message->body_case == SHOAL__MESSAGE__BODY_PROOF &&
                       body->key.len == SH_KEY_BYTES && body->signature_point.len == SH_KEY_BYTES &&
                       body->signature_scalar.len == SH_KEY_BYTES;
    if (whole) {
        memcpy(proof.key, body->key.data, SH_KEY_BYTES);
        memcpy(proof.signature, body->signature_point.data, SH_KEY_BYTES);
        memcpy(proof.signature + SH_KEY_BYTES, body->signature_scalar.data, SH_KEY_BYTES);
    }
    SH_TRY(sh_channel_binding(member->channel, binding));
    if (sh_leader_check(&proof, member->leader, binding) != SH_OK)
        return sh_fail(SH_REFUSED, "the device at the token's address has the token, and is not "
                                   "the coordinator that made it: see who answers there");
    member->proved = true;
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
    member->welcomed = true;
    member->job = message->job;
    member->device = body->device;
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
        snprintf(text, sizeof text, "the others went on without this device: %.800s",
                 refuse->reason);
        if (refuse->again)
            sh_mailbox_tell(member->options.mailbox, SH_MAIL_LOST, SH_PEER_LOST, text);
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
        SH_TRY(sh_orders_read(&orders, message->order, member->device));
        sh_station_follow(member->station, &orders);
        sh_key_wipe(&orders, sizeof orders);
        return SH_OK;
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
    sh_status status = sh_message_unpack(&message, body, bytes);
    if (status == SH_OK) {
        status = handle_message(member, message);
        sh_message_free(message);
    }
    if (status != SH_OK)
        end(member, status, sh_message());
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    sh_member *member = context;
    sh_channel_stats_get(channel, &member->closed_stats);
    member->channel = NULL;
    if (member->closing) {
        sh_mailbox_tell(member->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
        return;
    }
    end_delivery(member, SH_PEER_LOST, "the coordinator is lost");
    sh_mailbox_tell(member->options.mailbox, SH_MAIL_LOST, why == SH_OK ? SH_PEER_LOST : why,
                    why == SH_OK ? "the coordinator closed the connection" : reason);
}

static const sh_channel_events coordinator_events = {
    .on_open = on_open,
    .on_control = on_control,
    .on_close = on_close,
};

/* A batch on its way from the monitor's thread to the loop's. */
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

/* A call from the device's thread, carried out on the loop's. */
typedef struct request {
    sh_member *member;
    const char *fingerprint, *first_grain, *reason;
    uint32_t lanes;
    sh_delivery *delivery;
    sh_supply *supply;
    sh_telemetry *telemetry;
    sh_status status;
    char text[SH_MESSAGE_BYTES];
} request;

static void do_connect(void *context)
{
    request *asked = context;
    sh_member *member = asked->member;
    const sh_token *token = member->options.token;
    unsigned char key[SH_KEY_BYTES];
    memcpy(member->leader, token->leader, sizeof member->leader);
    asked->status = sh_token_key(key, token);
    if (asked->status == SH_OK)
        asked->status = sh_channel_connect(&member->channel, member->options.loop,
                                           &(sh_channel_target){.host = token->host,
                                                                .port = token->port,
                                                                .identity = SH_TOKEN_IDENTITY,
                                                                .key = key},
                                           &coordinator_events, member);
    sh_key_wipe(key, sizeof key);
    snprintf(asked->text, sizeof asked->text, "%s", sh_message());
}

sh_status sh_member_connect(sh_member **member, const sh_member_options *options)
{
    sh_member *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a connection");
    fresh->options = *options;
    request asked = {.member = fresh};
    asked.status =
        sh_station_new(&fresh->station, &(sh_station_options){.loop = options->loop,
                                                              .mailbox = options->mailbox,
                                                              .on_standing = on_standing,
                                                              .context = fresh});
    if (asked.status == SH_OK)
        sh_loop_call(options->loop, do_connect, &asked);
    else
        snprintf(asked.text, sizeof asked.text, "%s", sh_message());
    fresh->options.token = NULL;
    if (asked.status != SH_OK) {
        sh_station_close(fresh->station);
        free(fresh);
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
        sh_data_identity(identity, member->device);
        ready.has_data = sh_listener_allow(member->listener, identity, member->data_key) == SH_OK;
    }
    ready.lanes = asked->lanes;
    ready.fingerprint = (char *)(uintptr_t)asked->fingerprint;
    ready.first_grain = (char *)(uintptr_t)asked->first_grain;
    send_message(asked->member, &message);
}

void sh_member_ready(sh_member *member, sh_workbench *bench, const char *first_grain,
                     sh_delivery *delivery)
{
    sh_telemetry *telemetry = NULL;
    if (sh_telemetry_open(&telemetry, &(sh_telemetry_options){on_batch, member}) != SH_OK)
        sh_log(SH_LOG_WARN, "monitor.failed", "reason=\"%s\"", sh_message());
    const sh_contents *contents;
    const sh_dataset *dataset = sh_pipeline_dataset(bench->pipeline);
    sh_supply *supply = NULL; /* of the data; NULL where this device has none to give */
    if ((delivery == NULL || sh_delivery_is_whole(delivery)) &&
        sh_contents_of(&contents, dataset) == SH_OK &&
        sh_supply_new(&supply, &(sh_supply_options){.loop = member->options.loop,
                                                    .dataset = dataset,
                                                    .network = bench->network,
                                                    .device = member->device}) != SH_OK)
        supply = NULL;
    sh_loop_call(member->options.loop, do_ready,
                 &(request){.member = member,
                            .delivery = delivery,
                            .supply = supply,
                            .telemetry = telemetry,
                            .lanes = sh_lanes_count(sh_trainer_lanes(bench->trainer)),
                            .fingerprint = sh_pipeline_about(bench->pipeline)->fingerprint,
                            .first_grain = first_grain});
    if (member->supply != supply) /* there is no door any more */
        sh_supply_free(supply);
    sh_station_begin(member->station, member->device, bench, false);
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

sh_station *sh_member_station(const sh_member *member)
{
    return member->station;
}

/* From here on the loop leaves the telemetry alone. */
static void do_detach(void *context)
{
    sh_member *member = context;
    member->telemetry = NULL;
}

static void do_part(void *context)
{
    sh_member *member = context;
    sh_station_set_door(member->station, NULL);
    sh_listener_close(member->listener);
    member->listener = NULL;
    if (member->welcomed)
        sh_station_report(member->station);
    member->closing = true;
    if (member->channel != NULL)
        sh_channel_flush_close(member->channel);
    else
        sh_mailbox_tell(member->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
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
    sh_station_close(member->station);
    sh_supply_free(member->supply);
    sh_key_wipe(member->data_key, sizeof member->data_key);
    free(member);
}
