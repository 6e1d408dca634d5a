/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ring all-reduce over secure channels: per span, each device sends 2 (N - 1) segments to the next
 * rank and receives as many from the previous one, the fewest bytes of any algorithm (Patarasuk,
 * Yuan 2009).
 *
 * The schedule: a span of N segments takes hops 0 .. 2N - 3. In hop h, rank r sends segment
 * r - h - 1 to the next rank and receives segment r - h - 2 from the previous one (modulo N):
 *
 *     hop 0 .. N - 2        the total becomes the own part plus the received partial sum
 *     hop N - 1 .. 2N - 3   the received segment is complete and is stored in the total
 *
 * Hop 0 sends from the own part once the span is ready here. Hop h + 1 sends the segment that hop h
 * received, as soon as it arrived. Frames are received directly into the total; hops 0 .. N - 1
 * write each of its segments.
 *
 * A frame for a span that is not ready here, or for the next round, pauses the channel until it is.
 * All devices make the spans ready in the same order and without waiting for the network, so every
 * pause ends.
 *
 * Segment 0 is complete at rank 0 in hop N - 2. There rank 0 adds the word of its decider and
 * continues sending, at once or when the round's other spans are complete. It keeps receiving
 * meanwhile.
 *
 * A gathered span takes hops 0 .. N - 2: hop 0 sends the whole own part, hop h + 1 what hop h
 * received. The parts' sizes differ. The total stores the parts in order of arrival, and the last
 * hop must fill it.
 *
 * Everything belongs to the loop, except what the round shares with other threads.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "reduce/links.h"

enum { NEXT, PREVIOUS, LINKS };

typedef struct ring_span {
    bool ready;       /* as the loop knows */
    uint32_t sending; /* hops queued in the channel */
    uint32_t sent;
    uint32_t received;
    size_t filled;  /* gathered: bytes arrived */
    size_t passing; /* of these, the last hop's */
} ring_span;

typedef struct sh_ring {
    sh_links links; /* first member */
    uint32_t rank, devices;
    uint32_t hops; /* of a summed span */
    ring_span spans[SH_ENGINE_MAX_SPANS];
} sh_ring;

static sh_ring *ring_of(const sh_link *link)
{
    return (sh_ring *)link->of;
}

static sh_stretch segment_of(const sh_ring *ring, uint32_t span, uint32_t index)
{
    return sh_words_part(&ring->links.round.spans[span], index, ring->devices);
}

static uint32_t segment_index(const sh_ring *ring, uint32_t rank, uint32_t hop)
{
    const uint32_t devices = ring->devices;
    return (rank + 3 * devices - hop - 1) % devices;
}

static uint32_t hops_of(const sh_ring *ring, uint32_t index)
{
    return ring->links.round.spans[index].gathered ? ring->hops / 2 : ring->hops;
}

/* Rank 0, which decides, first sends word 0 in hop N - 1. */
static void send_due(sh_ring *ring, uint32_t index)
{
    ring_span *at = &ring->spans[index];
    const sh_span *span = &ring->links.round.spans[index];
    while (ring->links.items[NEXT].open && at->ready && at->sending < hops_of(ring, index) &&
           at->sending <= at->received &&
           (at->sending + 1 < ring->devices || sh_round_settle(&ring->links.round, index))) {
        sh_stretch part;
        if (span->gathered)
            part = (sh_stretch){
                .own = span->own,
                .total = (unsigned char *)span->total + (at->filled - at->passing),
                .bytes = at->sending == 0 ? span->count * sh_words_bytes(span->word) : at->passing,
            };
        else
            part = segment_of(ring, index, segment_index(ring, ring->rank, at->sending));
        const sh_frame head = {
            .bytes = (uint32_t)part.bytes,
            .kind = SH_FRAME_SEGMENT,
            .bucket = (uint16_t)index,
            .step = ring->links.round.number,
            .hop = (uint16_t)at->sending,
        };
        if (sh_links_send(&ring->links, NEXT, head, at->sending == 0 ? part.own : part.total) !=
            SH_OK) {
            sh_round_fail(&ring->links.round, SH_PEER_LOST, sh_message());
            return;
        }
        at->sending++;
    }
}

static void tell_if_complete(const sh_ring *ring, uint32_t index)
{
    if (ring->spans[index].received == hops_of(ring, index))
        sh_round_complete(&ring->links.round, index);
}

static void check_end(sh_ring *ring, uint32_t index)
{
    const uint32_t hops = hops_of(ring, index);
    if (ring->spans[index].sent == hops && ring->spans[index].received == hops)
        sh_round_leave(&ring->links.round);
}

static void on_begin(sh_round *round)
{
    sh_ring *ring = (sh_ring *)round;
    memset(ring->spans, 0, round->span_count * sizeof *ring->spans);
}

static void on_ready(sh_round *round, uint32_t span)
{
    sh_ring *ring = (sh_ring *)round;
    ring->spans[span].ready = true;
    send_due(ring, span);
}

static void on_last(sh_round *round)
{
    sh_ring *ring = (sh_ring *)round;
    const uint32_t last = round->span_count - 1;
    send_due(ring, last);
    tell_if_complete(ring, last);
}

