/* SPDX-License-Identifier: Apache-2.0 */
#include "node/member/callers.h"

#include <stdio.h>
#include <string.h>

static void forget(sh_callers *callers, const sh_channel *channel)
{
    for (uint32_t i = 0; i < SH_CALLERS_MAX; i++)
        if (callers->channels[i] == channel)
            callers->channels[i] = NULL;
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    (void)why;
    (void)reason;
    forget(context, channel);
}

/* Without a host, the coordinator listens at the address from which it called. */
static void read_endpoint(sh_endpoint *from, const Shoal__Whereabouts *body,
                          const sh_channel *channel)
{
    if (body->port > UINT16_MAX || strlen(body->host) >= sizeof from->host)
        return;
    from->port = (uint16_t)body->port;
    if (body->host[0] == '\0')
        sh_channel_peer_host(channel, from->host);
    else
        snprintf(from->host, sizeof from->host, "%s", body->host);
}

static void on_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    sh_callers *callers = context;
    Shoal__Message *message;
    sh_endpoint from = {.port = 0};
    if (sh_message_unpack(&message, body, bytes) == SH_OK) {
        if (message->body_case == SHOAL__MESSAGE__BODY_WHEREABOUTS)
            read_endpoint(&from, message->whereabouts, channel);
        sh_message_free(message);
    }
    if (from.port != 0)
        callers->coordinator = from;
}

static const sh_channel_events events = {.on_control = on_control, .on_close = on_close};

void sh_callers_answer(sh_callers *callers, sh_channel *channel, Shoal__Whereabouts *answer)
{
    const Shoal__Message message = SH_MESSAGE_INIT(WHEREABOUTS, whereabouts, answer);
    sh_channel **place = &callers->channels[callers->next++ % SH_CALLERS_MAX];
    sh_channel_close(*place);
    *place = channel;
    sh_channel_own(channel, &events, callers);
    if (sh_message_send(channel, &message) == SH_OK)
        return;
    sh_channel_close(channel);
    *place = NULL;
}

void sh_callers_close(sh_callers *callers)
{
    for (uint32_t i = 0; i < SH_CALLERS_MAX; i++) {
        sh_channel_close(callers->channels[i]);
        callers->channels[i] = NULL;
    }
}
