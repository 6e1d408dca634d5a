/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first frame of a stream is a TAIL. After it, at the stream's position p, the stream may send:
 *
 *     STATE  array `array` of chunk `next`. After the first array of a chunk, its other arrays
 *            follow immediately
 *     SUM    of a chunk before `next`, once per stage, if p is a training attempt
 *     TAIL   that begins at p. If a step was applied, all chunks before `next` have their sums
 *
 * Each stream has the exponents of its own position, so its part of the weights is updated exactly
 * as on its donor.
 */
#include "train/replica_receiver.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef struct stream_state {
    bool begun;
    bool busy; /* the body of `head` is being received */
    sh_frame head;
    uint32_t first, end;  /* of the stripe */
    uint32_t next, array; /* expected chunk and array */
    sh_tail now;          /* `after` is the stream's position */
    sh_tail coming;       /* memory for the next tail */
    unsigned char *body;  /* of a tail */
} stream_state;

struct sh_replica_receiver {
    sh_replica *replica;
    double lr;
    bool clips;
    sh_rate rate;
    sh_schedule schedule;
    uint32_t transfer;
    sh_chunks chunks;
    float *scales; /* by place in the sum */
    bool *has_sum; /* by chunk: this stage's sum is received */
    uint32_t stream_count;
    stream_state streams[];
};

sh_status sh_replica_receiver_new(sh_replica_receiver **receiver,
                                  const sh_replica_receiver_options *options)
{
    assert(options->streams > 0 && options->streams <= SH_TRANSFER_STREAMS_MAX);
    sh_status status;
    const size_t bytes = sizeof(sh_replica_receiver) + options->streams * sizeof(stream_state);
    const sh_job outer = sh_job_outer(options->job);
    sh_replica_receiver *fresh = calloc(1, bytes);
    if (fresh == NULL)
        return sh_fail_memory(bytes, "receiving a replica");
    fresh->replica = options->replica;
    fresh->schedule = *options->schedule;
    fresh->transfer = options->transfer;
    fresh->stream_count = options->streams;
    fresh->lr = (double)outer.lr;
    fresh->clips = outer.clip_norm > 0;
    SH_TRY_DONE(sh_rate_parse(&fresh->rate, outer.schedule, (double)outer.warmup));
    SH_TRY_DONE(sh_chunks_init(&fresh->chunks, options->replica, options->chunk_elements));
    const uint32_t tensors = fresh->chunks.tensors;
    fresh->has_sum = calloc(fresh->chunks.count, sizeof *fresh->has_sum);
    fresh->scales = calloc(tensors, sizeof *fresh->scales);
    bool complete = fresh->has_sum != NULL && fresh->scales != NULL;
    for (uint32_t i = 0; i < fresh->stream_count; i++) {
        stream_state *stream = &fresh->streams[i];
        sh_chunks_stripe(&fresh->chunks, i, fresh->stream_count, &stream->first, &stream->end);
        stream->next = stream->first;
        stream->body = malloc(sh_tail_bytes(tensors));
        complete = complete && stream->body != NULL;
        for (int tail = 0; tail < 2; tail++) {
            sh_tail *room = tail == 0 ? &stream->now : &stream->coming;
            room->envelopes = calloc(tensors, sizeof(float));
            room->exponents = calloc(tensors, sizeof(int32_t));
            complete = complete && room->envelopes != NULL && room->exponents != NULL;
        }
    }
    if (!complete)
        SH_TRY_DONE(sh_fail_memory(3 * sh_tail_bytes(tensors), "receiving a replica"));
    *receiver = fresh;
    return SH_OK;
done:
    sh_replica_receiver_free(fresh);
    return status;
}

void sh_replica_receiver_free(sh_replica_receiver *receiver)
{
    if (receiver == NULL)
        return;
    for (uint32_t i = 0; i < receiver->stream_count; i++) {
        stream_state *stream = &receiver->streams[i];
        free(stream->now.envelopes);
        free(stream->now.exponents);
        free(stream->coming.envelopes);
        free(stream->coming.exponents);
        free(stream->body);
    }
    sh_chunks_release(&receiver->chunks);
    free(receiver->has_sum);
    free(receiver->scales);
    free(receiver);
}

