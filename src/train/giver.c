/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The queue of frames, oldest first; each owns a copy of its body:
 *
 *     oldest -> ... -> | waiting -> ... -> newest
 *      handed out      |  not yet
 *
 * `next` divides the stripe: chunks before it have been appended, and the taker keeps them at the
 * giver's position by sums and tails. All arrays of a chunk are appended at once, so that they
 * stand at one position.
 */
#include "train/giver.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Bytes of sums that may wait for any model: small steps can follow each other faster than the
 * taker gets a turn on a busy processor. */
#define LIMIT_LEAST_BYTES ((size_t)8 * 1024 * 1024)

typedef struct entry {
    struct entry *newer;
    sh_frame head;
    unsigned char body[];
} entry;

struct sh_giver {
    const sh_replica *replica;
    uint32_t transfer;
    sh_chunks chunks;
    uint32_t first, end; /* of the stripe */
    bool spoils;         /* a bit of what comes next */
    size_t window_bytes, limit_bytes;

    pthread_mutex_t lock; /* guards all below */
    uint32_t next;        /* chunk to append */
    sh_position position; /* of the stage under way */
    const void **totals;  /* by chunk of the stripe: its complete sum in this stage, or NULL */
    float *envelopes;     /* by tensor; these and the next three as the last tail says */
    int32_t *exponents;
    sh_epoch_totals epoch;
    sh_best best;
    entry *oldest, *waiting, *newest;
    size_t queued_bytes;
    sh_status failure;
    char message[SH_MESSAGE_BYTES];
};

/* Ends the hand-over with the thread's message and drops what waits. */
static void give_up(sh_giver *giver, sh_status status)
{
    giver->failure = status;
    memcpy(giver->message, sh_message(), strlen(sh_message()) + 1);
    entry *kept = giver->oldest == giver->waiting ? NULL : giver->oldest;
    while (kept != NULL && kept->newer != giver->waiting)
        kept = kept->newer;
    for (entry *each = giver->waiting, *newer; each != NULL; each = newer) {
        newer = each->newer;
        giver->queued_bytes -= each->head.bytes;
        free(each);
    }
    giver->waiting = NULL;
    giver->newest = kept;
    if (kept == NULL)
        giver->oldest = NULL;
    else
        kept->newer = NULL;
}

/* Appends an entry to the queue and returns its body; NULL if the hand-over has failed. */
static unsigned char *append(sh_giver *giver, sh_frame head, size_t bytes)
{
    if (giver->failure != SH_OK)
        return NULL;
    if (bytes > giver->limit_bytes - giver->queued_bytes) {
        give_up(giver, sh_fail(SH_LIMIT,
                               "the device that takes the state over is too slow: more than %zu "
                               "bytes wait for it",
                               giver->limit_bytes));
        return NULL;
    }
    entry *fresh = malloc(sizeof *fresh + bytes);
    if (fresh == NULL) {
        give_up(giver, sh_fail_memory(bytes, "the hand-over of a replica"));
        return NULL;
    }
    head.bytes = (uint32_t)bytes;
    head.view = giver->transfer;
    head.step = (uint32_t)giver->position.steps;
    head.attempt = (uint16_t)giver->position.phase;
    fresh->newer = NULL;
    fresh->head = head;
    if (giver->newest != NULL)
        giver->newest->newer = fresh;
    else
        giver->oldest = fresh;
    giver->newest = fresh;
    if (giver->waiting == NULL)
        giver->waiting = fresh;
    giver->queued_bytes += bytes;
    return fresh->body;
}

/* Appends an array of words and returns the copy, or NULL. */
static unsigned char *append_words(sh_giver *giver, sh_frame head, const void *words,
                                   uint32_t count, size_t word_bytes)
{
    unsigned char *body = append(giver, head, count * word_bytes);
    if (body != NULL)
        sh_words_copy(body, words, count, word_bytes);
    return body;
}

static void append_sum(sh_giver *giver, uint32_t index, const void *totals)
{
    const sh_chunk *chunk = &giver->chunks.items[index];
    append_words(giver, (sh_frame){.kind = SH_FRAME_SUM, .bucket = (uint16_t)index}, totals,
                 chunk->elements, chunk->word_bytes);
}

