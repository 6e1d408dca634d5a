/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of frames. Each frame owns a copy of its body:
 *
 *     oldest -> ... -> | waiting -> ... -> newest
 *     returned by next | not yet
 *
 * Sums and tails keep the receiver's copy of the chunks before `next` at the sender's position. All
 * arrays of a chunk are appended together, so they have the same position.
 */
#include "train/replica_sender.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Minimum limit on the bytes of queued sums. On a busy processor, several small steps can end
 * before the receiver runs again. */
#define LIMIT_LEAST_BYTES ((size_t)8 * 1024 * 1024)

typedef struct entry {
    struct entry *newer;
    sh_frame head;
    unsigned char body[];
} entry;

struct sh_replica_sender {
    const sh_replica *replica;
    uint32_t transfer;
    sh_chunks chunks;
    uint32_t first, end; /* of the stripe */
    bool spoils;
    size_t window_bytes, limit_bytes;

    pthread_mutex_t lock; /* guards the fields below */
    uint32_t next;        /* chunk to append */
    sh_position position;
    const void **totals; /* by chunk: its complete sum of this stage, or NULL; borrowed */
    float *envelopes;    /* by tensor; this and the next three as in the last tail */
    int32_t *exponents;
    sh_epoch_totals epoch;
    sh_best best;
    entry *oldest, *waiting, *newest;
    size_t queued_bytes;
    sh_status failure;
    char message[SH_MESSAGE_BYTES];
};

/* Keeps the thread's error message and frees the waiting frames. */
static void give_up(sh_replica_sender *sender, sh_status status)
{
    sender->failure = status;
    memcpy(sender->message, sh_message(), strlen(sh_message()) + 1);
    entry *kept = sender->oldest == sender->waiting ? NULL : sender->oldest;
    while (kept != NULL && kept->newer != sender->waiting)
        kept = kept->newer;
    for (entry *each = sender->waiting, *newer; each != NULL; each = newer) {
        newer = each->newer;
        sender->queued_bytes -= each->head.bytes;
        free(each);
    }
    sender->waiting = NULL;
    sender->newest = kept;
    if (kept == NULL)
        sender->oldest = NULL;
    else
        kept->newer = NULL;
}

/* Appends a frame and returns its body; NULL if the transfer has failed. */
static unsigned char *append(sh_replica_sender *sender, sh_frame head, size_t bytes)
{
    if (sender->failure != SH_OK)
        return NULL;
    if (bytes > sender->limit_bytes - sender->queued_bytes) {
        give_up(
            sender,
            sh_fail(
                SH_LIMIT,
                "the device that receives the state is too slow: more than %zu bytes wait for it",
                sender->limit_bytes));
        return NULL;
    }
    entry *fresh = malloc(sizeof *fresh + bytes);
    if (fresh == NULL) {
        give_up(sender, sh_fail_memory(bytes, "the hand-over of a replica"));
        return NULL;
    }
    head.bytes = (uint32_t)bytes;
    head.view = sender->transfer;
    head.step = (uint32_t)sender->position.steps;
    head.attempt = (uint16_t)sender->position.phase;
    fresh->newer = NULL;
    fresh->head = head;
    if (sender->newest != NULL)
        sender->newest->newer = fresh;
    else
        sender->oldest = fresh;
    sender->newest = fresh;
    if (sender->waiting == NULL)
        sender->waiting = fresh;
    sender->queued_bytes += bytes;
    return fresh->body;
}

static unsigned char *append_words(sh_replica_sender *sender, sh_frame head, const void *words,
                                   uint32_t count, size_t word_bytes)
{
    unsigned char *body = append(sender, head, count * word_bytes);
    if (body != NULL)
        sh_words_copy(body, words, count, word_bytes);
    return body;
}

static void append_sum(sh_replica_sender *sender, uint32_t index, const void *totals)
{
    const sh_chunk *chunk = &sender->chunks.items[index];
    append_words(sender, (sh_frame){.kind = SH_FRAME_SUM, .bucket = (uint16_t)index}, totals,
                 chunk->elements, chunk->word_bytes);
}

static void read_state(sh_replica_sender *sender)
{
    sh_sum_state_get(sender->replica->sum, sender->envelopes, sender->exponents);
    sender->epoch = sender->replica->epoch;
    sender->best = sender->replica->best;
}

