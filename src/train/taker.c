/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream may send, at its position p:
 *
 *     STATE  of array `array` of chunk `next`; after one array of a chunk, only its others
 *     SUM    of a chunk before `next`, once in a stage, where p is a training attempt
 *     TAIL   from p; where a step was applied, all chunks before `next` have their sums
 *
 * and before all that the TAIL that says what p is. Each stream has the exponents of its own
 * position, so its part of the weights is updated as its donor did, whatever the others have sent.
 */
#include "train/taker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct stream_state {
    bool begun;
    bool busy;            /* the body of `head` is on its way */
    sh_frame head;        /* of the last frame */
    uint32_t first, end;  /* of the stripe */
    uint32_t next, array; /* what comes next */
    sh_tail now;          /* that led to the position; `after` is the position */
    sh_tail coming;       /* room for the next one */
    unsigned char *body;  /* of a tail */
} stream_state;

struct sh_taker {
    sh_replica *replica;
    double lr;
    bool clips;
    sh_rate rate;
    sh_schedule schedule;
    uint32_t transfer;
    sh_chunks chunks;
    float *scales; /* by tensor, of the update under way */
    bool *has_sum; /* by chunk: it has come in the stage under way */
    uint32_t stream_count;
    stream_state streams[];
};

static sh_status set_up_stream(sh_taker *taker, uint32_t index)
{
    stream_state *stream = &taker->streams[index];
    const uint32_t tensors = taker->chunks.tensors;
    const size_t bytes = sh_tail_bytes(tensors);
    sh_chunks_stripe(&taker->chunks, index, taker->stream_count, &stream->first, &stream->end);
    stream->next = stream->first;
    stream->body = malloc(bytes);
    sh_tail *tails[] = {&stream->now, &stream->coming};
    bool complete = stream->body != NULL;
    for (int i = 0; i < 2; i++) {
        tails[i]->envelopes = calloc(tensors, sizeof(float));
        tails[i]->exponents = calloc(tensors, sizeof(int32_t));
        complete = complete && tails[i]->envelopes != NULL && tails[i]->exponents != NULL;
    }
    return complete ? SH_OK : sh_fail_memory(3 * bytes, "taking a replica over");
}

static sh_status set_up(sh_taker *taker, const sh_taker_options *options)
{
    const sh_job outer = sh_job_outer(options->job);
    taker->lr = (double)outer.lr;
    taker->clips = outer.clip_norm > 0;
    SH_TRY(sh_rate_parse(&taker->rate, outer.schedule, (double)outer.warmup));
    SH_TRY(sh_chunks_init(&taker->chunks, options->replica, options->chunk_elements));
    taker->has_sum = calloc(taker->chunks.count, sizeof *taker->has_sum);
    taker->scales = calloc(taker->chunks.tensors, sizeof *taker->scales);
    if (taker->has_sum == NULL || taker->scales == NULL)
        return sh_fail_memory(taker->chunks.count, "taking a replica over");
    for (uint32_t i = 0; i < taker->stream_count; i++)
        SH_TRY(set_up_stream(taker, i));
    return SH_OK;
}

sh_status sh_taker_new(sh_taker **taker, const sh_taker_options *options)
{
    assert(options->streams > 0 && options->streams <= SH_TRANSFER_STREAMS_MAX);
    const size_t bytes = sizeof(sh_taker) + options->streams * sizeof(stream_state);
    sh_taker *fresh = calloc(1, bytes);
    if (fresh == NULL)
        return sh_fail_memory(bytes, "taking a replica over");
    fresh->replica = options->replica;
    fresh->schedule = *options->schedule;
    fresh->transfer = options->transfer;
    fresh->stream_count = options->streams;
    const sh_status status = set_up(fresh, options);
    if (status != SH_OK) {
        sh_taker_free(fresh);
        return status;
    }
    *taker = fresh;
    return SH_OK;
}

void sh_taker_free(sh_taker *taker)
{
    if (taker == NULL)
        return;
    for (uint32_t i = 0; i < taker->stream_count; i++) {
        stream_state *stream = &taker->streams[i];
        free(stream->now.envelopes);
        free(stream->now.exponents);
        free(stream->coming.envelopes);
        free(stream->coming.exponents);
        free(stream->body);
    }
    sh_chunks_release(&taker->chunks);
    free(taker->has_sum);
    free(taker->scales);
    free(taker);
}

static sh_sink store_at(void *data, size_t bytes)
{
    return (sh_sink){.mode = SH_SINK_STORE, .data = data, .bytes = bytes};
}

