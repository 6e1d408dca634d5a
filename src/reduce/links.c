/* SPDX-License-Identifier: Apache-2.0 */
#include "reduce/links.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static void set_open(sh_link *link)
{
    sh_links *links = link->of;
    link->open = true;
    if (++links->open == links->wanted && links->options.on_linked != NULL)
        links->options.on_linked(links->options.context);
    links->on_open(link);
}

static void on_open(void *context, sh_channel *channel)
{
    (void)channel;
    set_open(context);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    sh_link *gone = context;
    sh_links *links = gone->of;
    char name[32], text[SH_MESSAGE_BYTES];
    sh_channel_stats_count(&links->closed, channel);
    snprintf(name, sizeof name, "with rank %u", gone->rank);
    snprintf(text, sizeof text, "the link %s broke: %.800s", gone->name != NULL ? gone->name : name,
             why == SH_OK ? "it was closed" : reason);
    gone->channel = NULL;
    links->open -= gone->open;
    gone->open = false;
    sh_round_fail(&links->round, SH_PEER_LOST, text);
    if (links->options.on_broken != NULL)
        links->options.on_broken(links->options.context, gone->rank);
}

static void on_look(sh_round *round)
{
    sh_links_resume((sh_links *)round);
}

sh_status sh_links_init(sh_links *links, const sh_engine_ops *ops, const sh_engine_options *options,
                        const sh_links_events *events, uint32_t count)
{
    sh_link *items = calloc(count, sizeof *items);
    if (items == NULL)
        return sh_fail_memory(count * sizeof *items, "links");
    for (uint32_t i = 0; i < count; i++)
        items[i] = (sh_link){.of = links, .rank = i};
    *links = (sh_links){
        .options = *options,
        .events = {.on_open = on_open,
                   .on_frame = events->on_frame,
                   .on_done = events->on_done,
                   .on_sent = events->on_sent,
                   .on_close = on_close},
        .on_open = events->on_open,
        .count = count,
        .items = items,
    };
    links->options.serves = NULL; /* the engine copies it */
    sh_round_init(&links->round, &(sh_engine){.ops = ops, .devices = options->devices},
                  options->loop,
                  &(sh_round_events){.on_begin = events->on_begin,
                                     .on_ready = events->on_ready,
                                     .on_look = on_look,
                                     .on_last = events->on_last});
    return SH_OK;
}

sh_status sh_links_connect(sh_links *links, uint32_t index, const sh_channel_target *target)
{
    sh_link *link = &links->items[index];
    assert(link->channel == NULL);
    return sh_channel_connect(&link->channel, links->options.loop, target, &links->events, link);
}

sh_status sh_links_take(sh_links *links, uint32_t index, sh_channel *channel)
{
    sh_link *link = &links->items[index];
    if (link->channel != NULL)
        return sh_fail(SH_REFUSED, "rank %u is linked already", link->rank);
    link->channel = channel;
    sh_channel_own(channel, &links->events, link);
    set_open(link);
    return SH_OK;
}

sh_status sh_links_send(sh_links *links, uint32_t index, sh_frame head, const void *body)
{
    sh_channel *channel = links->items[index].channel;
    head.view = links->options.view;
    return channel != NULL
               ? sh_channel_send(channel, &head, body)
               : sh_fail(SH_PEER_LOST, "the link with rank %u is gone", links->items[index].rank);
}

void sh_links_resume(sh_links *links)
{
    for (uint32_t i = 0; i < links->count; i++)
        if (links->items[i].channel != NULL)
            sh_channel_resume(links->items[i].channel);
}

typedef struct stats_question {
    const sh_links *links;
    sh_channel_stats answer;
} stats_question;

static void answer_stats(void *context)
{
    stats_question *question = context;
    const sh_links *links = question->links;
    question->answer = links->closed;
    for (uint32_t i = 0; i < links->count; i++)
        sh_channel_stats_count(&question->answer, links->items[i].channel);
}

sh_channel_stats sh_links_stats(sh_engine *engine)
{
    const sh_links *links = (const sh_links *)engine;
    stats_question question = {.links = links};
    if (sh_loop_is_current(links->options.loop))
        answer_stats(&question);
    else
        sh_loop_call(links->options.loop, answer_stats, &question);
    return question.answer;
}

bool sh_links_wait(sh_engine *engine)
{
    return sh_round_waits(&((sh_links *)engine)->round);
}

void sh_links_call(sh_engine *engine)
{
    sh_round_call(&((sh_links *)engine)->round);
}

uint32_t sh_links_stuck_ms(sh_engine *engine, uint32_t *rank)
{
    const sh_links *links = (sh_links *)engine;
    uint32_t longest_ms = 0;
    for (uint32_t i = 0; i < links->count; i++) {
        const sh_link *link = &links->items[i];
        const uint32_t stuck_ms = link->channel == NULL ? 0 : sh_channel_stuck_ms(link->channel);
        if (stuck_ms <= longest_ms)
            continue;
        longest_ms = stuck_ms;
        *rank = link->rank;
    }
    return longest_ms;
}

static void close_all(void *context)
{
    sh_links *links = context;
    for (uint32_t i = 0; i < links->count; i++) {
        sh_channel_close(links->items[i].channel);
        links->items[i].channel = NULL;
    }
}

void sh_links_close(sh_links *links)
{
    sh_loop_call(links->options.loop, close_all, links);
    free(links->items);
    sh_round_release(&links->round);
}