static void append_tail(sh_replica_sender *sender, sh_passed passed, sh_position after, double clip)
{
    const uint32_t tensors = sender->chunks.tensors;
    assert(sh_passed_leads(passed, sender->position, after));
    unsigned char *body = append(sender, (sh_frame){.kind = SH_FRAME_TAIL}, sh_tail_bytes(tensors));
    if (body != NULL)
        sh_tail_encode(body,
                       &(sh_tail){
                           .passed = passed,
                           .before = sender->position,
                           .after = after,
                           .clip = clip,
                           .epoch = sender->epoch,
                           .best = sender->best,
                           .envelopes = sender->envelopes,
                           .exponents = sender->exponents,
                       },
                       tensors);
    sender->position = after;
    memset(sender->totals, 0, sender->chunks.count * sizeof *sender->totals);
}

sh_status sh_replica_sender_new(sh_replica_sender **sender,
                                const sh_replica_sender_options *options)
{
    assert(options->stripe < options->stripes && options->stripes <= SH_TRANSFER_STREAMS_MAX);
    sh_status status;
    sh_replica_sender *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "the hand-over of a replica");
    fresh->replica = options->replica;
    fresh->transfer = options->transfer;
    fresh->spoils = options->spoils;
    fresh->position = sh_replica_position(options->replica);
    pthread_mutex_init(&fresh->lock, NULL);
    SH_TRY_DONE(sh_chunks_init(&fresh->chunks, options->replica, options->chunk_elements));
    sh_chunks_stripe(&fresh->chunks, options->stripe, options->stripes, &fresh->first, &fresh->end);
    fresh->next = fresh->first;

    size_t largest = 0, sums = 0;
    for (uint32_t i = fresh->first; i < fresh->end; i++) {
        const sh_chunk *chunk = &fresh->chunks.items[i];
        const size_t sum = sh_chunk_sum_bytes(chunk);
        const size_t all = sum + (size_t)chunk->elements * chunk->arrays * sizeof(float);
        sums += sum;
        largest = all > largest ? all : largest;
    }
    fresh->window_bytes =
        options->window_bytes > 0 ? options->window_bytes : SH_REPLICA_SENDER_WINDOW_BYTES;
    const size_t least =
        fresh->window_bytes + largest + 2 * sh_tail_bytes(options->replica->summed);
    fresh->limit_bytes =
        options->limit_bytes > 0
            ? options->limit_bytes
            : least + (2 * sums > LIMIT_LEAST_BYTES ? 2 * sums : LIMIT_LEAST_BYTES);
    if (fresh->limit_bytes < least)
        SH_TRY_DONE(sh_fail(SH_INVALID, "a sender with at most %zu bytes, but it needs %zu",
                            fresh->limit_bytes, least));

    const size_t tensors = fresh->chunks.tensors, count = fresh->chunks.count;
    fresh->totals = calloc(count, sizeof *fresh->totals);
    fresh->envelopes = calloc(tensors, sizeof *fresh->envelopes);
    fresh->exponents = calloc(tensors, sizeof *fresh->exponents);
    if (fresh->totals == NULL || fresh->envelopes == NULL || fresh->exponents == NULL)
        SH_TRY_DONE(sh_fail_memory(count * sizeof *fresh->totals, "the hand-over of a replica"));
    read_state(fresh);
    append_tail(fresh, SH_PASSED_NOTHING, fresh->position, 1);
    *sender = fresh;
    return SH_OK;
done:
    sh_replica_sender_free(fresh);
    return status;
}

void sh_replica_sender_free(sh_replica_sender *sender)
{
    if (sender == NULL)
        return;
    for (entry *each = sender->oldest, *newer; each != NULL; each = newer) {
        newer = each->newer;
        free(each);
    }
    sh_chunks_release(&sender->chunks);
    pthread_mutex_destroy(&sender->lock);
    free(sender->totals);
    free(sender->envelopes);
    free(sender->exponents);
    free(sender);
}

void sh_replica_sender_fill(sh_replica_sender *sender)
{
    pthread_mutex_lock(&sender->lock);
    while (sender->failure == SH_OK && sender->next < sender->end &&
           sender->queued_bytes < sender->window_bytes) {
        const uint32_t index = sender->next++;
        const sh_chunk *chunk = &sender->chunks.items[index];
        for (uint32_t array = 0; array < chunk->arrays; array++) {
            const sh_frame head = {
                .kind = SH_FRAME_STATE, .bucket = (uint16_t)index, .hop = (uint16_t)array};
            unsigned char *copy =
                append_words(sender, head, sh_chunk_data(sender->replica, chunk, array),
                             chunk->elements, sizeof(float));
            if (sender->spoils && copy != NULL)
                copy[0] ^= 1;
            sender->spoils = false;
        }
        if (sender->totals[index] != NULL)
            append_sum(sender, index, sender->totals[index]);
    }
    pthread_mutex_unlock(&sender->lock);
}