/* Room for the sum of a chunk. */
static void *sums_of(const sh_taker *taker, const sh_chunk *chunk)
{
    const sh_sum *sum = taker->replica->sum;
    return (unsigned char *)sh_sum_total(sum).accumulator +
           sh_layout_offset(sh_sum_layout_of(sum), chunk->first_element);
}

/* Where the body of a STATE goes. */
static sh_status take_state(const sh_taker *taker, const stream_state *stream, const sh_frame *head,
                            sh_sink *sink)
{
    if (stream->next == stream->end)
        return sh_fail(SH_FORMAT, "chunk %u after the last of its stripe", (unsigned)head->bucket);
    if (head->bucket != stream->next || head->hop != stream->array)
        return sh_fail(SH_FORMAT, "chunk %u, array %u, where chunk %u, array %u comes next",
                       (unsigned)head->bucket, (unsigned)head->hop, stream->next, stream->array);
    const sh_chunk *chunk = &taker->chunks.items[stream->next];
    *sink = store_at(sh_chunk_data(taker->replica, chunk, stream->array),
                     chunk->elements * sizeof(float));
    return SH_OK;
}

/* Where the body of a SUM goes. */
static sh_status take_sum(const sh_taker *taker, const stream_state *stream, const sh_frame *head,
                          sh_sink *sink)
{
    if (stream->now.after.phase == 0)
        return sh_fail(SH_FORMAT, "a sum of chunk %u in a validation", (unsigned)head->bucket);
    if (head->bucket < stream->first || head->bucket >= stream->next)
        return sh_fail(SH_FORMAT, "a sum of chunk %u, which has not come in this stream",
                       (unsigned)head->bucket);
    const sh_chunk *chunk = &taker->chunks.items[head->bucket];
    if (chunk->frozen)
        return sh_fail(SH_FORMAT, "a sum of chunk %u, which is frozen", (unsigned)head->bucket);
    if (head->hop != 0)
        return sh_fail(SH_FORMAT, "a sum of chunk %u with an array", (unsigned)head->bucket);
    if (taker->has_sum[head->bucket])
        return sh_fail(SH_FORMAT, "another sum of chunk %u in one stage", (unsigned)head->bucket);
    *sink = store_at(sums_of(taker, chunk), sh_chunk_sum_bytes(chunk));
    return SH_OK;
}

static sh_status take_tail(const sh_taker *taker, const stream_state *stream, const sh_frame *head,
                           sh_sink *sink)
{
    if (head->bucket != 0 || head->hop != 0)
        return sh_fail(SH_FORMAT, "a tail with the fields of a chunk");
    *sink = store_at(stream->body, sh_tail_bytes(taker->chunks.tensors));
    return SH_OK;
}

/* Whether the frame belongs to this hand-over and to where the stream stands. */
static sh_status check_place(const sh_taker *taker, const stream_state *stream,
                             const sh_frame *head)
{
    const sh_position position = stream->now.after;
    if (head->view != taker->transfer)
        return sh_fail(SH_FORMAT, "a frame of hand-over %lu in hand-over %lu",
                       (unsigned long)head->view, (unsigned long)taker->transfer);
    if (!stream->begun)
        return head->kind == SH_FRAME_TAIL
                   ? SH_OK
                   : sh_fail(SH_FORMAT, "a stream that does not begin with a tail");
    if (head->step != (uint32_t)position.steps || head->attempt != position.phase)
        return sh_fail(SH_FORMAT,
                       "a frame of step %lu, phase %u in a stream that is at step %llu, phase %u",
                       (unsigned long)head->step, (unsigned)head->attempt,
                       (unsigned long long)position.steps, position.phase);
    if (stream->array > 0 && head->kind != SH_FRAME_STATE)
        return sh_fail(SH_FORMAT, "kind %u between two arrays of a chunk", (unsigned)head->kind);
    return SH_OK;
}

static sh_status find_sink(const sh_taker *taker, const stream_state *stream, const sh_frame *head,
                           sh_sink *sink)
{
    SH_TRY(check_place(taker, stream, head));
    switch ((sh_frame_kind)head->kind) {
    case SH_FRAME_STATE:
        return take_state(taker, stream, head, sink);
    case SH_FRAME_SUM:
        return take_sum(taker, stream, head, sink);
    case SH_FRAME_TAIL:
        return take_tail(taker, stream, head, sink);
    case SH_FRAME_CONTROL:
    case SH_FRAME_SEGMENT:
    case SH_FRAME_MANIFEST:
    case SH_FRAME_BLOCK:
    case SH_FRAME_UPDATE:
        break;
    }
    return sh_fail(SH_FORMAT, "a frame of kind %u in a hand-over", (unsigned)head->kind);
}

