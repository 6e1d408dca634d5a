/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A span is cut into a *shard* for each server, in the order of ranks. Two frames carry it:
 *
 *     hop 0, the part   from every device to the shard's server, once the span is ready here; taken
 *                       only where it is ready there, and added to the server's total
 *     hop 1, the sum    from the server to every device, once all parts are in; stored in the total
 *
 * Parts of several devices arrive at the same time, piece by piece, on one thread: any order adds
 * up to the same. For that a server's total begins as a copy of its own part. Whoever serves copies
 * its shard alone, 1 / N of the span; the own part is only read, so a round that breaks off has
 * spoilt nothing.
 *
 * A part that comes before its span is ready here, or for the round after this one, makes its
 * channel pause, and no other. This cannot block for ever:
 *   - a span becomes ready by this device's computing alone, which waits for no frame of the round.
 *     So a pause for a span ends, whatever stands behind that part in the channel;
 *   - a device begins the next round when it has written and received all of this one. So in its
 *     channel nothing of this round stands behind a part of the next, and what we still need of
 *     this round comes in by channels that do not pause, or pause for a span;
 *   - a sum needs no pause: it is made of our part too, so its span is ready here.
 * Writing waits for no reading here, only for the other side's reading, of which the same is true.
 *
 * The word of a decider (rank 0's, reduce/engine.h) is in the first server's shard. Where that is
 * rank 0, it is added behind the last part; else rank 0 has to put it into its own part.
 *
 * All here is the loop's but what the round keeps for the other threads.
 */
#include "reduce/servers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/exchange.h"
#include "reduce/words.h"

#define HOP_PART 0
#define HOP_SUM 1

typedef struct servers_span {
    bool ready;           /* this device's part is complete: on the loop's side */
    bool parts_sent;      /* handed to the channels */
    bool sum_sent;        /* this server's, likewise */
    uint32_t parts, sums; /* arrived from others */
    uint32_t written;     /* frames, of both kinds */
} servers_span;

/* Another device. */
typedef struct peer {
    sh_servers *of;
    uint32_t rank;
    bool has_link; /* with us */
    bool open;     /* it is up */
    sh_channel *channel;
    bool has_given[2][SH_ENGINE_MAX_SPANS]; /* by hop: it has arrived */
} peer;

struct sh_servers {
    sh_round round; /* first: the engine is the servers */
    sh_servers_options options;
    bool *serves;          /* of each rank */
    uint32_t *shards;      /* of each rank that serves: its number */
    uint32_t server_count; /* at least 1 */
    sh_exchange *exchange;
    uint32_t links, open_links;
    uint32_t parts, sums; /* that arrive here for a span */
    uint32_t frames;      /* that leave for a span */
    servers_span spans[SH_ENGINE_MAX_SPANS];
    sh_channel_stats closed_stats; /* of links that are gone */
    peer peers[];                  /* by rank; our own has no link */
};

bool sh_servers_links(const bool *serves, uint32_t one, uint32_t other)
{
    return one != other && (serves[one] || serves[other]);
}

static bool is_server(const sh_servers *servers)
{
    return servers->serves[servers->options.rank];
}

static sh_stretch shard_of(const sh_servers *servers, uint32_t span, uint32_t rank)
{
    return sh_words_part(&servers->round.spans[span], servers->shards[rank], servers->server_count);
}

/* ---- sending --------------------------------------------------------------------------------- */

sh_status sh_servers_send(sh_servers *servers, uint32_t to, sh_frame head, const void *body)
{
    sh_channel *channel = servers->peers[to].channel;
    head.view = servers->options.view;
    return channel != NULL ? sh_channel_send(channel, &head, body)
                           : sh_fail(SH_PEER_LOST, "the link with rank %u is gone", to);
}

static sh_status send_frame(sh_servers *servers, uint32_t to, uint32_t span, uint32_t hop,
                            const void *body, size_t bytes)
{
    const sh_frame head = {
        .bytes = (uint32_t)bytes,
        .kind = SH_FRAME_SEGMENT,
        .bucket = (uint16_t)span,
        .step = servers->round.number,
        .hop = (uint16_t)hop,
    };
    return sh_servers_send(servers, to, head, body);
}

/* The device that is `offset` behind this one: not all begin with the same server. */
static uint32_t other(const sh_servers *servers, uint32_t offset)
{
    return (servers->options.rank + offset) % servers->options.devices;
}

static sh_status send_parts(sh_servers *servers, uint32_t span)
{
    servers->spans[span].parts_sent = true;
    for (uint32_t i = 1; i < servers->options.devices; i++) {
        const uint32_t to = other(servers, i);
        if (!servers->serves[to])
            continue;
        const sh_stretch shard = shard_of(servers, span, to);
        SH_TRY(send_frame(servers, to, span, HOP_PART, shard.own, shard.bytes));
    }
    return SH_OK;
}

static sh_status send_sum(sh_servers *servers, uint32_t span)
{
    const sh_stretch shard = shard_of(servers, span, servers->options.rank);
    servers->spans[span].sum_sent = true;
    for (uint32_t i = 1; i < servers->options.devices; i++)
        SH_TRY(send_frame(servers, other(servers, i), span, HOP_SUM, shard.total, shard.bytes));
    return SH_OK;
}

/* Whether this server's shard is the sum. Only rank 0 may have to wait for a word in its own. */
static bool is_summed(sh_servers *servers, uint32_t index)
{
    return servers->spans[index].parts == servers->parts && sh_round_settle(&servers->round, index);
}

/* Sends what can go out of a span. */
static sh_status pump(sh_servers *servers, uint32_t index)
{
    servers_span *span = &servers->spans[index];
    if (servers->open_links < servers->links || !span->ready)
        return SH_OK;
    if (!span->parts_sent)
        SH_TRY(send_parts(servers, index));
    if (!span->sum_sent && is_server(servers) && is_summed(servers, index))
        SH_TRY(send_sum(servers, index));
    return SH_OK;
}

static void pump_or_break(sh_servers *servers, uint32_t index)
{
    if (pump(servers, index) != SH_OK)
        sh_round_fail(&servers->round, SH_PEER_LOST, sh_message());
}

/* ---- the round ------------------------------------------------------------------------------- */

static bool is_complete(const sh_servers *servers, const servers_span *span)
{
    return span->sums == servers->sums && (span->sum_sent || !is_server(servers));
}

/* Something of a span has arrived or become known; nothing does any more once it is complete. */
static void advance(sh_servers *servers, uint32_t index)
{
    pump_or_break(servers, index);
    if (is_complete(servers, &servers->spans[index]))
        sh_round_complete(&servers->round, index);
}

static void check_end(sh_servers *servers, const servers_span *span)
{
    if (is_complete(servers, span) && span->written == servers->frames)
        sh_round_leave(&servers->round);
}

static void on_begin(void *context)
{
    sh_servers *servers = context;
    memset(servers->spans, 0, servers->round.span_count * sizeof *servers->spans);
    for (uint32_t i = 0; i < servers->options.devices; i++)
        memset(servers->peers[i].has_given, 0, sizeof servers->peers[i].has_given);
}

static void on_ready(void *context, uint32_t span)
{
    sh_servers *servers = context;
    if (is_server(servers)) {
        const sh_stretch shard = shard_of(servers, span, servers->options.rank);
        if (shard.bytes > 0)
            memcpy(shard.total, shard.own, shard.bytes);
    }
    servers->spans[span].ready = true;
    advance(servers, span);
}

void sh_servers_resume(sh_servers *servers)
{
    for (uint32_t i = 0; i < servers->options.devices; i++)
        if (servers->peers[i].channel != NULL)
            sh_channel_resume(servers->peers[i].channel);
}

static void on_look(void *context)
{
    sh_servers_resume(context);
}

static void on_last(void *context)
{
    sh_servers *servers = context;
    advance(servers, servers->round.span_count - 1);
}

static bool decide(sh_engine *engine, const sh_engine_decider *decider)
{
    sh_servers *servers = (sh_servers *)engine;
    if (servers->options.rank != 0 || !is_server(servers))
        return false;
    sh_round_decide(&servers->round, decider);
    return true;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void count_open(peer *one)
{
    sh_servers *servers = one->of;
    one->open = true;
    if (++servers->open_links < servers->links)
        return;
    if (servers->options.on_linked != NULL)
        servers->options.on_linked(servers->options.context);
    for (uint32_t i = 0; i < servers->round.span_count; i++)
        advance(servers, i);
}

static void on_open(void *context, sh_channel *channel)
{
    (void)channel;
    count_open(context);
}

/* Where the body of a frame goes that is of this round, and has not come yet. */
static sh_flow place(const sh_servers *servers, const peer *from, const sh_frame *head,
                     sh_sink *sink)
{
    const bool is_part = head->hop == HOP_PART;
    const uint32_t server = is_part ? servers->options.rank : from->rank;
    if (!servers->serves[server])
        return SH_FLOW_REFUSE;
    if (!servers->spans[head->bucket].ready)
        return is_part ? SH_FLOW_PAUSE : SH_FLOW_REFUSE;
    const sh_stretch shard = shard_of(servers, head->bucket, server);
    if (head->bytes != shard.bytes)
        return SH_FLOW_REFUSE;
    const sh_word word = servers->round.spans[head->bucket].word;
    *sink = is_part ? sh_words_add(&shard, word, shard.total) : sh_words_store(&shard);
    return SH_FLOW_TAKE;
}

static sh_flow on_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    const peer *from = context;
    const sh_servers *servers = from->of;
    const sh_round *round = &servers->round;
    (void)channel;
    if (head->view != servers->options.view)
        return SH_FLOW_REFUSE;
    if (head->kind == SH_FRAME_UPDATE)
        return sh_exchange_on_frame(servers->exchange, from->rank, head, sink);
    if (head->kind != SH_FRAME_SEGMENT || head->hop > HOP_SUM)
        return SH_FLOW_REFUSE;
    if (head->step == round->number + 1 && head->hop == HOP_PART)
        return SH_FLOW_PAUSE; /* it has ended this round before us */
    if (head->step != round->number || round->spans_left == 0 ||
        head->bucket >= round->span_count || from->has_given[head->hop][head->bucket])
        return SH_FLOW_REFUSE;
    return place(servers, from, head, sink);
}

static void on_done(void *context, sh_channel *channel, const sh_frame *head)
{
    peer *from = context;
    sh_servers *servers = from->of;
    servers_span *span = &servers->spans[head->bucket];
    (void)channel;
    if (head->kind == SH_FRAME_UPDATE) {
        sh_exchange_on_done(servers->exchange, from->rank, head);
        return;
    }
    from->has_given[head->hop][head->bucket] = true;
    if (head->hop == HOP_PART)
        span->parts++;
    else
        span->sums++;
    advance(servers, head->bucket);
    check_end(servers, span);
}

static void on_sent(void *context, sh_channel *channel, const sh_frame *head)
{
    sh_servers *servers = ((peer *)context)->of;
    (void)channel;
    if (head->kind == SH_FRAME_UPDATE) {
        sh_exchange_on_sent(servers->exchange);
        return;
    }
    servers->spans[head->bucket].written++;
    check_end(servers, &servers->spans[head->bucket]);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    peer *gone = context;
    sh_servers *servers = gone->of;
    sh_channel_stats stats;
    char text[SH_MESSAGE_BYTES];
    sh_channel_stats_get(channel, &stats);
    sh_channel_stats_add(&servers->closed_stats, stats);
    snprintf(text, sizeof text, "the link with rank %u broke: %.800s", gone->rank,
             why == SH_OK ? "it was closed" : reason);
    gone->channel = NULL;
    servers->open_links -= gone->open;
    gone->open = false;
    sh_round_fail(&servers->round, SH_PEER_LOST, text);
    if (servers->options.on_broken != NULL)
        servers->options.on_broken(servers->options.context, gone->rank);
}

static const sh_channel_events link_events = {
    .on_open = on_open,
    .on_frame = on_frame,
    .on_done = on_done,
    .on_sent = on_sent,
    .on_close = on_close,
};

sh_status sh_servers_connect(sh_servers *servers, uint32_t rank, const sh_channel_target *target)
{
    peer *to = &servers->peers[rank];
    assert(to->has_link && to->channel == NULL);
    return sh_channel_connect(&to->channel, servers->options.loop, target, &link_events, to);
}

sh_status sh_servers_take(sh_servers *servers, uint32_t rank, sh_channel *channel)
{
    peer *from = &servers->peers[rank];
    if (!from->has_link || from->channel != NULL)
        return sh_fail(SH_REFUSED, "rank %u is linked already, or has nothing to do with us", rank);
    from->channel = channel;
    sh_channel_own(channel, &link_events, from);
    count_open(from);
    return SH_OK;
}

/* A question to the loop from another thread. */
typedef struct stats_question {
    const sh_servers *servers;
    sh_channel_stats answer;
} stats_question;

static void answer_stats(void *context)
{
    stats_question *question = context;
    const sh_servers *servers = question->servers;
    question->answer = servers->closed_stats;
    for (uint32_t i = 0; i < servers->options.devices; i++) {
        sh_channel_stats stats = {0};
        if (servers->peers[i].channel != NULL)
            sh_channel_stats_get(servers->peers[i].channel, &stats);
        sh_channel_stats_add(&question->answer, stats);
    }
}

sh_channel_stats sh_servers_stats(sh_servers *servers)
{
    stats_question question = {.servers = servers};
    if (sh_loop_is_current(servers->options.loop))
        answer_stats(&question);
    else
        sh_loop_call(servers->options.loop, answer_stats, &question);
    return question.answer;
}

/* ---- life ------------------------------------------------------------------------------------ */

void sh_servers_abort(sh_servers *servers, sh_status status, const char *reason)
{
    sh_round_fail(&servers->round, status, reason);
}

static void close_links(void *context)
{
    sh_servers *servers = context;
    for (uint32_t i = 0; i < servers->options.devices; i++) {
        sh_channel_close(servers->peers[i].channel);
        servers->peers[i].channel = NULL;
    }
}

static void release(sh_servers *servers)
{
    sh_exchange_free(servers->exchange);
    free(servers->serves);
    free(servers->shards);
    free(servers);
}

static sh_exchange *exchange_of(sh_engine *engine)
{
    return ((sh_servers *)engine)->exchange;
}

static void close_servers(sh_engine *engine)
{
    sh_servers *servers = (sh_servers *)engine;
    sh_loop_call(servers->options.loop, close_links, servers); /* behind every look */
    sh_round_release(&servers->round);
    release(servers);
}

/* Who serves what, and what of it is ours. */
static void deal(sh_servers *servers)
{
    const uint32_t rank = servers->options.rank, devices = servers->options.devices;
    for (uint32_t i = 0; i < devices; i++) {
        servers->serves[i] = servers->options.serves[i];
        servers->shards[i] = servers->server_count;
        servers->server_count += servers->serves[i];
    }
    for (uint32_t i = 0; i < devices; i++) {
        const bool has_link = sh_servers_links(servers->serves, rank, i);
        servers->peers[i] = (peer){.of = servers, .rank = i, .has_link = has_link};
        servers->links += has_link;
    }
    servers->options.serves = servers->serves;
    servers->parts = is_server(servers) ? devices - 1 : 0;
    servers->sums = servers->server_count - is_server(servers);
    servers->frames = servers->parts + servers->sums; /* a part to each server, a sum to each */
    assert(servers->server_count > 0);
}

sh_status sh_servers_new(sh_servers **servers, const sh_servers_options *options)
{
    static const sh_engine_ops ops = {
        .name = "servers",
        .begin = sh_round_begin,
        .ready = sh_round_ready,
        .wait = sh_round_wait,
        .watch = sh_round_watch,
        .decide = decide,
        .exchange = exchange_of,
        .close = close_servers,
    };
    const uint32_t devices = options->devices;
    assert(devices >= 2 && options->rank < devices);
    sh_servers *fresh = calloc(1, sizeof *fresh + devices * sizeof fresh->peers[0]);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh + devices * sizeof fresh->peers[0], "servers");
    fresh->serves = calloc(devices, sizeof *fresh->serves);
    fresh->shards = calloc(devices, sizeof *fresh->shards);
    if (fresh->serves == NULL || fresh->shards == NULL) {
        release(fresh);
        return sh_fail_memory(devices * sizeof *fresh->shards, "servers");
    }
    fresh->options = *options;
    deal(fresh);
    sh_round_init(&fresh->round, &(sh_engine){.ops = &ops, .devices = devices}, options->loop,
                  &(sh_round_events){.on_begin = on_begin,
                                     .on_ready = on_ready,
                                     .on_look = on_look,
                                     .on_last = on_last,
                                     .context = fresh});
    const sh_status status = sh_exchange_new(&fresh->exchange, fresh);
    if (status != SH_OK) {
        sh_round_release(&fresh->round);
        release(fresh);
        return status;
    }
    *servers = fresh;
    return SH_OK;
}

sh_round *sh_servers_round(sh_servers *servers)
{
    return &servers->round;
}

uint32_t sh_servers_rank(const sh_servers *servers)
{
    return servers->options.rank;
}

bool sh_servers_serves(const sh_servers *servers, uint32_t rank)
{
    return servers->serves[rank];
}

uint32_t sh_servers_shard(const sh_servers *servers, uint32_t rank)
{
    return servers->shards[rank];
}

sh_engine *sh_servers_engine(sh_servers *servers)
{
    return &servers->round.engine;
}
