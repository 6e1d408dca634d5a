/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A try is a connection to one source. Its end only records the reason; the timer starts the next
 * try or gives up. So no channel is opened in a channel's callback. Lost sources are tried again in
 * rounds with pauses; sources with no network, or another one, are not.
 */
#include "node/delivery/network_call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "node/delivery/slow_source.h"

#define TICK_MS 50
#define SILENT_TICKS 200 /* ticks of a lull before another source is asked */
#define PAUSE_TICKS 10
#define ROUNDS 20

/* Used by the loop until the mail is posted. */
struct sh_network_call {
    sh_loop *loop;
    sh_mailbox *mailbox;
    sh_sources sources;
    char spec[SH_MODEL_SPEC];
    sh_timer *tick;
    sh_channel *channel; /* NULL between tries */
    uint32_t round, next;
    uint32_t current;
    bool barred[SH_SOURCES_MAX];
    bool open, told;
    const char *objection; /* to the received data; static */
    uint32_t pause_ticks;
    sh_slow_source slow;
    uint8_t *bytes;
    size_t count;
    sh_status status;
    char reason[SH_MESSAGE_BYTES];
};

static void tell(sh_network_call *call, sh_status status, const char *reason)
{
    call->told = true;
    sh_mailbox_post_text(call->mailbox, SH_MAIL_NETWORK, status, reason);
}

static void note(sh_network_call *call, sh_status status, const char *reason)
{
    const uint32_t device = call->sources.items[call->current].device;
    sh_log(SH_LOG_INFO, "network.not_given", "device=%u status=%d reason=\"%s\"", device,
           (int)status, reason);
    call->barred[call->current] = status != SH_PEER_LOST;
    call->status = status;
    snprintf(call->reason, sizeof call->reason, "device %u: %.900s", device, reason);
    call->channel = NULL;
    free(call->bytes);
    call->bytes = NULL;
}

static void drop(sh_network_call *call, sh_status status, const char *reason)
{
    sh_channel *channel = call->channel;
    note(call, status, reason);
    sh_channel_close(channel);
}

static void on_open(void *context, sh_channel *channel)
{
    sh_network_call *call = context;
    call->open = true;
    if (sh_channel_send(channel, &(sh_frame){.kind = SH_FRAME_NETWORK}, NULL) != SH_OK)
        drop(call, SH_PEER_LOST, sh_message());
}

static sh_flow on_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    sh_network_call *call = context;
    (void)channel;
    if (head->bytes > SH_SKELETON_MOST)
        call->objection = "what it sends is too large for a network without weights";
    if (head->kind != SH_FRAME_NETWORK || call->bytes != NULL || head->bytes == 0 ||
        head->bytes > SH_SKELETON_MOST)
        return SH_FLOW_REFUSE;
    call->bytes = malloc(head->bytes);
    call->count = head->bytes;
    *sink = (sh_sink){.data = call->bytes, .bytes = head->bytes};
    return call->bytes != NULL ? SH_FLOW_TAKE : SH_FLOW_REFUSE;
}

static void on_done(void *context, sh_channel *channel, const sh_frame *head)
{
    sh_network_call *call = context;
    (void)head;
    const sh_status status = sh_network_check(call->spec, call->bytes, call->count);
    if (status != SH_OK) {
        drop(call, status, sh_message());
        return;
    }
    call->channel = NULL;
    sh_channel_close(channel);
    tell(call, SH_OK, "");
}

static void on_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    sh_network_call *call = context;
    Shoal__Message *message;
    (void)channel;
    if (sh_message_unpack(&message, body, bytes) != SH_OK) {
        drop(call, SH_FORMAT, sh_message());
        return;
    }
    if (message->body_case == SHOAL__MESSAGE__BODY_REFUSE)
        drop(call, SH_REFUSED, message->refuse->reason);
    sh_message_free(message);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    sh_network_call *call = context;
    (void)channel;
    if (why == SH_OK)
        reason = "it closed the connection";
    note(call, why == SH_OK || why == SH_NETWORK ? SH_PEER_LOST : why,
         call->objection != NULL ? call->objection : reason);
}