static void *sums_of(const sh_replica_receiver *receiver, const sh_chunk *chunk)
{
    const sh_sum *sum = receiver->replica->sum;
    return (unsigned char *)sh_sum_total(sum).accumulator +
           sh_layout_offset(sh_sum_layout_of(sum), chunk->first_element);
}

static sh_status check_place(const sh_replica_receiver *receiver, const stream_state *stream,
                             const sh_frame *head)
{
    const sh_position position = stream->now.after;
    if (head->view != receiver->transfer)
        return sh_fail(SH_FORMAT, "a frame of hand-over %lu in hand-over %lu",
                       (unsigned long)head->view, (unsigned long)receiver->transfer);
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

static sh_status find_sink(const sh_replica_receiver *receiver, const stream_state *stream,
                           const sh_frame *head, sh_sink *sink)
{
    const unsigned bucket = head->bucket;
    sh_sink found = {0};
    SH_TRY(check_place(receiver, stream, head));
    switch (head->kind) {
    case SH_FRAME_STATE: {
        if (stream->next == stream->end)
            return sh_fail(SH_FORMAT, "chunk %u after the last of its stripe", bucket);
        if (bucket != stream->next || head->hop != stream->array)
            return sh_fail(SH_FORMAT, "chunk %u, array %u, expected chunk %u, array %u", bucket,
                           (unsigned)head->hop, stream->next, stream->array);
        const sh_chunk *chunk = &receiver->chunks.items[stream->next];
        found.data = sh_chunk_data(receiver->replica, chunk, stream->array);
        found.bytes = chunk->elements * sizeof(float);
        break;
    }
    case SH_FRAME_SUM: {
        if (stream->now.after.phase == 0)
            return sh_fail(SH_FORMAT, "a sum of chunk %u in a validation", bucket);
        if (bucket < stream->first || bucket >= stream->next)
            return sh_fail(SH_FORMAT, "a sum of chunk %u, which is not in this stream yet", bucket);
        const sh_chunk *chunk = &receiver->chunks.items[bucket];
        if (chunk->frozen)
            return sh_fail(SH_FORMAT, "a sum of chunk %u, which is frozen", bucket);
        if (head->hop != 0)
            return sh_fail(SH_FORMAT, "a sum of chunk %u with an array", bucket);
        if (receiver->has_sum[bucket])
            return sh_fail(SH_FORMAT, "a second sum of chunk %u in one stage", bucket);
        found.data = sums_of(receiver, chunk);
        found.bytes = sh_chunk_sum_bytes(chunk);
        break;
    }
    case SH_FRAME_TAIL:
        if (bucket != 0 || head->hop != 0)
            return sh_fail(SH_FORMAT, "a tail with the fields of a chunk");
        found.data = stream->body;
        found.bytes = sh_tail_bytes(receiver->chunks.tensors);
        break;
    default:
        return sh_fail(SH_FORMAT, "a frame of kind %u in a hand-over", (unsigned)head->kind);
    }
    *sink = found;
    return SH_OK;
}

static sh_status in_stream(sh_status status, uint32_t stream)
{
    return sh_fail_in(status, "the state from donor %u", stream);
}

sh_status sh_replica_receiver_frame(sh_replica_receiver *receiver, uint32_t index,
                                    const sh_frame *head, sh_sink *sink)
{
    assert(index < receiver->stream_count && !receiver->streams[index].busy);
    stream_state *stream = &receiver->streams[index];
    sh_sink found;
    SH_TRY(in_stream(find_sink(receiver, stream, head, &found), index));
    if (head->bytes != found.bytes)
        return in_stream(sh_fail(SH_FORMAT, "a body of %lu bytes, expected %zu",
                                 (unsigned long)head->bytes, found.bytes),
                         index);
    stream->head = *head;
    stream->busy = true;
    *sink = found;
    return SH_OK;
}

static sh_status apply(sh_replica_receiver *receiver, const stream_state *stream, double clip)
{
    sh_replica *replica = receiver->replica;
    const uint64_t steps = stream->now.after.steps;
    for (uint32_t i = stream->first; i < stream->next; i++)
        if (!receiver->chunks.items[i].frozen && !receiver->has_sum[i])
            return sh_fail(SH_FORMAT, "a step was applied but the sum of chunk %u is missing", i);
    SH_TRY(sh_sum_state_set(replica->sum, stream->now.envelopes, stream->now.exponents));
    const double lr = sh_rate_at(&receiver->rate, receiver->lr, &receiver->schedule, steps);
    for (uint32_t t = 0; t < replica->summed; t++)
        receiver->scales[t] = sh_sum_scale(replica->sum, t);
    const sh_replica_step step = {
        sh_optimizer_step_of(&replica->settings, lr, clip, steps + 1),
        receiver->scales,
    };
    for (uint32_t i = stream->first; i < stream->next; i++) {
        const sh_chunk *chunk = &receiver->chunks.items[i];
        if (!chunk->frozen)
            sh_replica_update(replica, &step, chunk->first_element,
                              chunk->first_element + chunk->elements,
                              sh_sum_total(replica->sum).accumulator, NULL);
    }
    return SH_OK;
}

/* Compares envelopes, epoch totals and, if `exponents`, exponents, but not the best validation,
 * which VALIDATE and ABORT change. */
static bool is_same(const sh_replica_receiver *receiver, const sh_tail *a, const sh_tail *b,
                    bool exponents)
{
    const size_t tensors = receiver->chunks.tensors;
    return memcmp(a->envelopes, b->envelopes, tensors * sizeof *a->envelopes) == 0 &&
           (!exponents ||
            memcmp(a->exponents, b->exponents, tensors * sizeof *a->exponents) == 0) &&
           a->epoch.loss == b->epoch.loss && a->epoch.samples == b->epoch.samples &&
           a->epoch.score == b->epoch.score;
}

/* Whether `coming` is possible for this job at this point of the stream. */
static sh_status check_tail(const sh_replica_receiver *receiver, const stream_state *stream)
{
    const sh_tail *tail = &stream->coming;
    if ((uint32_t)tail->before.steps != stream->head.step ||
        tail->before.phase != stream->head.attempt)
        return sh_fail(SH_FORMAT, "a tail whose position differs from its frame's");
    if (stream->begun != (tail->passed != SH_PASSED_NOTHING))
        return sh_fail(SH_FORMAT, stream->begun ? "a stream that begins twice"
                                                : "a stream that begins with a stage's end");
    if (stream->begun && !sh_position_same(tail->before, stream->now.after))
        return sh_fail(SH_FORMAT, "a tail from step %llu in a stream that is at step %llu",
                       (unsigned long long)tail->before.steps,
                       (unsigned long long)stream->now.after.steps);
    if (tail->after.steps > receiver->schedule.total_steps)
        return sh_fail(SH_FORMAT, "step %llu of a job of %llu steps",
                       (unsigned long long)tail->after.steps,
                       (unsigned long long)receiver->schedule.total_steps);
    if (tail->clip < 1 && !receiver->clips)
        return sh_fail(SH_CORRUPT, "a clipping factor of %g in a job without clipping", tail->clip);
    if (tail->epoch.samples > receiver->schedule.samples)
        return sh_fail(SH_CORRUPT, "%llu samples of an epoch of %lu",
                       (unsigned long long)tail->epoch.samples,
                       (unsigned long)receiver->schedule.samples);
    /* Without a step only exponents can change, and only in a redo. */
    if ((tail->passed == SH_PASSED_REDO || tail->passed == SH_PASSED_VALIDATE ||
         tail->passed == SH_PASSED_ABORT) &&
        !is_same(receiver, &stream->now, tail, tail->passed != SH_PASSED_REDO))
        return sh_fail(SH_CORRUPT, "totals that changed without a step");
    return sh_sum_state_set(receiver->replica->sum, tail->envelopes, tail->exponents);
}

static sh_status pass_stage(sh_replica_receiver *receiver, stream_state *stream)
{
    SH_TRY(sh_tail_decode(&stream->coming, stream->body, receiver->chunks.tensors));
    SH_TRY(check_tail(receiver, stream));
    if (stream->coming.passed == SH_PASSED_APPLY)
        SH_TRY(apply(receiver, stream, stream->coming.clip));
    if (stream->coming.passed == SH_PASSED_LAP)
        stream->next = stream->first;
    memset(receiver->has_sum + stream->first, 0, stream->end - stream->first);
    const sh_tail before = stream->now;
    stream->now = stream->coming;
    stream->coming = before;
    stream->begun = true;
    for (uint32_t i = 0; i < receiver->stream_count; i++) {
        const stream_state *other = &receiver->streams[i];
        if (other->begun && sh_position_same(other->now.after, stream->now.after) &&
            !(is_same(receiver, &other->now, &stream->now, true) &&
              sh_best_same(&other->now.best, &stream->now.best)))
            return sh_fail(SH_MISMATCH, "differs from donor %u at step %llu", i,
                           (unsigned long long)stream->now.after.steps);
    }
    return SH_OK;
}

sh_status sh_replica_receiver_done(sh_replica_receiver *receiver, uint32_t index,
                                   const sh_frame *head)
{
    stream_state *stream = &receiver->streams[index];
    sh_replica *replica = receiver->replica;
    assert(stream->busy && memcmp(head, &stream->head, sizeof *head) == 0);
    if (head->kind == SH_FRAME_STATE) {
        const sh_chunk *chunk = &receiver->chunks.items[stream->next];
        float *data = sh_chunk_data(replica, chunk, stream->array);
        sh_words_copy(data, data, chunk->elements, sizeof *data);
        if (++stream->array == chunk->arrays) {
            stream->array = 0;
            stream->next++;
        }
    } else if (head->kind == SH_FRAME_SUM) {
        const sh_chunk *chunk = &receiver->chunks.items[head->bucket];
        void *sums = sums_of(receiver, chunk);
        sh_words_copy(sums, sums, chunk->elements, chunk->word_bytes);
        receiver->has_sum[head->bucket] = true;
    } else {
        SH_TRY(in_stream(pass_stage(receiver, stream), index));
    }
    stream->busy = false;
    if (!sh_replica_receiver_complete(receiver))
        return SH_OK;
    const sh_tail *tail = &receiver->streams[0].now;
    replica->steps = tail->after.steps;
    replica->phase = tail->after.phase;
    replica->epoch = tail->epoch;
    replica->best = tail->best;
    return sh_sum_state_set(replica->sum, tail->envelopes, tail->exponents);
}

bool sh_replica_receiver_complete(const sh_replica_receiver *receiver)
{
    for (uint32_t i = 0; i < receiver->stream_count; i++) {
        const stream_state *stream = &receiver->streams[i];
        if (!stream->begun || stream->busy || stream->next < stream->end ||
            !sh_position_same(stream->now.after, receiver->streams[0].now.after))
            return false;
    }
    return true;
}

sh_position sh_replica_receiver_position(const sh_replica_receiver *receiver)
{
    sh_position least = receiver->streams[0].now.after;
    for (uint32_t i = 1; i < receiver->stream_count; i++)
        if (sh_position_before(receiver->streams[i].now.after, least))
            least = receiver->streams[i].now.after;
    return least;
}

size_t sh_replica_receiver_left_bytes(const sh_replica_receiver *receiver)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < receiver->stream_count; i++) {
        const stream_state *stream = &receiver->streams[i];
        for (uint32_t c = stream->next; c < stream->end; c++)
            bytes += (size_t)receiver->chunks.items[c].elements * receiver->chunks.items[c].arrays *
                     sizeof(float);
    }
    return bytes;
}
