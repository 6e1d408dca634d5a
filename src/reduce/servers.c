/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Some or all devices serve, each a shard of every span. A device sends its part of a shard to the
 * shard's server, which adds the parts up and sends the sum to all (the synchronous form of the
 * sharded parameter server; Li et al. 2014). This takes two hops for any number of devices, where a
 * ring takes 2 (N - 1). If few serve, each server moves more bytes than in a ring.
 *
 * A span is cut into a *shard* for each server, in the order of ranks. Two kinds of frame carry it:
 *
 *     hop 0, the part   from each device to the shard's server, once the span is ready here;
 *                       accepted once it is ready there, and added to the server's total
 *     hop 1, the sum    from the server to each device, once all parts arrived; stored in the total
 *
 * Parts of several devices arrive interleaved, in any order, because a server's total starts as a
 * copy of its own part of its shard.
 *
 * A part that arrives before its span is ready here, or for the next round, pauses its own channel
 * only. This cannot deadlock:
 *
 *   - A span becomes ready by this device's computing alone. So a pause for a span ends, whatever
 *     follows that part in the channel.
 *   - A device begins the next round after it has written and received all of this one. So in its
 *     channel nothing of this round follows a part of the next, and what we still need of this
 *     round arrives on channels that do not pause, or pause for a span.
 *   - A sum never pauses: it includes our part, so its span is ready here.
 *
 * Writing waits only for the peer's reading, to which the same applies.
 *
 * The decider's word is in the first server's shard. If rank 0 is another device, it must put the
 * word into its own part. Everything belongs to the loop, except what the round shares with other
 * threads.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/exchange.h"

#define HOP_PART 0
#define HOP_SUM 1

typedef struct servers_span {
    bool ready;           /* as the loop knows */
    bool parts_sent;      /* queued in the channels */
    bool sum_sent;        /* likewise */
    uint32_t parts, sums; /* arrived from others */
    uint32_t written;     /* frames, of both kinds */
} servers_span;

/* Frames from another device, by hop. */
typedef struct given {
    bool has[2][SH_ENGINE_MAX_SPANS];
} given;

typedef struct sh_servers {
    sh_links links; /* first member; by rank */
    uint32_t rank, devices;
    bool *serves;          /* of each rank */
    uint32_t *shards;      /* number of each serving rank's shard */
    given *given;          /* of each rank */
    uint32_t server_count; /* at least 1 */
    sh_exchange *exchange;
    uint32_t parts, sums; /* that arrive here per span */
    uint32_t frames;      /* that leave here per span */
    servers_span spans[SH_ENGINE_MAX_SPANS];
} sh_servers;

static sh_servers *servers_of(const sh_link *link)
{
    return (sh_servers *)link->of;
}

static bool are_linked(const bool *serves, uint32_t one, uint32_t other)
{
    return one != other && (serves[one] || serves[other]);
}

static bool is_server(const sh_servers *servers)
{
    return servers->serves[servers->rank];
}

static sh_stretch shard_of(const sh_servers *servers, uint32_t span, uint32_t rank)
{
    return sh_words_part(&servers->links.round.spans[span], servers->shards[rank],
                         servers->server_count);
}

/* ---- sending --------------------------------------------------------------------------------- */

static sh_status send_frame(sh_servers *servers, uint32_t to, uint32_t span, uint32_t hop,
                            const void *body, size_t bytes)
{
    const sh_frame head = {
        .bytes = (uint32_t)bytes,
        .kind = SH_FRAME_SEGMENT,
        .bucket = (uint16_t)span,
        .step = servers->links.round.number,
        .hop = (uint16_t)hop,
    };
    return sh_links_send(&servers->links, to, head, body);
}

/* Not all devices begin with the same server. */
static uint32_t other(const sh_servers *servers, uint32_t offset)
{
    return (servers->rank + offset) % servers->devices;
}

/* Sends the parts, and the own shard's sum once all parts arrived and, at rank 0, its word is
 * decided. */
static sh_status send_due(sh_servers *servers, uint32_t index)
{
    servers_span *span = &servers->spans[index];
    if (servers->links.open < servers->links.wanted || !span->ready)
        return SH_OK;
    for (uint32_t i = 1; i < servers->devices && !span->parts_sent; i++) {
        const uint32_t to = other(servers, i);
        if (!servers->serves[to])
            continue;
        const sh_stretch shard = shard_of(servers, index, to);
        SH_TRY(send_frame(servers, to, index, HOP_PART, shard.own, shard.bytes));
    }
    span->parts_sent = true;
    if (span->sum_sent || !is_server(servers) || span->parts < servers->parts ||
        !sh_round_settle(&servers->links.round, index))
        return SH_OK;
    const sh_stretch shard = shard_of(servers, index, servers->rank);
    span->sum_sent = true;
    for (uint32_t i = 1; i < servers->devices; i++)
        SH_TRY(send_frame(servers, other(servers, i), index, HOP_SUM, shard.total, shard.bytes));
    return SH_OK;
}