/* The caller holds the lock. */
static void take_sums(sh_replica_sender *sender, size_t first, size_t elements, const void *totals)
{
    const sh_sum *sum = sender->replica->sum;
    const size_t start = sh_layout_offset(sh_sum_layout_of(sum), first);
    for (uint32_t i = sender->first; i < sender->end; i++) {
        const sh_chunk *chunk = &sender->chunks.items[i];
        if (chunk->frozen || sender->totals[i] != NULL || chunk->first_element < first ||
            chunk->first_element >= first + elements)
            continue;
        assert(chunk->first_element + chunk->elements <= first + elements);
        sender->totals[i] = (const unsigned char *)totals +
                            (sh_layout_offset(sh_sum_layout_of(sum), chunk->first_element) - start);
        if (i < sender->next)
            append_sum(sender, i, sender->totals[i]);
    }
}

void sh_replica_sender_span(sh_replica_sender *sender, size_t first_element, size_t elements,
                            const void *totals)
{
    pthread_mutex_lock(&sender->lock);
    if (sender->position.phase !=
        SH_PHASE_VALIDATION) /* otherwise sh_replica_sender_passed takes the sums */
        take_sums(sender, first_element, elements, totals);
    pthread_mutex_unlock(&sender->lock);
}

void sh_replica_sender_passed(sh_replica_sender *sender, const sh_stage_outcome *outcome)
{
    pthread_mutex_lock(&sender->lock);
    if (sender->position.phase == SH_PHASE_VALIDATION && outcome->before.phase == SH_PHASE_FIRST)
        append_tail(sender, SH_PASSED_VALIDATE, outcome->before, 1); /* it was skipped */
    assert(sh_position_same(sender->position, outcome->before));
    if (outcome->passed == SH_PASSED_APPLY)
        take_sums(sender, 0, sender->replica->summed_count,
                  sh_sum_total(sender->replica->sum).accumulator);
    read_state(sender);
    append_tail(sender, outcome->passed, outcome->after, outcome->clip);
    if (outcome->passed == SH_PASSED_LAP)
        sender->next = sender->first;
    pthread_mutex_unlock(&sender->lock);
}

void sh_replica_sender_restarted(sh_replica_sender *sender)
{
    const sh_position now = sh_replica_position(sender->replica);
    pthread_mutex_lock(&sender->lock);
    const bool over = sender->position.phase == SH_PHASE_VALIDATION && now.phase == SH_PHASE_FIRST;
    sender->best = sender->replica->best; /* a validation may have been discarded */
    append_tail(sender, over ? SH_PASSED_VALIDATE : SH_PASSED_ABORT, now, 1);
    pthread_mutex_unlock(&sender->lock);
}

sh_status sh_replica_sender_next(sh_replica_sender *sender, sh_frame *head, const void **body)
{
    pthread_mutex_lock(&sender->lock);
    sh_status status = SH_OK;
    if (sender->failure != SH_OK) {
        status = sh_fail(sender->failure, "%s", sender->message);
    } else if (sender->waiting == NULL) {
        *body = NULL;
    } else {
        *head = sender->waiting->head;
        *body = sender->waiting->body;
        sender->waiting = sender->waiting->newer;
    }
    pthread_mutex_unlock(&sender->lock);
    return status;
}

void sh_replica_sender_done(sh_replica_sender *sender)
{
    pthread_mutex_lock(&sender->lock);
    entry *done = sender->oldest;
    assert(done != NULL && done != sender->waiting);
    sender->oldest = done->newer;
    if (sender->newest == done)
        sender->newest = NULL;
    sender->queued_bytes -= done->head.bytes;
    pthread_mutex_unlock(&sender->lock);
    free(done);
}

size_t sh_replica_sender_queued_bytes(sh_replica_sender *sender)
{
    pthread_mutex_lock(&sender->lock);
    const size_t bytes = sender->queued_bytes;
    pthread_mutex_unlock(&sender->lock);
    return bytes;
}