/* Says whose frame it was. */
static sh_status in_stream(sh_status status, uint32_t stream)
{
    return sh_fail_in(status, "the state from donor %u", stream);
}

sh_status sh_taker_frame(sh_taker *taker, uint32_t index, const sh_frame *head, sh_sink *sink)
{
    assert(index < taker->stream_count && !taker->streams[index].busy);
    stream_state *stream = &taker->streams[index];
    sh_sink found;
    SH_TRY(in_stream(find_sink(taker, stream, head, &found), index));
    if (head->bytes != found.bytes)
        return in_stream(sh_fail(SH_FORMAT, "a body of %lu bytes, where %zu were expected",
                                 (unsigned long)head->bytes, found.bytes),
                         index);
    stream->head = *head;
    stream->busy = true;
    *sink = found;
    return SH_OK;
}

/* A step of all that the stream has brought. */
static sh_status apply(sh_taker *taker, const stream_state *stream, double clip)
{
    sh_replica *replica = taker->replica;
    const uint64_t steps = stream->now.after.steps;
    for (uint32_t i = stream->first; i < stream->next; i++)
        if (!taker->chunks.items[i].frozen && !taker->has_sum[i])
            return sh_fail(SH_FORMAT, "a step was applied and the sum of chunk %u is missing", i);
    SH_TRY(sh_sum_state_set(replica->sum, stream->now.envelopes, stream->now.exponents));
    const double lr = sh_rate_at(&taker->rate, taker->lr, &taker->schedule, steps);
    for (uint32_t t = 0; t < replica->summed; t++)
        taker->scales[t] = sh_sum_scale(replica->sum, t);
    const sh_replica_step step = {
        sh_optimizer_step_of(&replica->settings, lr, clip, steps + 1),
        taker->scales,
    };
    for (uint32_t i = stream->first; i < stream->next; i++) {
        const sh_chunk *chunk = &taker->chunks.items[i];
        if (!chunk->frozen)
            sh_replica_update(replica, &step, chunk->first_element,
                              chunk->first_element + chunk->elements,
                              sh_sum_total(replica->sum).accumulator, NULL);
    }
    return SH_OK;
}

/* Whether two tails say the same of the sum and the epoch, the exponents perhaps apart. */
static bool is_same(const sh_taker *taker, const sh_tail *a, const sh_tail *b, bool exponents)
{
    const size_t tensors = taker->chunks.tensors;
    return memcmp(a->envelopes, b->envelopes, tensors * sizeof *a->envelopes) == 0 &&
           (!exponents ||
            memcmp(a->exponents, b->exponents, tensors * sizeof *a->exponents) == 0) &&
           a->epoch.loss == b->epoch.loss && a->epoch.samples == b->epoch.samples &&
           a->epoch.correct == b->epoch.correct;
}

/* Only a step changes more than exponents, and only a redo those. */
static sh_status check_change(const sh_taker *taker, const stream_state *stream)
{
    const sh_passed passed = stream->coming.passed;
    if (passed == SH_PASSED_NOTHING || passed == SH_PASSED_APPLY || passed == SH_PASSED_LAP ||
        is_same(taker, &stream->now, &stream->coming, passed != SH_PASSED_REDO))
        return SH_OK;
    return sh_fail(SH_CORRUPT, "totals that changed without a step");
}

/* Whether what a tail says can be of this job, here. */
static sh_status check_tail(const sh_taker *taker, const stream_state *stream)
{
    const sh_tail *tail = &stream->coming;
    if ((uint32_t)tail->before.steps != stream->head.step ||
        tail->before.phase != stream->head.attempt)
        return sh_fail(SH_FORMAT, "a tail of another position than its frame");
    if (stream->begun != (tail->passed != SH_PASSED_NOTHING))
        return sh_fail(SH_FORMAT, stream->begun ? "a stream that begins twice"
                                                : "a stream that begins with a stage's end");
    if (stream->begun && !sh_position_same(tail->before, stream->now.after))
        return sh_fail(SH_FORMAT, "a tail from step %llu in a stream that is at step %llu",
                       (unsigned long long)tail->before.steps,
                       (unsigned long long)stream->now.after.steps);
    if (tail->after.steps > taker->schedule.total_steps)
        return sh_fail(SH_FORMAT, "step %llu of a job of %llu steps",
                       (unsigned long long)tail->after.steps,
                       (unsigned long long)taker->schedule.total_steps);
    if (tail->clip < 1 && !taker->clips)
        return sh_fail(SH_CORRUPT, "a factor of clipping of %g in a job that does not clip",
                       tail->clip);
    if (tail->epoch.samples > taker->schedule.samples)
        return sh_fail(SH_CORRUPT, "%llu samples of an epoch that has %lu",
                       (unsigned long long)tail->epoch.samples,
                       (unsigned long)taker->schedule.samples);
    SH_TRY(check_change(taker, stream));
    return sh_sum_state_set(taker->replica->sum, tail->envelopes, tail->exponents);
}