/* Rank 0 only: others may send word 0 from their own part. */
static bool decide(sh_engine *engine, const sh_engine_decider *decider)
{
    sh_ring *ring = (sh_ring *)engine;
    if (ring->rank != 0)
        return false;
    sh_round_decide(&ring->links.round, decider);
    return true;
}

static void on_open(sh_link *link)
{
    sh_ring *ring = ring_of(link);
    for (uint32_t i = 0; i < ring->links.round.span_count; i++)
        send_due(ring, i);
    sh_links_resume(&ring->links);
}

/* Pauses until the previous part was queued for sending. */
static sh_flow gather(sh_ring *ring, const sh_frame *head, sh_sink *sink)
{
    const ring_span *at = &ring->spans[head->bucket];
    const sh_span *span = &ring->links.round.spans[head->bucket];
    const size_t left = span->room * sh_words_bytes(span->word) - at->filled;
    const bool last = head->hop == hops_of(ring, head->bucket) - 1;
    if (at->sending <= at->received)
        return SH_FLOW_PAUSE;
    if (head->bytes > left || (last && head->bytes < left))
        return SH_FLOW_REFUSE;
    *sink = (sh_sink){.data = (unsigned char *)span->total + at->filled, .bytes = left};
    return SH_FLOW_TAKE;
}

static sh_flow on_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    sh_ring *ring = ring_of(context);
    (void)channel;
    if (head->kind != SH_FRAME_SEGMENT || head->view != ring->links.options.view)
        return SH_FLOW_REFUSE;
    const sh_round *round = &ring->links.round;
    if (head->step == round->number + 1) /* it ended this round before us */
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
    const uint32_t devices = ring->devices;
    const uint32_t previous = (ring->rank + devices - 1) % devices;
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
    sh_ring *ring = ring_of(context);
    (void)channel;
    ring_span *span = &ring->spans[head->bucket];
    span->received++;
    if (ring->links.round.spans[head->bucket].gathered) {
        span->filled += head->bytes;
        span->passing = head->bytes;
        sh_round_add_gathered(&ring->links.round,
                              head->bytes /
                                  sh_words_bytes(ring->links.round.spans[head->bucket].word));
    }
    send_due(ring, head->bucket);
    tell_if_complete(ring, head->bucket);
    check_end(ring, head->bucket);
}

static void on_sent(void *context, sh_channel *channel, const sh_frame *head)
{
    sh_ring *ring = ring_of(context);
    (void)channel;
    ring->spans[head->bucket].sent++;
    check_end(ring, head->bucket);
}

/* ---- life ------------------------------------------------------------------------------------ */

static sh_status connect_next(sh_engine *engine, uint32_t rank, const sh_channel_target *target)
{
    (void)rank;
    return sh_links_connect((sh_links *)engine, NEXT, target);
}

static sh_status take_previous(sh_engine *engine, uint32_t rank, sh_channel *channel)
{
    (void)rank;
    return sh_links_take((sh_links *)engine, PREVIOUS, channel);
}

static void close_ring(sh_engine *engine)
{
    sh_links_close((sh_links *)engine);
    free(engine);
}

static sh_status make(sh_engine **engine, const sh_engine_options *options)
{
    static const sh_engine_ops ops = {
        .name = "ring",
        .begin = sh_round_begin,
        .ready = sh_round_ready,
        .gathered = sh_round_gathered,
        .wait = sh_round_wait,
        .watch = sh_round_watch,
        .decide = decide,
        .abort = sh_round_abort,
        .connect = connect_next,
        .take = take_previous,
        .stats = sh_links_stats,
        .stuck_ms = sh_links_stuck_ms,
        .waits = sh_links_wait,
        .call = sh_links_call,
        .close = close_ring,
    };
    const uint32_t devices = options->devices, rank = options->rank;
    assert(devices >= 2 && rank < devices);
    sh_ring *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a ring");
    const sh_status status = sh_links_init(&fresh->links, &ops, options,
                                           &(sh_links_events){.on_begin = on_begin,
                                                              .on_ready = on_ready,
                                                              .on_last = on_last,
                                                              .on_open = on_open,
                                                              .on_frame = on_frame,
                                                              .on_done = on_done,
                                                              .on_sent = on_sent},
                                           LINKS);
    if (status != SH_OK) {
        free(fresh);
        return status;
    }
    fresh->rank = rank;
    fresh->devices = devices;
    fresh->hops = 2 * (devices - 1);
    fresh->links.wanted = LINKS;
    fresh->links.items[NEXT].rank = (rank + 1) % devices;
    fresh->links.items[NEXT].name = "to the next device";
    fresh->links.items[PREVIOUS].rank = (rank + devices - 1) % devices;
    fresh->links.items[PREVIOUS].name = "from the previous device";
    *engine = &fresh->links.round.engine;
    return SH_OK;
}

static bool links_to_next(const bool *serves, uint32_t devices, uint32_t from, uint32_t to)
{
    (void)serves;
    return to == (from + 1) % devices;
}

const sh_engine_kind sh_engine_ring = {.links = links_to_next, .make = make};
