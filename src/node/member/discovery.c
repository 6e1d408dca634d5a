/* SPDX-License-Identifier: Apache-2.0 */
#include "node/member/discovery.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/protocol/mailbox.h"

typedef struct visit {
    sh_discovery *of;
    sh_channel *channel; /* NULL: it is over */
    uint32_t index;
} visit;

struct sh_discovery {
    sh_discovery_options options;
    unsigned char leader[SH_LEADER_FINGERPRINT_BYTES];
    sh_timer *limit;
    uint32_t open;
    bool hurried; /* the awaited ones have answered */
    bool done;
    sh_discovery_answers answers;
    visit visits[SH_DISCOVERY_ENDPOINTS_MAX];
};

static void end_visit(visit *one)
{
    if (one->channel == NULL)
        return;
    sh_channel_close(one->channel);
    one->channel = NULL;
    one->of->open--;
}

/* Runs from the timer after the last answer, because sh_discovery_start must not call on_done. */
static void finish(void *context)
{
    sh_discovery *discovery = context;
    if (discovery->done)
        return;
    discovery->done = true;
    for (uint32_t i = 0; i < discovery->answers.count; i++)
        end_visit(&discovery->visits[i]);
    discovery->options.on_done(discovery->options.context, &discovery->answers);
}

static bool is_enough(const sh_discovery *discovery)
{
    if (discovery->open == 0)
        return true;
    for (uint32_t i = 0; discovery->options.first && i < discovery->answers.count; i++)
        if (discovery->answers.words[i].word == SH_SUCCESSOR_LEADS)
            return true;
    return false;
}

static bool sees_awaited(sh_discovery *discovery)
{
    const uint32_t awaited = discovery->options.awaited;
    if (awaited == 0 || discovery->hurried)
        return false;
    for (uint32_t i = 0; i < awaited; i++)
        if (discovery->visits[i].channel != NULL)
            return false;
    discovery->hurried = true;
    return true;
}

static void finish_soon(sh_discovery *discovery)
{
    if (discovery->done)
        return;
    const bool enough = is_enough(discovery);
    const uint32_t left_ms = enough ? 0 : SH_DISCOVERY_OTHERS_MS;
    if ((enough || sees_awaited(discovery)) &&
        sh_timer_start(discovery->limit, left_ms, 0) != SH_OK)
        finish(discovery);
}

bool sh_discovery_read_address(sh_endpoint *address, const Shoal__Whereabouts *body)
{
    if (body->lost || body->host[0] == '\0' || strlen(body->host) >= sizeof address->host ||
        body->port == 0 || body->port > UINT16_MAX)
        return false;
    snprintf(address->host, sizeof address->host, "%s", body->host);
    address->port = (uint16_t)body->port;
    return true;
}

static void take_whereabouts(visit *one, const Shoal__Whereabouts *body)
{
    sh_discovery_answers *answers = &one->of->answers;
    const bool knows = sh_discovery_read_address(&answers->address[one->index], body);
    answers->words[one->index] = (sh_successor_answer){
        .word = knows ? SH_SUCCESSOR_FOLLOWS : SH_SUCCESSOR_LOST,
        .term = body->term,
        .heard_ms = body->heard_ms,
        .able = body->able,
    };
}

static void on_open(void *context, sh_channel *channel)
{
    sh_discovery_options *options = &((visit *)context)->of->options;
    Shoal__Whereabouts body = SHOAL__WHEREABOUTS__INIT;
    const Shoal__Message message = SH_MESSAGE_INIT(WHEREABOUTS, whereabouts, &body);
    body.term = options->term;
    body.host = options->leads_at.host;
    body.port = options->leads_at.port;
    if (body.port != 0) {
        const sh_status sent = sh_message_send(channel, &message);
        (void)sent; /* a hint: the answer counts */
    }
}

static void on_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    visit *one = context;
    sh_discovery *discovery = one->of;
    sh_discovery_answers *answers = &discovery->answers;
    Shoal__Message *message;
    sh_claimed *claimed = &answers->claimed[one->index];
    if (sh_message_unpack(&message, body, bytes) == SH_OK) {
        if (message->body_case == SHOAL__MESSAGE__BODY_WHEREABOUTS)
            take_whereabouts(one, message->whereabouts);
        else if (sh_claim_read(claimed, message, channel, discovery->leader) == SH_OK)
            answers->words[one->index] = (sh_successor_answer){
                .word = SH_SUCCESSOR_LEADS, .term = claimed->term, .steps = claimed->steps};
        sh_message_free(message);
    }
    end_visit(one);
    finish_soon(discovery);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    visit *one = context;
    (void)channel;
    (void)why;
    (void)reason;
    one->channel = NULL;
    one->of->open--;
    finish_soon(one->of);
}

static const sh_channel_events visit_events = {
    .on_open = on_open, .on_control = on_control, .on_close = on_close};

