/* SPDX-License-Identifier: Apache-2.0 */
/* Everything here but the functions of member.h runs on the loop's thread. */
#include "node/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/listener.h"
#include "shoal/about.h"

#define GOODBYE_MS (SH_CHANNEL_GOODBYE_MS + 1000)

struct sh_device_member {
    sh_member_options options;
    sh_channel *channel; /* to the coordinator; NULL once it is gone */
    bool closing;
    sh_listener *listener;
    uint64_t job;
    uint32_t device, view;
    bool welcomed;
    sh_snapshot_block blocks[SH_SNAPSHOT_BLOCKS];
    uint32_t block_count, blocks_taken; /* count 0: not yet known where to */
    sh_ring *ring;
    char ring_identity[SH_LINK_IDENTITY];
    sh_channel_stats closed_stats;
};

static void send_message(sh_device_member *member, Shoal__Message *message)
{
    uint8_t *bytes;
    size_t count;
    if (member->channel == NULL)
        return;
    message->job = member->job;
    message->view = member->view;
    if (sh_message_pack(&bytes, &count, message) != SH_OK)
        return;
    const sh_status sent = sh_channel_send_control(member->channel, bytes, count);
    (void)sent; /* the channel's end will tell */
    free(bytes);
}

/* The previous device of the ring comes to link. */
static void on_accept(void *context, sh_channel *channel, const char *identity)
{
    sh_device_member *member = context;
    if (member->ring == NULL || strcmp(identity, member->ring_identity) != 0 ||
        sh_ring_take_previous(member->ring, channel) != SH_OK)
        sh_channel_close(channel);
}

static void end(sh_device_member *member, sh_status status, const char *reason)
{
    if (member->ring != NULL && status != SH_OK)
        sh_ring_abort(member->ring, status, reason);
    sh_mailbox_tell(member->options.mailbox, SH_MAIL_END, status, reason);
}

/* Connected: open the door on the address by which the coordinator sees us, and say hello. */
static void on_open(void *context, sh_channel *channel)
{
    sh_device_member *member = context;
    char host[SH_ADDRESS_TEXT];
    sh_channel_local_address(channel, host);
    if (sh_listener_open(&member->listener, member->options.loop,
                         &(sh_listener_options){
                             .host = host, .on_accept = on_accept, .context = member}) != SH_OK) {
        end(member, SH_NETWORK, sh_message());
        return;
    }
    Shoal__Hello hello = SHOAL__HELLO__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(HELLO, hello, &hello);
    hello.version = (char *)(uintptr_t)sh_version();
    hello.name = (char *)(uintptr_t)member->options.name;
    hello.lanes = member->options.lanes;
    hello.link_port = sh_listener_port(member->listener);
    hello.local = member->options.local;
    send_message(member, &message);
}

