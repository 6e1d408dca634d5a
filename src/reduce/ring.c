/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ring's schedule. A span of N segments takes hops 0 .. 2N - 3; in hop h rank r sends segment r
 * - h - 1 to the next rank and receives segment r - h - 2 from the previous (modulo N):
 *
 *     hop 0 .. N - 2        what arrives is added to this device's own part, and the sum goes into
 *                           the total: the segment has collected one more device's part
 *     hop N - 1 .. 2N - 3   what arrives is stored in the total: the segment is complete and goes
 *                           round once more
 *
 * Hop 0 sends from the own part. The segment sent in a later hop h is the one received in hop h -
 * 1, so the rule is short: hop 0 goes out when the span is ready here, hop h + 1 as soon as hop h
 * has arrived. A frame is taken straight from the wire into the total, in which hops 0 .. N - 1
 * write every segment; the own part is only read, so a round that breaks off has spoilt nothing.
 *
 * A frame for a span that is not ready here, or for the round after this one, makes the channel
 * pause until it is. All devices make the spans ready in the same order and without waiting for the
 * network, so a pause always ends.
 *
 * Segment 0 is complete at rank 0 in hop N - 2, when all others have added to it. There rank 0 adds
 * the word of its decider, and goes on sending, at once or when the round's other spans are
 * complete. It receives meanwhile as ever, so nobody's channel pauses for it.
 *
 * A span that is gathered takes hops 0 .. N - 2: hop 0 sends all of the own part, hop h + 1 what
 * has arrived in hop h. Devices have parts of different sizes, which only their frames tell; they
 * lie in the total as they arrive, and in the last hop it has to be full.
 *
 * All here is the loop's but what the round keeps for the other threads.
 */
#include "reduce/ring.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/round.h"
#include "reduce/words.h"

typedef struct ring_span {
    bool ready;        /* this device's part is complete: on the loop's side */
    uint32_t sending;  /* hops handed to the channel */
    uint32_t sent;     /* hops written */
    uint32_t received; /* hops arrived */
    size_t filled;     /* gathered: bytes arrived */
    size_t passing;    /* of these, the last hop's */
} ring_span;

struct sh_ring {
    sh_round round; /* first: the engine is the ring */
    sh_ring_options options;
    uint32_t hops; /* of a span */
    sh_channel *next, *previous;
    bool next_is_open;
    sh_channel_stats closed_stats; /* of links that are gone */
    ring_span spans[SH_ENGINE_MAX_SPANS];
};

void sh_ring_abort(sh_ring *ring, sh_status status, const char *reason)
{
    sh_round_fail(&ring->round, status, reason);
}

/* The segment of a span that is number `index` around the ring. */
static sh_stretch segment_of(const sh_ring *ring, uint32_t span, uint32_t index)
{
    return sh_words_part(&ring->round.spans[span], index, ring->options.devices);
}

/* Number of the segment that `rank` sends in a hop. */
static uint32_t segment_index(const sh_ring *ring, uint32_t rank, uint32_t hop)
{
    const uint32_t devices = ring->options.devices;
    return (rank + 3 * devices - hop - 1) % devices;
}

/* Whether a hop of the span may go out. Rank 0, which decides, sends word 0 first in hop N - 1. */
static bool is_settled(sh_ring *ring, uint32_t index, uint32_t hop)
{
    return hop + 1 < ring->options.devices || sh_round_settle(&ring->round, index);
}

static uint32_t hops_of(const sh_ring *ring, uint32_t index)
{
    return ring->round.spans[index].gathered ? ring->hops / 2 : ring->hops;
}

/* What goes out in the hop that is next. */
static sh_stretch outgoing(const sh_ring *ring, uint32_t index)
{
    const ring_span *at = &ring->spans[index];
    const sh_span *span = &ring->round.spans[index];
    if (!span->gathered)
        return segment_of(ring, index, segment_index(ring, ring->options.rank, at->sending));
    return (sh_stretch){
        .own = span->own,
        .total = (unsigned char *)span->total + (at->filled - at->passing),
        .bytes = at->sending == 0 ? span->count * sh_words_bytes(span->word) : at->passing,
    };
}

/* Sends every hop of a span whose turn has come. */
static sh_status pump(sh_ring *ring, uint32_t index)
{
    ring_span *span = &ring->spans[index];
    while (ring->next_is_open && span->ready && span->sending < hops_of(ring, index) &&
           span->sending <= span->received && is_settled(ring, index, span->sending)) {
        const sh_stretch part = outgoing(ring, index);
        const sh_frame head = {
            .bytes = (uint32_t)part.bytes,
            .kind = SH_FRAME_SEGMENT,
            .bucket = (uint16_t)index,
            .view = ring->options.view,
            .step = ring->round.number,
            .hop = (uint16_t)span->sending,
        };
        SH_TRY(sh_channel_send(ring->next, &head, span->sending == 0 ? part.own : part.total));
        span->sending++;
    }
    return SH_OK;
}