sh_status sh_discovery_start(sh_discovery **discovery, const sh_discovery_options *options)
{
    unsigned char key[SH_KEY_BYTES];
    sh_status status;
    sh_discovery *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "asking other devices");
    fresh->options = *options;
    if (options->patience_ms == 0)
        fresh->options.patience_ms = SH_DISCOVERY_PATIENCE_MS;
    fresh->answers.count = options->count;
    memcpy(fresh->leader, options->token->leader, sizeof fresh->leader);
    SH_TRY_DONE(sh_timer_new(&fresh->limit, options->loop, finish, fresh));
    SH_TRY_DONE(sh_timer_start(fresh->limit, fresh->options.patience_ms, 0));
    SH_TRY_DONE(sh_token_key(key, options->token));
    for (uint32_t i = 0; i < options->count; i++) {
        visit *one = &fresh->visits[i];
        const sh_endpoint *endpoint = &options->endpoints[i];
        *one = (visit){.of = fresh, .index = i};
        const sh_channel_target target = {.host = endpoint->host,
                                          .port = endpoint->port,
                                          .identity = SH_TOKEN_IDENTITY,
                                          .key = key,
                                          .patience_ms = fresh->options.patience_ms};
        if (endpoint->port != 0 &&
            sh_channel_connect(&one->channel, options->loop, &target, &visit_events, one) == SH_OK)
            fresh->open++;
    }
    fresh->options.endpoints = NULL;
    fresh->options.token = NULL;
    finish_soon(fresh);
    *discovery = fresh;
    status = SH_OK;
done:
    sh_key_wipe(key, sizeof key);
    if (status != SH_OK)
        sh_discovery_stop(fresh);
    return status;
}

void sh_discovery_stop(sh_discovery *discovery)
{
    if (discovery == NULL)
        return;
    for (uint32_t i = 0; i < discovery->answers.count; i++)
        end_visit(&discovery->visits[i]);
    sh_timer_free(discovery->limit);
    free(discovery);
}

/* ---- a blocking call ------------------------------------------------------------------------- */

typedef struct pending {
    sh_discovery_options options;
    sh_discovery *discovery;
    sh_mailbox *mailbox;
    sh_discovery_answers *answers;
    sh_status status;
} pending;

static void on_done(void *context, const sh_discovery_answers *answers)
{
    pending *asked = context;
    *asked->answers = *answers;
    sh_mailbox_post_text(asked->mailbox, SH_MAIL_ANSWERS, SH_OK, "");
}

static void do_start(void *context)
{
    pending *asked = context;
    asked->status = sh_discovery_start(&asked->discovery, &asked->options);
}

static void do_stop(void *context)
{
    pending *asked = context;
    sh_discovery_stop(asked->discovery);
}

void sh_discovery_ask(sh_discovery_answers *answers, const sh_discovery_options *options)
{
    sh_mail mail;
    pending asked = {.options = *options, .answers = answers};
    memset(answers, 0, sizeof *answers);
    answers->count = options->count;
    if (asked.options.patience_ms == 0)
        asked.options.patience_ms = SH_DISCOVERY_PATIENCE_MS;
    asked.options.on_done = on_done;
    asked.options.context = &asked;
    if (sh_mailbox_new(&asked.mailbox) != SH_OK)
        return;
    sh_loop_call(options->loop, do_start, &asked);
    if (asked.status == SH_OK &&
        sh_mailbox_wait(asked.mailbox, &mail, NULL, 4 * asked.options.patience_ms) == SH_OK)
        sh_mail_drop(&mail);
    sh_loop_call(options->loop, do_stop, &asked);
    sh_mailbox_free(asked.mailbox);
}

#define FIND_PATIENCE_MS 3000

void sh_discovery_find(sh_endpoint *endpoint, sh_loop *loop, const sh_token *token)
{
    sh_endpoint endpoints[SH_TOKEN_ADDRESSES] = {0};
    sh_discovery_answers answers = {0};
    uint32_t found = 0;
    for (uint32_t i = 0; i < token->address_count; i++)
        endpoints[i] = sh_endpoint_of(&token->addresses[i]);
    if (token->address_count > 1)
        sh_discovery_ask(&answers, &(sh_discovery_options){.loop = loop,
                                                           .token = token,
                                                           .endpoints = endpoints,
                                                           .count = token->address_count,
                                                           .patience_ms = FIND_PATIENCE_MS,
                                                           .first = true});
    static const int rank[] = {[SH_SUCCESSOR_SILENT] = 0,
                               [SH_SUCCESSOR_LOST] = 1,
                               [SH_SUCCESSOR_FOLLOWS] = 2,
                               [SH_SUCCESSOR_LEADS] = 3};
    for (uint32_t i = 1; i < answers.count; i++)
        if (rank[answers.words[i].word] > rank[answers.words[found].word])
            found = i;
    *endpoint = endpoints[found];
}