static sh_status read_job(sh_job *job, const Shoal__Job *body)
{
    sh_job_init(job);
#define SH_JOB_TEXT(member, mark, option)                                                          \
    if (strlen(body->member) >= sizeof job->member)                                                \
        return sh_fail(SH_FORMAT, "the job's %s is too long", #member);                            \
    snprintf(job->member, sizeof job->member, "%s", body->member);
#define SH_JOB_U32(member, mark, option) job->member = body->member;
#define SH_JOB_U64(member, mark, option) job->member = body->member;
#define SH_JOB_FLOAT(member, mark, option) job->member = body->member;
#include "train/job_fields.def"
    return sh_job_complete(job);
}

static sh_status take_welcome(sh_device_member *member, const Shoal__Message *message)
{
    const Shoal__Welcome *body = message->welcome;
    sh_job job;
    SH_TRY(read_job(&job, body->job));
    sh_welcome *welcome = calloc(1, sizeof *welcome);
    if (welcome == NULL)
        return sh_fail_memory(sizeof *welcome, "a welcome");
    welcome->job = job;
    welcome->state_bytes = body->state_bytes;
    snprintf(welcome->fingerprint, sizeof welcome->fingerprint, "%.*s", SH_DIGEST_TEXT - 1,
             body->fingerprint);
    member->welcomed = true;
    member->job = message->job;
    member->device = body->device;
    sh_mailbox_post(member->options.mailbox, &(sh_mail){.kind = SH_MAIL_WELCOME, .data = welcome});
    return SH_OK;
}

static sh_status take_view(sh_device_member *member, const Shoal__Message *message)
{
    sh_mail mail = {.kind = SH_MAIL_VIEW};
    SH_TRY(sh_view_read(&mail.view, message, member->device));
    member->view = message->view;
    sh_mailbox_post(member->options.mailbox, &mail);
    sh_key_wipe(&mail, sizeof mail);
    return SH_OK;
}

static sh_status take_end(sh_device_member *member, const Shoal__End *body)
{
    const sh_status status = body->status <= SH_INTERNAL ? (sh_status)body->status : SH_INTERNAL;
    end(member, status, body->reason);
    return SH_OK;
}

static sh_status handle_message(sh_device_member *member, const Shoal__Message *message)
{
    const bool is_welcome = message->body_case == SHOAL__MESSAGE__BODY_WELCOME;
    if (message->body_case == SHOAL__MESSAGE__BODY_REFUSE) {
        end(member, SH_REFUSED, message->refuse->reason);
        return SH_OK;
    }
    if (is_welcome == member->welcomed || (member->welcomed && message->job != member->job))
        return sh_fail(SH_FORMAT, "the coordinator sent a message out of turn");
    switch (message->body_case) {
    case SHOAL__MESSAGE__BODY_WELCOME:
        return take_welcome(member, message);
    case SHOAL__MESSAGE__BODY_NEW_VIEW:
        return take_view(member, message);
    case SHOAL__MESSAGE__BODY_START:
        sh_mailbox_tell(member->options.mailbox, SH_MAIL_START, SH_OK, "");
        return SH_OK;
    case SHOAL__MESSAGE__BODY_END:
        return take_end(member, message->end);
    default:
        return sh_fail(SH_FORMAT, "the coordinator sent a message that only a device may");
    }
}

static void on_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    sh_device_member *member = context;
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

static sh_flow on_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    sh_device_member *member = context;
    (void)channel;
    if (head->kind != SH_FRAME_STATE || !member->welcomed)
        return SH_FLOW_REFUSE;
    if (member->block_count == 0)
        return SH_FLOW_PAUSE; /* until we know where to */
    if (head->bucket != member->blocks_taken || head->bucket >= member->block_count ||
        head->bytes != member->blocks[head->bucket].bytes)
        return SH_FLOW_REFUSE;
    *sink = (sh_sink){
        .mode = SH_SINK_STORE, .data = member->blocks[head->bucket].data, .bytes = head->bytes};
    return SH_FLOW_TAKE;
}

