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
 * The step's thread and the lanes touch only what `lock` guards; everything else is the loop's.
 */
#include "reduce/ring.h"

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ring_span {
    sh_span words;
    bool ready;        /* this device's part is complete: on the loop's side */
    uint32_t sending;  /* hops handed to the channel */
    uint32_t sent;     /* hops written */
    uint32_t received; /* hops arrived */
} ring_span;

struct sh_ring {
    sh_engine engine; /* first: the engine is the ring */
    sh_ring_options options;
    uint32_t hops; /* of a span */

    /* The loop's. */
    sh_channel *next, *previous;
    bool next_is_open;
    sh_channel_stats closed_stats; /* of links that are gone */
    uint32_t round;                /* that is open or was the last */
    ring_span spans[SH_ENGINE_MAX_SPANS];
    uint32_t span_count;
    uint32_t spans_left;
    sh_engine_watcher watching; /* of the round, as the next */
    sh_engine_decider deciding;
    bool asked;
    bool decided; /* the word is in the last span, or nobody decides */

    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t ended; /* the round, by its end or by failure */
    uint32_t begun;       /* rounds that the step's thread has begun */
    uint32_t finished;    /* rounds that the loop has finished */
    const sh_span *begun_spans;
    uint32_t begun_count;
    bool announced[SH_ENGINE_MAX_SPANS]; /* ready, not yet seen by the loop */
    bool posted;                         /* a look at the above is on its way */
    sh_engine_watcher watcher;           /* of the next round, as the next */
    sh_engine_decider decider;
    sh_status failure;
    char reason[SH_MESSAGE_BYTES];
};

static void fail_round(sh_ring *ring, sh_status status, const char *reason)
{
    pthread_mutex_lock(&ring->lock);
    if (ring->failure == SH_OK) {
        ring->failure = status;
        snprintf(ring->reason, sizeof ring->reason, "%s", reason);
    }
    pthread_cond_broadcast(&ring->ended);
    pthread_mutex_unlock(&ring->lock);
}

void sh_ring_abort(sh_ring *ring, sh_status status, const char *reason)
{
    fail_round(ring, status, reason);
}

/* A stretch of a span, in both of its blocks. */
typedef struct segment {
    const void *own;
    void *total;
    size_t bytes;
} segment;

/* The segment of `words` that is number `index` around the ring. */
static segment segment_of(const sh_ring *ring, const sh_span *words, uint32_t index)
{
    const size_t devices = ring->options.devices;
    const size_t first = words->count * index / devices;
    const size_t end = words->count * (index + 1) / devices;
    const size_t word_bytes = words->word == SH_WORD_I32 ? 4 : 8;
    return (segment){
        .own = (const unsigned char *)words->own + first * word_bytes,
        .total = (unsigned char *)words->total + first * word_bytes,
        .bytes = (end - first) * word_bytes,
    };
}

/* Number of the segment that `rank` sends in a hop. */
static uint32_t segment_index(const sh_ring *ring, uint32_t rank, uint32_t hop)
{
    const uint32_t devices = ring->options.devices;
    return (rank + 3 * devices - hop - 1) % devices;
}

/* The segment with word 0: the first that is not empty. */
static uint32_t first_segment(const sh_ring *ring, const sh_span *words)
{
    uint32_t index = 0;
    while (index + 1 < ring->options.devices && segment_of(ring, words, index).bytes == 0)
        index++;
    return index;
}

/* The hop in which this device sends word 0 of a span. */
static uint32_t first_hop(const sh_ring *ring, const sh_span *words)
{
    uint32_t hop = 0;
    while (segment_index(ring, ring->options.rank, hop) != first_segment(ring, words))
        hop++;
    return hop;
}

/* Whether a hop of the span may go out: word 0 only as it has been decided. */
static bool is_settled(sh_ring *ring, uint32_t index, uint32_t hop)
{
    const sh_span *words = &ring->spans[index].words;
    uint64_t word = 0;
    if (ring->decided || index + 1 < ring->span_count || hop < first_hop(ring, words))
        return true;
    const bool last = ring->spans_left == 1;
    if (ring->asked && !last)
        return false;
    assert(hop > 0); /* a last span has more words than one */
    ring->asked = true;
    ring->decided = ring->deciding.decide(ring->deciding.context, last, &word);
    if (ring->decided)
        *(uint64_t *)words->total += word;
    return ring->decided;
}