static void read_state(sh_giver *giver)
{
    sh_sum_state_get(giver->replica->sum, giver->envelopes, giver->exponents);
    giver->epoch = giver->replica->epoch;
    giver->best = giver->replica->best;
}

/* Appends the tail of a stage that led from the position to `after`, the next position. */
static void append_tail(sh_giver *giver, sh_passed passed, sh_position after, double clip)
{
    const uint32_t tensors = giver->chunks.tensors;
    assert(sh_passed_leads(passed, giver->position, after));
    unsigned char *body = append(giver, (sh_frame){.kind = SH_FRAME_TAIL}, sh_tail_bytes(tensors));
    if (body != NULL)
        sh_tail_encode(body,
                       &(sh_tail){
                           .passed = passed,
                           .before = giver->position,
                           .after = after,
                           .clip = clip,
                           .epoch = giver->epoch,
                           .best = giver->best,
                           .envelopes = giver->envelopes,
                           .exponents = giver->exponents,
                       },
                       tensors);
    giver->position = after;
    memset(giver->totals, 0, giver->chunks.count * sizeof *giver->totals);
}

sh_status sh_giver_new(sh_giver **giver, const sh_giver_options *options)
{
    assert(options->stripe < options->stripes && options->stripes <= SH_TRANSFER_STREAMS_MAX);
    sh_status status;
    sh_giver *fresh = calloc(1, sizeof *fresh);
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
    fresh->window_bytes = options->window_bytes > 0 ? options->window_bytes : SH_GIVER_WINDOW_BYTES;
    const size_t least =
        fresh->window_bytes + largest + 2 * sh_tail_bytes(options->replica->summed);
    fresh->limit_bytes =
        options->limit_bytes > 0
            ? options->limit_bytes
            : least + (2 * sums > LIMIT_LEAST_BYTES ? 2 * sums : LIMIT_LEAST_BYTES);
    if (fresh->limit_bytes < least)
        SH_TRY_DONE(sh_fail(SH_INVALID, "a giver of %zu bytes at most, it needs %zu",
                            fresh->limit_bytes, least));

    const size_t tensors = fresh->chunks.tensors, count = fresh->chunks.count;
    fresh->totals = calloc(count, sizeof *fresh->totals);
    fresh->envelopes = calloc(tensors, sizeof *fresh->envelopes);
    fresh->exponents = calloc(tensors, sizeof *fresh->exponents);
    if (fresh->totals == NULL || fresh->envelopes == NULL || fresh->exponents == NULL)
        SH_TRY_DONE(sh_fail_memory(count * sizeof *fresh->totals, "the hand-over of a replica"));
    read_state(fresh);
    append_tail(fresh, SH_PASSED_NOTHING, fresh->position, 1);
    *giver = fresh;
    return SH_OK;
done:
    sh_giver_free(fresh);
    return status;
}

void sh_giver_free(sh_giver *giver)
{
    if (giver == NULL)
        return;
    for (entry *each = giver->oldest, *newer; each != NULL; each = newer) {
        newer = each->newer;
        free(each);
    }
    sh_chunks_release(&giver->chunks);
    pthread_mutex_destroy(&giver->lock);
    free(giver->totals);
    free(giver->envelopes);
    free(giver->exponents);
    free(giver);
}

void sh_giver_fill(sh_giver *giver)
{
    pthread_mutex_lock(&giver->lock);
    while (giver->failure == SH_OK && giver->next < giver->end &&
           giver->queued_bytes < giver->window_bytes) {
        const uint32_t index = giver->next++;
        const sh_chunk *chunk = &giver->chunks.items[index];
        for (uint32_t array = 0; array < chunk->arrays; array++) {
            const sh_frame head = {
                .kind = SH_FRAME_STATE, .bucket = (uint16_t)index, .hop = (uint16_t)array};
            unsigned char *copy =
                append_words(giver, head, sh_chunk_data(giver->replica, chunk, array),
                             chunk->elements, sizeof(float));
            if (giver->spoils && copy != NULL)
                copy[0] ^= 1;
            giver->spoils = false;
        }
        if (giver->totals[index] != NULL)
            append_sum(giver, index, giver->totals[index]);
    }
    pthread_mutex_unlock(&giver->lock);
}