/* ---- the round ------------------------------------------------------------------------------- */

static bool is_complete(const sh_servers *servers, const servers_span *span)
{
    return span->sums == servers->sums && (span->sum_sent || !is_server(servers));
}

/* Does nothing once the span is complete. */
static void advance(sh_servers *servers, uint32_t index)
{
    if (send_due(servers, index) != SH_OK)
        sh_round_fail(&servers->links.round, SH_PEER_LOST, sh_message());
    if (is_complete(servers, &servers->spans[index]))
        sh_round_complete(&servers->links.round, index);
}

static void check_end(sh_servers *servers, const servers_span *span)
{
    if (is_complete(servers, span) && span->written == servers->frames)
        sh_round_leave(&servers->links.round);
}

static void on_begin(sh_round *round)
{
    sh_servers *servers = (sh_servers *)round;
    memset(servers->spans, 0, round->span_count * sizeof *servers->spans);
    memset(servers->given, 0, servers->devices * sizeof *servers->given);
}

static void on_ready(sh_round *round, uint32_t span)
{
    sh_servers *servers = (sh_servers *)round;
    if (is_server(servers)) {
        const sh_stretch shard = shard_of(servers, span, servers->rank);
        if (shard.bytes > 0)
            memcpy(shard.total, shard.own, shard.bytes);
    }
    servers->spans[span].ready = true;
    advance(servers, span);
}

static void on_last(sh_round *round)
{
    advance((sh_servers *)round, round->span_count - 1);
}

static bool decide(sh_engine *engine, const sh_engine_decider *decider)
{
    sh_servers *servers = (sh_servers *)engine;
    if (servers->rank != 0 || !is_server(servers))
        return false;
    sh_round_decide(&servers->links.round, decider);
    return true;
}

/* ---- links ----------------------------------------------------------------------------------- */

static void on_open(sh_link *link)
{
    sh_servers *servers = servers_of(link);
    if (servers->links.open < servers->links.wanted)
        return;
    for (uint32_t i = 0; i < servers->links.round.span_count; i++)
        advance(servers, i);
}

static sh_flow on_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    const sh_link *from = context;
    const sh_servers *servers = servers_of(from);
    const sh_round *round = &servers->links.round;
    const bool is_part = head->hop == HOP_PART;
    (void)channel;
    if (head->view != servers->links.options.view)
        return SH_FLOW_REFUSE;
    if (head->kind == SH_FRAME_UPDATE)
        return sh_exchange_on_frame(servers->exchange, from->rank, head, sink);
    if (head->kind != SH_FRAME_SEGMENT || head->hop > HOP_SUM)
        return SH_FLOW_REFUSE;
    if (head->step == round->number + 1 && is_part)
        return SH_FLOW_PAUSE; /* it ended this round before us */
    if (head->step != round->number || round->spans_left == 0 ||
        head->bucket >= round->span_count ||
        servers->given[from->rank].has[head->hop][head->bucket])
        return SH_FLOW_REFUSE;
    const uint32_t server = is_part ? servers->rank : from->rank;
    if (!servers->serves[server])
        return SH_FLOW_REFUSE;
    if (!servers->spans[head->bucket].ready)
        return is_part ? SH_FLOW_PAUSE : SH_FLOW_REFUSE;
    const sh_stretch shard = shard_of(servers, head->bucket, server);
    if (head->bytes != shard.bytes)
        return SH_FLOW_REFUSE;
    const sh_word word = round->spans[head->bucket].word;
    *sink = is_part ? sh_words_add(&shard, word, shard.total) : sh_words_store(&shard);
    return SH_FLOW_TAKE;
}

static void on_done(void *context, sh_channel *channel, const sh_frame *head)
{
    const sh_link *from = context;
    sh_servers *servers = servers_of(from);
    servers_span *span = &servers->spans[head->bucket];
    (void)channel;
    if (head->kind == SH_FRAME_UPDATE) {
        sh_exchange_on_done(servers->exchange, from->rank, head);
        return;
    }
    servers->given[from->rank].has[head->hop][head->bucket] = true;
    if (head->hop == HOP_PART)
        span->parts++;
    else
        span->sums++;
    advance(servers, head->bucket);
    check_end(servers, span);
}