static void pump_or_break(sh_ring *ring, uint32_t index)
{
    if (pump(ring, index) != SH_OK)
        sh_round_fail(&ring->round, SH_PEER_LOST, sh_message());
}

static void tell_if_complete(const sh_ring *ring, uint32_t index)
{
    if (ring->spans[index].received == hops_of(ring, index))
        sh_round_complete(&ring->round, index);
}

/* A hop of a span has been written or has arrived: is that all of it? */
static void check_end(sh_ring *ring, uint32_t index)
{
    const uint32_t hops = hops_of(ring, index);
    if (ring->spans[index].sent == hops && ring->spans[index].received == hops)
        sh_round_leave(&ring->round);
}

static void on_begin(void *context)
{
    sh_ring *ring = context;
    memset(ring->spans, 0, ring->round.span_count * sizeof *ring->spans);
}

static void on_ready(void *context, uint32_t span)
{
    sh_ring *ring = context;
    ring->spans[span].ready = true;
    pump_or_break(ring, span);
}

static void on_look(void *context)
{
    const sh_ring *ring = context;
    if (ring->previous != NULL)
        sh_channel_resume(ring->previous);
}

static void on_last(void *context)
{
    sh_ring *ring = context;
    const uint32_t last = ring->round.span_count - 1;
    pump_or_break(ring, last);
    tell_if_complete(ring, last);
}

/* Other ranks may send word 0 from the own part. */
static bool decide(sh_engine *engine, const sh_engine_decider *decider)
{
    sh_ring *ring = (sh_ring *)engine;
    if (ring->options.rank != 0)
        return false;
    sh_round_decide(&ring->round, decider);
    return true;
}

static void check_linked(const sh_ring *ring)
{
    if (ring->next_is_open && ring->previous != NULL && ring->options.on_linked != NULL)
        ring->options.on_linked(ring->options.context);
}

static void on_open(void *context, sh_channel *channel)
{
    sh_ring *ring = context;
    (void)channel;
    ring->next_is_open = true;
    check_linked(ring);
    for (uint32_t i = 0; i < ring->round.span_count; i++)
        pump_or_break(ring, i);
    on_look(ring);
}

/* Where a frame of a gathered span goes; what came before it has been passed on. */
static sh_flow gather(sh_ring *ring, const sh_frame *head, sh_sink *sink)
{
    const ring_span *at = &ring->spans[head->bucket];
    const sh_span *span = &ring->round.spans[head->bucket];
    const size_t left = span->room * sh_words_bytes(span->word) - at->filled;
    const bool last = head->hop == hops_of(ring, head->bucket) - 1;
    if (at->sending <= at->received)
        return SH_FLOW_PAUSE;
    if (head->bytes > left || (last && head->bytes < left))
        return SH_FLOW_REFUSE;
    *sink = (sh_sink){
        .mode = SH_SINK_STORE, .data = (unsigned char *)span->total + at->filled, .bytes = left};
    return SH_FLOW_TAKE;
}

static sh_flow on_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    sh_ring *ring = context;
    (void)channel;
    if (head->kind != SH_FRAME_SEGMENT || head->view != ring->options.view)
        return SH_FLOW_REFUSE;
    const sh_round *round = &ring->round;
    if (head->step == round->number + 1) /* the previous device has ended this round before us */
        return SH_FLOW_PAUSE;
    if (head->step != round->number || round->spans_left == 0 || head->bucket >= round->span_count)
        return SH_FLOW_REFUSE;
    const ring_span *span = &ring->spans[head->bucket];
    if (head->hop != span->received || head->hop >= hops_of(ring, head->bucket))
        return SH_FLOW_REFUSE;
    if (!span->ready)
        return SH_FLOW_PAUSE;
    if (round->spans[head->bucket].gathered)
        return gather(ring, head, sink);
    const uint32_t devices = ring->options.devices;
    const uint32_t previous = (ring->options.rank + devices - 1) % devices;
    const sh_stretch part =
        segment_of(ring, head->bucket, segment_index(ring, previous, head->hop));
    if (head->bytes != part.bytes)
        return SH_FLOW_REFUSE;
    const bool complete = head->hop >= devices - 1;
    *sink = complete ? sh_words_store(&part)
                     : sh_words_add(&part, round->spans[head->bucket].word, part.own);
    return SH_FLOW_TAKE;
}