/* As sh_giver_span, under the lock. */
static void take_sums(sh_giver *giver, size_t first, size_t elements, const void *totals)
{
    const sh_sum *sum = giver->replica->sum;
    const size_t start = sh_layout_offset(sh_sum_layout_of(sum), first);
    for (uint32_t i = giver->first; i < giver->end; i++) {
        const sh_chunk *chunk = &giver->chunks.items[i];
        if (chunk->frozen || giver->totals[i] != NULL || chunk->first_element < first ||
            chunk->first_element >= first + elements)
            continue;
        assert(chunk->first_element + chunk->elements <= first + elements);
        giver->totals[i] = (const unsigned char *)totals +
                           (sh_layout_offset(sh_sum_layout_of(sum), chunk->first_element) - start);
        if (i < giver->next)
            append_sum(giver, i, giver->totals[i]);
    }
}

void sh_giver_span(sh_giver *giver, size_t first_element, size_t elements, const void *totals)
{
    pthread_mutex_lock(&giver->lock);
    if (giver->position.phase != SH_PHASE_VALIDATION) /* else sh_giver_passed takes them */
        take_sums(giver, first_element, elements, totals);
    pthread_mutex_unlock(&giver->lock);
}

void sh_giver_passed(sh_giver *giver, const sh_stage_outcome *outcome)
{
    pthread_mutex_lock(&giver->lock);
    if (giver->position.phase == SH_PHASE_VALIDATION && outcome->before.phase == SH_PHASE_FIRST)
        append_tail(giver, SH_PASSED_VALIDATE, outcome->before, 1); /* it was skipped */
    assert(sh_position_same(giver->position, outcome->before));
    if (outcome->passed == SH_PASSED_APPLY)
        take_sums(giver, 0, giver->replica->summed_count,
                  sh_sum_total(giver->replica->sum).accumulator);
    read_state(giver);
    append_tail(giver, outcome->passed, outcome->after, outcome->clip);
    if (outcome->passed == SH_PASSED_LAP)
        giver->next = giver->first;
    pthread_mutex_unlock(&giver->lock);
}

void sh_giver_restarted(sh_giver *giver)
{
    const sh_position now = sh_replica_position(giver->replica);
    pthread_mutex_lock(&giver->lock);
    const bool over = giver->position.phase == SH_PHASE_VALIDATION && now.phase == SH_PHASE_FIRST;
    giver->best = giver->replica->best; /* a validation may be void */
    append_tail(giver, over ? SH_PASSED_VALIDATE : SH_PASSED_ABORT, now, 1);
    pthread_mutex_unlock(&giver->lock);
}

sh_status sh_giver_next(sh_giver *giver, sh_frame *head, const void **body)
{
    pthread_mutex_lock(&giver->lock);
    sh_status status = SH_OK;
    if (giver->failure != SH_OK) {
        status = sh_fail(giver->failure, "%s", giver->message);
    } else if (giver->waiting == NULL) {
        *body = NULL;
    } else {
        *head = giver->waiting->head;
        *body = giver->waiting->body;
        giver->waiting = giver->waiting->newer;
    }
    pthread_mutex_unlock(&giver->lock);
    return status;
}

void sh_giver_done(sh_giver *giver)
{
    pthread_mutex_lock(&giver->lock);
    entry *done = giver->oldest;
    assert(done != NULL && done != giver->waiting);
    giver->oldest = done->newer;
    if (giver->newest == done)
        giver->newest = NULL;
    giver->queued_bytes -= done->head.bytes;
    pthread_mutex_unlock(&giver->lock);
    free(done);
}

size_t sh_giver_queued_bytes(sh_giver *giver)
{
    pthread_mutex_lock(&giver->lock);
    const size_t bytes = giver->queued_bytes;
    pthread_mutex_unlock(&giver->lock);
    return bytes;
}