static void on_done(void *context, sh_channel *channel, const sh_frame *head)
{
    sh_device_member *member = context;
    (void)channel;
    (void)head;
    if (++member->blocks_taken == member->block_count)
        sh_mailbox_tell(member->options.mailbox, SH_MAIL_STATE, SH_OK, "");
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    sh_device_member *member = context;
    sh_channel_stats_get(channel, &member->closed_stats);
    member->channel = NULL;
    if (member->closing)
        sh_mailbox_tell(member->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
    else if (why == SH_OK)
        end(member, SH_PEER_LOST, "the coordinator closed the connection");
    else
        end(member, why, reason);
}

static const sh_channel_events coordinator_events = {
    .on_open = on_open,
    .on_frame = on_frame,
    .on_done = on_done,
    .on_control = on_control,
    .on_close = on_close,
};

/* A call from the device's thread, carried out on the loop's. */
typedef struct request {
    sh_device_member *member;
    Shoal__Message *message;
    const sh_snapshot_block *blocks;
    uint32_t block_count;
    sh_ring *ring;
    const sh_view *view;
    sh_channel_stats stats;
    sh_status status;
    char text[SH_MESSAGE_BYTES];
} request;

static void do_connect(void *context)
{
    request *asked = context;
    sh_device_member *member = asked->member;
    const sh_token *token = member->options.token;
    unsigned char key[SH_KEY_BYTES];
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

sh_status sh_member_connect(sh_device_member **member, const sh_member_options *options)
{
    sh_device_member *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a connection");
    fresh->options = *options;
    request asked = {.member = fresh};
    sh_loop_call(options->loop, do_connect, &asked);
    fresh->options.token = NULL;
    if (asked.status != SH_OK) {
        free(fresh);
        return sh_fail(asked.status, "%s", asked.text);
    }
    *member = fresh;
    return SH_OK;
}

static void do_receive(void *context)
{
    request *asked = context;
    sh_device_member *member = asked->member;
    memcpy(member->blocks, asked->blocks, asked->block_count * sizeof *asked->blocks);
    member->block_count = asked->block_count;
    if (member->channel != NULL)
        sh_channel_resume(member->channel);
}

void sh_member_receive(sh_device_member *member, const sh_snapshot_block *blocks, uint32_t count)
{
    sh_loop_call(member->options.loop, do_receive,
                 &(request){.member = member, .blocks = blocks, .block_count = count});
}

static void do_send(void *context)
{
    request *asked = context;
    send_message(asked->member, asked->message);
}

static void send_from_outside(sh_device_member *member, Shoal__Message *message)
{
    sh_loop_call(member->options.loop, do_send, &(request){.member = member, .message = message});
}

void sh_member_ready(sh_device_member *member, const char *fingerprint, const char *family)
{
    Shoal__Ready ready = SHOAL__READY__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(READY, ready, &ready);
    ready.fingerprint = (char *)(uintptr_t)fingerprint;
    ready.family = (char *)(uintptr_t)family;
    send_from_outside(member, &message);
}

static void do_opened(void *context)
{
    request *asked = context;
    sh_device_member *member = asked->member;
    const sh_view *view = asked->view;
    Shoal__Opened opened = SHOAL__OPENED__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(OPENED, opened, &opened);
    sh_view_identity(member->ring_identity, view, (view->rank + view->devices - 1) % view->devices);
    member->ring = asked->ring;
    asked->status =
        sh_listener_allow(member->listener, member->ring_identity, view->key_from_previous);
    snprintf(asked->text, sizeof asked->text, "%s", sh_message());
    if (asked->status == SH_OK)
        send_message(member, &message);
}

sh_status sh_member_opened(sh_device_member *member, sh_ring *ring, const sh_view *view)
{
    request asked = {.member = member, .ring = ring, .view = view};
    sh_loop_call(member->options.loop, do_opened, &asked);
    return asked.status == SH_OK ? SH_OK : sh_fail(asked.status, "%s", asked.text);
}

void sh_member_report(sh_device_member *member, const sh_device_report *report,
                      const char *weights_hash)
{
    Shoal__Report body = SHOAL__REPORT__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(REPORT, report, &body);
    body.grains = report->grains;
    body.samples = report->samples;
    body.cpu_seconds = report->cpu_seconds;
    body.peak_rss_bytes = report->peak_rss_bytes;
    body.bytes_sent = report->bytes_sent;
    body.bytes_received = report->bytes_received;
    body.weights_hash = (char *)(uintptr_t)weights_hash;
    send_from_outside(member, &message);
}

void sh_member_leave(sh_device_member *member, const char *reason)
{
    Shoal__Leave leave = SHOAL__LEAVE__INIT;
    Shoal__Message message = SH_MESSAGE_INIT(LEAVE, leave, &leave);
    leave.reason = (char *)(uintptr_t)reason;
    send_from_outside(member, &message);
}

static void do_stats(void *context)
{
    request *asked = context;
    asked->stats = asked->member->closed_stats;
    if (asked->member->channel != NULL)
        sh_channel_stats_get(asked->member->channel, &asked->stats);
}

sh_channel_stats sh_member_stats(sh_device_member *member)
{
    request asked = {.member = member};
    sh_loop_call(member->options.loop, do_stats, &asked);
    return asked.stats;
}

static void do_part(void *context)
{
    request *asked = context;
    sh_device_member *member = asked->member;
    sh_listener_close(member->listener);
    member->listener = NULL;
    member->closing = true;
    if (member->channel != NULL)
        sh_channel_flush_close(member->channel);
    else
        sh_mailbox_tell(member->options.mailbox, SH_MAIL_CLOSED, SH_OK, "");
}

static void do_close(void *context)
{
    request *asked = context;
    sh_channel_close(asked->member->channel);
    asked->member->channel = NULL;
}

void sh_member_close(sh_device_member *member)
{
    sh_mail mail = {.kind = SH_MAIL_NOTE};
    if (member == NULL)
        return;
    sh_loop *loop = member->options.loop;
    sh_loop_call(loop, do_part, &(request){.member = member});
    while (mail.kind != SH_MAIL_CLOSED &&
           sh_mailbox_wait(member->options.mailbox, &mail, NULL, GOODBYE_MS) == SH_OK)
        free(mail.kind == SH_MAIL_WELCOME ? mail.data : NULL);
    sh_loop_call(loop, do_close, &(request){.member = member});
    free(member);
}