/* Sends every hop of a span whose turn has come. */
static sh_status pump(sh_ring *ring, uint32_t index)
{
    ring_span *span = &ring->spans[index];
    while (ring->next_is_open && span->ready && span->sending < ring->hops &&
           span->sending <= span->received && is_settled(ring, index, span->sending)) {
        const segment part =
            segment_of(ring, &span->words, segment_index(ring, ring->options.rank, span->sending));
        const sh_frame head = {
            .bytes = (uint32_t)part.bytes,
            .kind = SH_FRAME_SEGMENT,
            .bucket = (uint16_t)index,
            .view = ring->options.view,
            .step = ring->round,
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
        fail_round(ring, SH_PEER_LOST, sh_message());
}

static void tell_if_complete(const sh_ring *ring, uint32_t index)
{
    const ring_span *span = &ring->spans[index];
    const bool decided = ring->decided || index + 1 < ring->span_count;
    if (span->received == ring->hops && decided && ring->watching.on_span != NULL)
        ring->watching.on_span(ring->watching.context, index, &span->words);
}

/* All other spans are complete: the last one waits for the decision alone. */
static void pump_last(sh_ring *ring)
{
    const uint32_t last = ring->span_count - 1;
    pump_or_break(ring, last);
    if (ring->decided)
        tell_if_complete(ring, last);
}

/* A hop of a span has been written or has arrived: is the span, and with it the round, complete? */
static void check_end(sh_ring *ring, const ring_span *span)
{
    if (span->sent < ring->hops || span->received < ring->hops)
        return;
    ring->spans_left--;
    if (ring->spans_left == 1 && !ring->decided)
        pump_last(ring);
    if (ring->spans_left > 0)
        return;
    pthread_mutex_lock(&ring->lock);
    ring->finished++;
    pthread_cond_broadcast(&ring->ended);
    pthread_mutex_unlock(&ring->lock);
}

/* Takes over what the step's thread and the lanes have announced. Runs on the loop. */
static void look(void *context)
{
    sh_ring *ring = context;
    bool news[SH_ENGINE_MAX_SPANS];
    pthread_mutex_lock(&ring->lock);
    ring->posted = false;
    if (ring->round != ring->begun) { /* the former round had ended before this one could begin */
        assert(ring->spans_left == 0);
        ring->round = ring->begun;
        ring->watching = ring->watcher;
        ring->deciding = ring->decider;
        ring->asked = false;
        ring->decided = ring->decider.decide == NULL;
        ring->span_count = ring->spans_left = ring->begun_count;
        for (uint32_t i = 0; i < ring->begun_count; i++)
            ring->spans[i] = (ring_span){.words = ring->begun_spans[i]};
    }
    memcpy(news, ring->announced, sizeof news);
    memset(ring->announced, 0, sizeof ring->announced);
    pthread_mutex_unlock(&ring->lock);
    for (uint32_t i = 0; i < ring->span_count; i++)
        if (news[i]) {
            ring->spans[i].ready = true;
            pump_or_break(ring, i);
        }
    if (ring->previous != NULL)
        sh_channel_resume(ring->previous);
}

/* Lets the loop look, once for any number of news. The caller holds the lock. */
static sh_status post_look(sh_ring *ring)
{
    if (ring->posted)
        return SH_OK;
    SH_TRY(sh_loop_post(ring->options.loop, look, ring));
    ring->posted = true;
    return SH_OK;
}

static sh_status begin(sh_engine *engine, const sh_span *spans, uint32_t count)
{
    sh_ring *ring = (sh_ring *)engine;
    assert(count > 0 && count <= SH_ENGINE_MAX_SPANS);
    pthread_mutex_lock(&ring->lock);
    assert(ring->begun == ring->finished || ring->failure != SH_OK);
    ring->begun++;
    ring->begun_spans = spans;
    ring->begun_count = count;
    const sh_status status = ring->failure == SH_OK ? post_look(ring) : SH_OK;
    pthread_mutex_unlock(&ring->lock);
    return status;
}

static void ready(sh_engine *engine, uint32_t span)
{
    sh_ring *ring = (sh_ring *)engine;
    pthread_mutex_lock(&ring->lock);
    ring->announced[span] = true;
    const bool posted = ring->failure != SH_OK || post_look(ring) == SH_OK;
    pthread_mutex_unlock(&ring->lock);
    if (!posted)
        fail_round(ring, SH_LIMIT, sh_message());
}

static sh_status wait_for_end(sh_engine *engine)
{
    sh_ring *ring = (sh_ring *)engine;
    pthread_mutex_lock(&ring->lock);
    while (ring->finished != ring->begun && ring->failure == SH_OK)
        pthread_cond_wait(&ring->ended, &ring->lock);
    const bool done = ring->finished == ring->begun;
    pthread_mutex_unlock(&ring->lock);
    /* `failure` is set once and stays, so it may be read without the lock from here on. */
    return done ? SH_OK : sh_fail(ring->failure, "%s", ring->reason);
}

static void watch(sh_engine *engine, const sh_engine_watcher *watcher)
{
    sh_ring *ring = (sh_ring *)engine;
    pthread_mutex_lock(&ring->lock);
    ring->watcher = *watcher;
    pthread_mutex_unlock(&ring->lock);
}

/* Other ranks may send word 0 from the own part. */
static bool decide(sh_engine *engine, const sh_engine_decider *decider)
{
    sh_ring *ring = (sh_ring *)engine;
    if (ring->options.rank != 0)
        return false;
    pthread_mutex_lock(&ring->lock);
    ring->decider = *decider;
    pthread_mutex_unlock(&ring->lock);
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
    for (uint32_t i = 0; i < ring->span_count; i++)
        pump_or_break(ring, i);
}

static sh_flow on_frame(void *context, sh_channel *channel, const sh_frame *head, sh_sink *sink)
{
    sh_ring *ring = context;
    (void)channel;
    if (head->kind != SH_FRAME_SEGMENT || head->view != ring->options.view)
        return SH_FLOW_REFUSE;
    if (head->step == ring->round + 1) /* the previous device has finished this round before us */
        return SH_FLOW_PAUSE;
    if (head->step != ring->round || ring->spans_left == 0 || head->bucket >= ring->span_count)
        return SH_FLOW_REFUSE;
    const ring_span *span = &ring->spans[head->bucket];
    if (head->hop != span->received || head->hop >= ring->hops)
        return SH_FLOW_REFUSE;
    if (!span->ready)
        return SH_FLOW_PAUSE;
    const uint32_t devices = ring->options.devices;
    const uint32_t previous = (ring->options.rank + devices - 1) % devices;
    const segment part = segment_of(ring, &span->words, segment_index(ring, previous, head->hop));
    if (head->bytes != part.bytes)
        return SH_FLOW_REFUSE;
    const bool complete = head->hop >= devices - 1;
    *sink = (sh_sink){
        .mode = complete                          ? SH_SINK_STORE
                : span->words.word == SH_WORD_I32 ? SH_SINK_ADD_I32
                                                  : SH_SINK_ADD_U64,
        .data = part.total,
        .bytes = part.bytes,
        .base = complete ? NULL : part.own,
    };
    return SH_FLOW_TAKE;
}

static void on_done(void *context, sh_channel *channel, const sh_frame *head)
{
    sh_ring *ring = context;
    (void)channel;
    ring_span *span = &ring->spans[head->bucket];
    span->received++;
    pump_or_break(ring, head->bucket);
    tell_if_complete(ring, head->bucket);
    check_end(ring, span);
}

static void on_sent(void *context, sh_channel *channel, const sh_frame *head)
{
    sh_ring *ring = context;
    (void)channel;
    ring->spans[head->bucket].sent++;
    check_end(ring, &ring->spans[head->bucket]);
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
    fail_round(ring, SH_PEER_LOST, text);
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
    pthread_cond_destroy(&ring->ended);
    pthread_mutex_destroy(&ring->lock);
    free(ring);
}

sh_status sh_ring_new(sh_ring **ring, const sh_ring_options *options)
{
    static const sh_engine_ops ops = {
        .name = "ring",
        .begin = begin,
        .ready = ready,
        .wait = wait_for_end,
        .watch = watch,
        .decide = decide,
        .close = close_ring,
    };
    assert(options->devices >= 2 && options->rank < options->devices);
    sh_ring *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a ring");
    fresh->engine = (sh_engine){.ops = &ops, .devices = options->devices};
    fresh->options = *options;
    fresh->hops = 2 * (options->devices - 1);
    pthread_mutex_init(&fresh->lock, NULL);
    pthread_cond_init(&fresh->ended, NULL);
    *ring = fresh;
    return SH_OK;
}

sh_engine *sh_ring_engine(sh_ring *ring)
{
    return &ring->engine;
}