static const sh_channel_events source_events = {
    .on_open = on_open,
    .on_frame = on_frame,
    .on_done = on_done,
    .on_control = on_control,
    .on_close = on_close,
};

static bool choose(sh_network_call *call)
{
    while (call->next < call->sources.count && call->barred[call->next])
        call->next++;
    if (call->next == call->sources.count)
        return false;
    call->current = call->next++;
    return true;
}

static void end_round(sh_network_call *call)
{
    call->next = 0;
    while (call->next < call->sources.count && call->barred[call->next])
        call->next++;
    if (++call->round == ROUNDS || call->next == call->sources.count)
        tell(call, call->status, call->reason);
    call->pause_ticks = PAUSE_TICKS;
}

static void try_next(sh_network_call *call)
{
    char identity[SH_LINK_IDENTITY];
    if (!choose(call)) {
        end_round(call);
        return;
    }
    const sh_source *source = &call->sources.items[call->current];
    call->open = false;
    call->objection = NULL;
    sh_slow_source_end(&call->slow);
    sh_data_identity(identity, source->device);
    if (sh_channel_connect(&call->channel, call->loop,
                           &(sh_channel_target){.host = source->route.host,
                                                .port = source->route.port,
                                                .identity = identity,
                                                .key = source->route.key},
                           &source_events, call) != SH_OK)
        note(call, SH_PEER_LOST, sh_message());
}

static void on_tick(void *context)
{
    sh_network_call *call = context;
    sh_channel_stats stats;
    if (call->told)
        return;
    if (call->channel == NULL && call->pause_ticks > 0) {
        call->pause_ticks--;
        return;
    }
    if (call->channel == NULL) {
        try_next(call);
        return;
    }
    if (!call->open) /* until then, the channel has its own timeout */
        return;
    sh_channel_stats_get(call->channel, &stats);
    if (sh_slow_source_look(&call->slow, true, stats.received_bytes) == SILENT_TICKS)
        drop(call, SH_PEER_LOST, "almost no data comes from it");
}

/* ---- life ------------------------------------------------------------------------------------ */

static void do_start(void *context)
{
    sh_network_call *call = context;
    call->status = sh_timer_new(&call->tick, call->loop, on_tick, call);
    if (call->status == SH_OK)
        call->status = sh_timer_start(call->tick, TICK_MS, TICK_MS);
    if (call->status == SH_OK)
        try_next(call);
}

static void do_stop(void *context)
{
    sh_network_call *call = context;
    sh_timer_free(call->tick);
    sh_channel_close(call->channel);
}

sh_status sh_network_call_start(sh_network_call **call, const sh_network_call_options *options)
{
    sh_network_call *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "asking for the network");
    fresh->loop = options->loop;
    fresh->mailbox = options->mailbox;
    fresh->sources = *options->sources;
    snprintf(fresh->spec, sizeof fresh->spec, "%s", options->spec);
    sh_loop_call(fresh->loop, do_start, fresh);
    if (fresh->tick == NULL) {
        sh_network_call_free(fresh);
        return sh_fail(SH_LIMIT, "asking for the network: the loop has no timer for it");
    }
    *call = fresh;
    return SH_OK;
}

sh_status sh_network_call_take(sh_network **network, sh_network_call *call)
{
    uint8_t *bytes = call->bytes;
    call->bytes = NULL;
    return sh_network_of_bytes(network, call->spec, bytes, call->count);
}

void sh_network_call_free(sh_network_call *call)
{
    if (call == NULL)
        return;
    sh_loop_call(call->loop, do_stop, call);
    free(call->bytes);
    sh_key_wipe(&call->sources, sizeof call->sources);
    free(call);
}