static sh_status compare_with_others(const sh_taker *taker, const stream_state *stream)
{
    for (uint32_t i = 0; i < taker->stream_count; i++) {
        const stream_state *other = &taker->streams[i];
        if (other->begun && sh_position_same(other->now.after, stream->now.after) &&
            !is_same(taker, &other->now, &stream->now, true))
            return sh_fail(SH_MISMATCH, "differs from donor %u at step %llu", i,
                           (unsigned long long)stream->now.after.steps);
    }
    return SH_OK;
}

/* The whole tail of a stream is there. */
static sh_status pass_stage(sh_taker *taker, stream_state *stream)
{
    SH_TRY(sh_tail_decode(&stream->coming, stream->body, taker->chunks.tensors));
    SH_TRY(check_tail(taker, stream));
    if (stream->coming.passed == SH_PASSED_APPLY)
        SH_TRY(apply(taker, stream, stream->coming.clip));
    if (stream->coming.passed == SH_PASSED_LAP)
        stream->next = stream->first;
    memset(taker->has_sum + stream->first, 0, stream->end - stream->first);
    const sh_tail before = stream->now;
    stream->now = stream->coming;
    stream->coming = before;
    stream->begun = true;
    return compare_with_others(taker, stream);
}

static void finish_state(sh_taker *taker, stream_state *stream)
{
    const sh_chunk *chunk = &taker->chunks.items[stream->next];
    float *data = sh_chunk_data(taker->replica, chunk, stream->array);
    sh_words_copy(data, data, chunk->elements, sizeof *data);
    if (++stream->array == chunk->arrays) {
        stream->array = 0;
        stream->next++;
    }
}

static void finish_sum(sh_taker *taker, uint32_t index)
{
    const sh_chunk *chunk = &taker->chunks.items[index];
    void *sums = sums_of(taker, chunk);
    sh_words_copy(sums, sums, chunk->elements, chunk->word_bytes);
    taker->has_sum[index] = true;
}

/* The replica is whole: gives it what is beside the weights. */
static sh_status settle(sh_taker *taker)
{
    const sh_tail *tail = &taker->streams[0].now;
    taker->replica->steps = tail->after.steps;
    taker->replica->phase = tail->after.phase;
    taker->replica->epoch = tail->epoch;
    return sh_sum_state_set(taker->replica->sum, tail->envelopes, tail->exponents);
}

sh_status sh_taker_done(sh_taker *taker, uint32_t index, const sh_frame *head)
{
    stream_state *stream = &taker->streams[index];
    assert(stream->busy && memcmp(head, &stream->head, sizeof *head) == 0);
    if (head->kind == SH_FRAME_STATE)
        finish_state(taker, stream);
    else if (head->kind == SH_FRAME_SUM)
        finish_sum(taker, head->bucket);
    else
        SH_TRY(in_stream(pass_stage(taker, stream), index));
    stream->busy = false;
    return sh_taker_complete(taker) ? settle(taker) : SH_OK;
}

bool sh_taker_complete(const sh_taker *taker)
{
    for (uint32_t i = 0; i < taker->stream_count; i++) {
        const stream_state *stream = &taker->streams[i];
        if (!stream->begun || stream->busy || stream->next < stream->end ||
            !sh_position_same(stream->now.after, taker->streams[0].now.after))
            return false;
    }
    return true;
}

sh_position sh_taker_position(const sh_taker *taker)
{
    sh_position least = taker->streams[0].now.after;
    for (uint32_t i = 1; i < taker->stream_count; i++)
        if (sh_position_before(taker->streams[i].now.after, least))
            least = taker->streams[i].now.after;
    return least;
}

size_t sh_taker_left_bytes(const sh_taker *taker)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < taker->stream_count; i++) {
        const stream_state *stream = &taker->streams[i];
        for (uint32_t c = stream->next; c < stream->end; c++)
            bytes += (size_t)taker->chunks.items[c].elements * taker->chunks.items[c].arrays *
                     sizeof(float);
    }
    return bytes;
}
