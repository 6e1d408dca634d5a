/* SPDX-License-Identifier: Apache-2.0 */
#include "node/member/inquiry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "node/mail/mailbox.h"

typedef struct visit {
    sh_inquiry *of;
    sh_channel *channel; /* NULL: it is over */
    uint32_t index;
} visit;

struct sh_inquiry {
    sh_inquiry_options options;
    unsigned char leader[SH_LEADER_FINGERPRINT_BYTES];
    sh_timer *limit;
    uint32_t open; /* visits that are not over */
    bool done;
    sh_inquiry_answers answers;
    visit visits[SH_INQUIRY_DOORS_MAX];
};

static void end_visit(visit *one)
{
    if (one->channel == NULL)
        return;
    sh_channel_close(one->channel);
    one->channel = NULL;
    one->of->open--;
}

/* Runs from the timer right after the last answer, so that on_done is never called from inside
 * sh_inquiry_start. */
static void finish(void *context)
{
    sh_inquiry *inquiry = context;
    if (inquiry->done)
        return;
    inquiry->done = true;
    for (uint32_t i = 0; i < inquiry->answers.count; i++)
        end_visit(&inquiry->visits[i]);
    inquiry->options.on_done(inquiry->options.context, &inquiry->answers);
}

static void finish_soon(sh_inquiry *inquiry)
{
    if (inquiry->open == 0 && !inquiry->done && sh_timer_start(inquiry->limit, 0, 0) != SH_OK)
        finish(inquiry);
}

static void take_whereabouts(visit *one, const Shoal__Whereabouts *body)
{
    sh_inquiry_answers *answers = &one->of->answers;
    sh_door *way = &answers->way[one->index];
    const bool knows = !body->lost && body->host[0] != '\0' &&
                       strlen(body->host) < sizeof way->host && body->port != 0 &&
                       body->port <= UINT16_MAX;
    answers->words[one->index] = (sh_heir_answer){
        .word = knows ? SH_HEIR_FOLLOWS : SH_HEIR_LOST,
        .term = body->term,
        .heard_ms = body->heard_ms,
        .able = body->able,
    };
    if (!knows)
        return;
    snprintf(way->host, sizeof way->host, "%s", body->host);
    way->port = (uint16_t)body->port;
}

static void on_control(void *context, sh_channel *channel, const uint8_t *body, size_t bytes)
{
    visit *one = context;
    sh_inquiry *inquiry = one->of;
    sh_inquiry_answers *answers = &inquiry->answers;
    Shoal__Message *message;
    sh_claimed *claimed = &answers->claimed[one->index];
    if (sh_message_unpack(&message, body, bytes) == SH_OK) {
        if (message->body_case == SHOAL__MESSAGE__BODY_WHEREABOUTS)
            take_whereabouts(one, message->whereabouts);
        else if (sh_claim_read(claimed, message, channel, inquiry->leader) == SH_OK)
            answers->words[one->index] = (sh_heir_answer){
                .word = SH_HEIR_LEADS, .term = claimed->term, .steps = claimed->steps};
        sh_message_free(message);
    }
    end_visit(one);
    finish_soon(inquiry);
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

static const sh_channel_events visit_events = {.on_control = on_control, .on_close = on_close};

sh_status sh_inquiry_start(sh_inquiry **inquiry, const sh_inquiry_options *options)
{
    unsigned char key[SH_KEY_BYTES];
    sh_status status;
    sh_inquiry *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "asking other devices");
    fresh->options = *options;
    fresh->answers.count = options->count;
    memcpy(fresh->leader, options->token->leader, sizeof fresh->leader);
    SH_TRY_DONE(sh_timer_new(&fresh->limit, options->loop, finish, fresh));
    SH_TRY_DONE(sh_timer_start(fresh->limit, SH_INQUIRY_PATIENCE_MS, 0));
    SH_TRY_DONE(sh_token_key(key, options->token));
    for (uint32_t i = 0; i < options->count; i++) {
        visit *one = &fresh->visits[i];
        const sh_door *door = &options->doors[i];
        *one = (visit){.of = fresh, .index = i};
        const sh_channel_target target = {.host = door->host,
                                          .port = door->port,
                                          .identity = SH_TOKEN_IDENTITY,
                                          .key = key,
                                          .patience_ms = SH_INQUIRY_PATIENCE_MS};
        if (door->port != 0 &&
            sh_channel_connect(&one->channel, options->loop, &target, &visit_events, one) == SH_OK)
            fresh->open++;
    }
    fresh->options.doors = NULL;
    fresh->options.token = NULL;
    finish_soon(fresh);
    *inquiry = fresh;
    status = SH_OK;
done:
    sh_key_wipe(key, sizeof key);
    if (status != SH_OK)
        sh_inquiry_stop(fresh);
    return status;
}

void sh_inquiry_stop(sh_inquiry *inquiry)
{
    if (inquiry == NULL)
        return;
    for (uint32_t i = 0; i < inquiry->answers.count; i++)
        end_visit(&inquiry->visits[i]);
    sh_timer_free(inquiry->limit);
    free(inquiry);
}

/* ---- a blocking call ------------------------------------------------------------------------- */

typedef struct pending {
    sh_inquiry_options options;
    sh_inquiry *inquiry;
    sh_mailbox *mailbox;
    sh_inquiry_answers *answers;
    sh_status status;
} pending;

static void on_done(void *context, const sh_inquiry_answers *answers)
{
    pending *asked = context;
    *asked->answers = *answers;
    sh_mailbox_tell(asked->mailbox, SH_MAIL_ANSWERS, SH_OK, "");
}

static void do_start(void *context)
{
    pending *asked = context;
    asked->status = sh_inquiry_start(&asked->inquiry, &asked->options);
}

static void do_stop(void *context)
{
    pending *asked = context;
    sh_inquiry_stop(asked->inquiry);
}

void sh_inquiry_ask(sh_inquiry_answers *answers, const sh_inquiry_options *options)
{
    sh_mail mail;
    pending asked = {.options = *options, .answers = answers};
    memset(answers, 0, sizeof *answers);
    answers->count = options->count;
    asked.options.on_done = on_done;
    asked.options.context = &asked;
    if (sh_mailbox_new(&asked.mailbox) != SH_OK)
        return;
    sh_loop_call(options->loop, do_start, &asked);
    if (asked.status == SH_OK &&
        sh_mailbox_wait(asked.mailbox, &mail, NULL, 4 * SH_INQUIRY_PATIENCE_MS) == SH_OK)
        sh_mail_drop(&mail);
    sh_loop_call(options->loop, do_stop, &asked);
    sh_mailbox_free(asked.mailbox);
}
