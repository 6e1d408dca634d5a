/* SPDX-License-Identifier: Apache-2.0 */
/* The device at the token's address may no longer be the coordinator; then it tells the
 * coordinator's address. A *visit* is one connection. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/token.h"
#include "node/member/discovery.h"
#include "node/protocol/claims.h"
#include "node/protocol/mailbox.h"
#include "node/protocol/roster_message.h"
#include "shoal/device_info.h"

#define PATIENCE_MS 5000
#define MOVES_MAX 8

typedef struct survey {
    sh_loop *loop;
    sh_mailbox *mailbox;
    sh_token token; /* during a visit, with its address alone */
    sh_channel *channel;
    bool proved; /* the other side coordinates the job */
    bool done;
    sh_endpoint next; /* the coordinator, as another device says; port 0: unknown */
    sh_device_list *list;
    sh_status status;
} survey;

/* ---- a visit, on the loop's thread ----------------------------------------------------------- */

static void end_visit(survey *self, sh_status status, const char *reason)
{
    if (self->done)
        return;
    self->done = true;
    sh_mailbox_post_text(self->mailbox, SH_MAIL_ANSWERS, status, reason);
}

static void send_question(survey *self)
{
    Shoal__Survey body = SHOAL__SURVEY__INIT;
    const Shoal__Message message = SH_MESSAGE_INIT(SURVEY, survey, &body);
    const sh_status status = sh_message_send(self->channel, &message);
    if (status != SH_OK)
        end_visit(self, status, sh_message());
}

static void read_whereabouts(survey *self, const Shoal__Whereabouts *body)
{
    if (sh_discovery_read_address(&self->next, body))
        end_visit(self, SH_OK, "");
    else
        end_visit(self, SH_NETWORK, "the job has lost its coordinator; try again soon");
}

static void read_first(survey *self, const Shoal__Message *message)
{
    sh_claimed claimed;
    if (message->body_case == SHOAL__MESSAGE__BODY_WHEREABOUTS) {
        read_whereabouts(self, message->whereabouts);
        return;
    }
    const sh_status status = sh_claim_read(&claimed, message, self->channel, self->token.leader);
    if (status != SH_OK) {
        end_visit(self, status, sh_message());
        return;
    }
    self->proved = true;
    send_question(self);
}

static void read_answer(survey *self, const Shoal__Message *message)
{
    sh_status status;
    switch (message->body_case) {
    case SHOAL__MESSAGE__BODY_ROSTER:
        status = sh_roster_read(self->list, message->roster);
        end_visit(self, status, status == SH_OK ? "" : sh_message());
        break;
    case SHOAL__MESSAGE__BODY_END:
        end_visit(self, SH_NOT_FOUND, "the job has ended");
        break;
    case SHOAL__MESSAGE__BODY_REFUSE:
        end_visit(self, SH_REFUSED, message->refuse->reason);
        break;
    default:
        break;
    }
}

static void on_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    survey *self = context;
    Shoal__Message *message;
    (void)channel;
    if (self->done)
        return;
    const sh_status status = sh_message_unpack(&message, body, bytes);
    if (status != SH_OK) {
        end_visit(self, status, sh_message());
        return;
    }
    if (self->proved)
        read_answer(self, message);
    else
        read_first(self, message);
    sh_message_free(message);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    survey *self = context;
    (void)channel;
    self->channel = NULL;
    end_visit(self, why == SH_OK ? SH_PEER_LOST : why,
              why == SH_OK ? "the coordinator closed the connection" : reason);
}

static void do_begin(void *context)
{
    static const sh_channel_events events = {.on_control = on_control, .on_close = on_close};
    survey *self = context;
    unsigned char key[SH_KEY_BYTES];
    self->done = self->proved = false;
    self->next.port = 0;
    self->status = sh_token_key(key, &self->token);
    const sh_channel_target target = {.host = self->token.addresses[0].host,
                                      .port = self->token.addresses[0].port,
                                      .identity = SH_TOKEN_IDENTITY,
                                      .key = key,
                                      .patience_ms = PATIENCE_MS};
    if (self->status == SH_OK)
        self->status = sh_channel_connect(&self->channel, self->loop, &target, &events, self);
    if (self->status != SH_OK)
        end_visit(self, self->status, sh_message());
    sh_key_wipe(key, sizeof key);
}

static void do_end(void *context)
{
    survey *self = context;
    sh_channel_close(self->channel);
    self->channel = NULL;
    self->done = true;
}

/* ---- from door to door ----------------------------------------------------------------------- */

static sh_status visit(survey *self)
{
    sh_mail mail;
    sh_loop_call(self->loop, do_begin, self);
    const sh_status waited = sh_mailbox_wait(self->mailbox, &mail, NULL, PATIENCE_MS);
    sh_loop_call(self->loop, do_end, self);
    if (waited == SH_LIMIT)
        return sh_fail(SH_NETWORK, "%s, port %u: no answer within %d s",
                       self->token.addresses[0].host, (unsigned)self->token.addresses[0].port,
                       PATIENCE_MS / 1000);
    SH_TRY(waited);
    const sh_status status = mail.status;
    if (status != SH_OK)
        (void)!sh_fail(status, "%s", mail.text);
    sh_mail_drop(&mail);
    return status;
}

static sh_status ask(survey *self)
{
    sh_endpoint at;
    sh_discovery_find(&at, self->loop, &self->token);
    for (uint32_t i = 0; i < MOVES_MAX; i++) {
        sh_token_redirect(&self->token, at.host, at.port);
        SH_TRY(visit(self));
        if (self->next.port == 0)
            return SH_OK;
        at = self->next;
    }
    return sh_fail(SH_NETWORK, "the devices of the job do not agree on who coordinates it; try "
                               "again soon");
}

sh_status sh_devices_of_job(sh_device_list *list, const char *token)
{
    survey self = {.list = list};
    sh_status status;
    SH_TRY(sh_token_parse(&self.token, token, strlen(token)));
    SH_TRY_DONE(sh_mailbox_new(&self.mailbox));
    SH_TRY_DONE(sh_loop_start(&self.loop));
    status = ask(&self);
done:
    sh_token_wipe(&self.token);
    sh_loop_stop(self.loop);
    sh_mailbox_free(self.mailbox);
    return status;
}