static void on_done(void *context, sh_channel *channel, const sh_frame *head)
{
    sh_ring *ring = context;
    (void)channel;
    ring_span *span = &ring->spans[head->bucket];
    span->received++;
    if (ring->round.spans[head->bucket].gathered) {
        span->filled += head->bytes;
        span->passing = head->bytes;
        sh_round_add_gathered(&ring->round,
                              head->bytes / sh_words_bytes(ring->round.spans[head->bucket].word));
    }
    pump_or_break(ring, head->bucket);
    tell_if_complete(ring, head->bucket);
    check_end(ring, head->bucket);
}

static void on_sent(void *context, sh_channel *channel, const sh_frame *head)
{
    sh_ring *ring = context;
    (void)channel;
    ring->spans[head->bucket].sent++;
    check_end(ring, head->bucket);
}

static void on_close(void *context, sh_channel *channel, sh_status why, const char *reason)
{
    sh_ring *ring = context;
    sh_channel_stats stats;
    char text[SH_MESSAGE_BYTES];
    sh_channel_stats_get(channel, &stats);
    sh_channel_stats_add(&ring->closed_stats, stats);
    snprintf(text, sizeof text, "the link %s broke: %.800s",
             channel == ring->next ? "to the next device" : "from the previous device",
             why == SH_OK ? "it was closed" : reason);
    const bool next = channel == ring->next;
    if (next) {
        ring->next = NULL;
        ring->next_is_open = false;
    } else {
        ring->previous = NULL;
    }
    sh_round_fail(&ring->round, SH_PEER_LOST, text);
    if (ring->options.on_broken != NULL)
        ring->options.on_broken(ring->options.context, next);
}

static const sh_channel_events link_events = {
    .on_open = on_open,
    .on_frame = on_frame,
    .on_done = on_done,
    .on_sent = on_sent,
    .on_close = on_close,
};

sh_status sh_ring_connect(sh_ring *ring, const sh_channel_target *next)
{
    assert(ring->next == NULL);
    return sh_channel_connect(&ring->next, ring->options.loop, next, &link_events, ring);
}

sh_status sh_ring_take_previous(sh_ring *ring, sh_channel *channel)
{
    if (ring->previous != NULL)
        return sh_fail(SH_REFUSED, "the previous device is linked already");
    ring->previous = channel;
    sh_channel_own(channel, &link_events, ring);
    check_linked(ring);
    return SH_OK;
}

/* A question to the loop from another thread. */
typedef struct stats_question {
    sh_ring *ring;
    sh_channel_stats answer;
} stats_question;

static void answer_stats(void *context)
{
    stats_question *question = context;
    sh_channel *links[] = {question->ring->next, question->ring->previous};
    question->answer = question->ring->closed_stats;
    for (int i = 0; i < 2; i++) {
        sh_channel_stats stats = {0};
        if (links[i] != NULL)
            sh_channel_stats_get(links[i], &stats);
        sh_channel_stats_add(&question->answer, stats);
    }
}

sh_channel_stats sh_ring_stats(sh_ring *ring)
{
    stats_question question = {.ring = ring};
    if (sh_loop_is_current(ring->options.loop))
        answer_stats(&question);
    else
        sh_loop_call(ring->options.loop, answer_stats, &question);
    return question.answer;
}

static void close_links(void *context)
{
    sh_ring *ring = context;
    sh_channel_close(ring->next);
    sh_channel_close(ring->previous);
    ring->next = ring->previous = NULL;
}

static void close_ring(sh_engine *engine)
{
    sh_ring *ring = (sh_ring *)engine;
    sh_loop_call(ring->options.loop, close_links, ring); /* behind every look that was posted */
    sh_round_release(&ring->round);
    free(ring);
}

sh_status sh_ring_new(sh_ring **ring, const sh_ring_options *options)
{
    static const sh_engine_ops ops = {
        .name = "ring",
        .begin = sh_round_begin,
        .ready = sh_round_ready,
        .gathered = sh_round_gathered,
        .wait = sh_round_wait,
        .watch = sh_round_watch,
        .decide = decide,
        .close = close_ring,
    };
    assert(options->devices >= 2 && options->rank < options->devices);
    sh_ring *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a ring");
    fresh->options = *options;
    fresh->hops = 2 * (options->devices - 1);
    sh_round_init(&fresh->round, &(sh_engine){.ops = &ops, .devices = options->devices},
                  options->loop,
                  &(sh_round_events){.on_begin = on_begin,
                                     .on_ready = on_ready,
                                     .on_look = on_look,
                                     .on_last = on_last,
                                     .context = fresh});
    *ring = fresh;
    return SH_OK;
}

sh_engine *sh_ring_engine(sh_ring *ring)
{
    return &ring->round.engine;
}