static void on_sent(void *context, sh_channel *channel, const sh_frame *head)
{
    sh_servers *servers = servers_of(context);
    (void)channel;
    if (head->kind == SH_FRAME_UPDATE) {
        sh_exchange_on_sent(servers->exchange);
        return;
    }
    servers->spans[head->bucket].written++;
    check_end(servers, &servers->spans[head->bucket]);
}

/* ---- life ------------------------------------------------------------------------------------ */

static sh_status connect_rank(sh_engine *engine, uint32_t rank, const sh_channel_target *target)
{
    return sh_links_connect((sh_links *)engine, rank, target);
}

static sh_status take(sh_engine *engine, uint32_t rank, sh_channel *channel)
{
    sh_servers *servers = (sh_servers *)engine;
    if (!are_linked(servers->serves, servers->rank, rank))
        return sh_fail(SH_REFUSED, "rank %u is not connected to this rank", rank);
    return sh_links_take(&servers->links, rank, channel);
}

static sh_exchange *exchange_of(sh_engine *engine)
{
    return ((sh_servers *)engine)->exchange;
}

static void release(sh_servers *servers)
{
    sh_exchange_free(servers->exchange);
    free(servers->serves);
    free(servers->shards);
    free(servers->given);
    free(servers);
}

static void close_servers(sh_engine *engine)
{
    sh_links_close((sh_links *)engine);
    release((sh_servers *)engine);
}

static sh_status make(sh_engine **engine, const sh_engine_options *options)
{
    static const sh_engine_ops ops = {
        .name = "servers",
        .begin = sh_round_begin,
        .ready = sh_round_ready,
        .wait = sh_round_wait,
        .watch = sh_round_watch,
        .decide = decide,
        .exchange = exchange_of,
        .abort = sh_round_abort,
        .connect = connect_rank,
        .take = take,
        .stats = sh_links_stats,
        .stuck_ms = sh_links_stuck_ms,
        .waits = sh_links_wait,
        .call = sh_links_call,
        .close = close_servers,
    };
    const uint32_t rank = options->rank, devices = options->devices;
    uint32_t wanted = 0;
    sh_status status;
    assert(devices >= 2 && rank < devices);
    sh_servers *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "servers");
    fresh->rank = rank;
    fresh->devices = devices;
    fresh->serves = calloc(devices, sizeof *fresh->serves);
    fresh->shards = calloc(devices, sizeof *fresh->shards);
    fresh->given = calloc(devices, sizeof *fresh->given);
    if (fresh->serves == NULL || fresh->shards == NULL || fresh->given == NULL)
        SH_TRY_DONE(sh_fail_memory(devices * sizeof *fresh->given, "servers"));
    for (uint32_t i = 0; i < devices; i++) {
        fresh->serves[i] = options->serves[i];
        fresh->shards[i] = fresh->server_count;
        fresh->server_count += fresh->serves[i];
        wanted += are_linked(options->serves, rank, i);
    }
    assert(fresh->server_count > 0);
    fresh->parts = is_server(fresh) ? devices - 1 : 0;
    fresh->sums = fresh->server_count - is_server(fresh);
    fresh->frames = fresh->parts + fresh->sums; /* a part to each server, a sum to each device */
    SH_TRY_DONE(sh_exchange_new(&fresh->exchange,
                                &(sh_exchange_options){.links = &fresh->links,
                                                       .rank = rank,
                                                       .devices = devices,
                                                       .serves = fresh->serves,
                                                       .shards = fresh->shards,
                                                       .server_count = fresh->server_count}));
    SH_TRY_DONE(sh_links_init(&fresh->links, &ops, options,
                              &(sh_links_events){.on_begin = on_begin,
                                                 .on_ready = on_ready,
                                                 .on_last = on_last,
                                                 .on_open = on_open,
                                                 .on_frame = on_frame,
                                                 .on_done = on_done,
                                                 .on_sent = on_sent},
                              devices));
    fresh->links.wanted = wanted;
    *engine = &fresh->links.round.engine;
    return SH_OK;
done:
    release(fresh);
    return status;
}

static bool fits_servers(const bool *serves, uint32_t devices)
{
    uint32_t i = 0;
    while (i < devices && !serves[i])
        i++;
    return i < devices;
}

/* The lower rank connects. */
static bool links_to_higher(const bool *serves, uint32_t devices, uint32_t from, uint32_t to)
{
    (void)devices;
    return from < to && are_linked(serves, from, to);
}

const sh_engine_kind sh_engine_servers = {
    .fits = fits_servers, .links = links_to_higher, .make = make};
