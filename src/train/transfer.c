/* SPDX-License-Identifier: Apache-2.0 */
#include "train/transfer.h"

#include <endian.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNKS_MAX ((size_t)UINT16_MAX + 1)

bool sh_passed_leads(sh_passed passed, sh_position before, sh_position after)
{
    const bool same_steps = after.steps == before.steps;
    switch (passed) {
    case SH_PASSED_NOTHING:
        return same_steps && after.phase == before.phase;
    case SH_PASSED_APPLY:
        return before.phase > 0 && before.steps < UINT64_MAX && after.steps == before.steps + 1 &&
               after.phase <= 1;
    case SH_PASSED_LAP:
        return before.phase > 0 && after.steps > before.steps && after.phase <= 1;
    case SH_PASSED_REDO:
        return same_steps && before.phase > 0 && before.phase < UINT16_MAX &&
               after.phase == before.phase + 1;
    case SH_PASSED_VALIDATE:
        return same_steps && before.phase == 0 && after.phase == 1;
    case SH_PASSED_ABORT:
        return same_steps &&
               (after.phase == before.phase || (before.phase == 1 && after.phase == 0));
    }
    return false;
}

static size_t pieces(size_t elements, uint32_t most)
{
    return elements / most + (elements % most > 0);
}

/* Appends a range in chunks with the properties of `like`. */
static void cut(sh_chunks *chunks, size_t first, size_t elements, uint32_t most, sh_chunk like)
{
    while (elements > 0) {
        like.first_element = first;
        like.elements = elements < most ? (uint32_t)elements : most;
        chunks->items[chunks->count++] = like;
        first += like.elements;
        elements -= like.elements;
    }
}

sh_status sh_chunks_init(sh_chunks *chunks, const sh_replica *replica, uint32_t most_elements)
{
    const uint32_t most = most_elements > 0 ? most_elements : SH_CHUNK_ELEMENTS;
    if (most > SH_CHUNK_ELEMENTS_MAX)
        return sh_fail(SH_INVALID, "chunks of %u elements, at most %u allowed", most,
                       SH_CHUNK_ELEMENTS_MAX);
    const sh_sum_layout *layout = sh_sum_layout_of(replica->sum);
    const size_t frozen = replica->weight_count - replica->summed_count;
    size_t count = pieces(frozen, most);
    for (uint32_t i = 0; i < layout->bucket_count; i++)
        count += pieces(layout->buckets[i].elements, most);
    if (count > CHUNKS_MAX)
        return sh_fail(SH_LIMIT, "a model of %zu weights cannot be handed over live: at most %zu",
                       replica->weight_count, CHUNKS_MAX * most);
    sh_chunks fresh = {.items = calloc(count, sizeof *fresh.items), .tensors = replica->summed};
    if (fresh.items == NULL)
        return sh_fail_memory(count * sizeof *fresh.items, "the hand-over of a replica");
    cut(&fresh, replica->summed_count, frozen, most, (sh_chunk){.arrays = 1, .frozen = true});
    for (uint32_t i = 0; i < layout->bucket_count; i++) {
        const sh_sum_bucket *bucket = &layout->buckets[i];
        cut(&fresh, bucket->first_element, bucket->elements, most,
            (sh_chunk){.arrays = 1 + replica->slot_count,
                       .word_bytes = (uint32_t)sh_words_bytes(bucket->word)});
    }
    *chunks = fresh;
    return SH_OK;
}

void sh_chunks_release(sh_chunks *chunks)
{
    free(chunks->items);
    *chunks = (sh_chunks){0};
}

void sh_chunks_stripe(const sh_chunks *chunks, uint32_t stripe, uint32_t stripes, uint32_t *first,
                      uint32_t *end)
{
    uint64_t total = 0, before = 0;
    uint32_t begins = 0, ends = 0;
    for (uint32_t i = 0; i < chunks->count; i++)
        total += (uint64_t)chunks->items[i].elements * chunks->items[i].arrays;
    for (uint32_t i = 0; i < chunks->count; i++) {
        const uint64_t of = before * stripes / total; /* the stripe in which this chunk begins */
        begins += of < stripe;
        ends += of <= stripe;
        before += (uint64_t)chunks->items[i].elements * chunks->items[i].arrays;
    }
    *first = begins;
    *end = ends;
}

float *sh_chunk_data(const sh_replica *replica, const sh_chunk *chunk, uint32_t array)
{
    return (array == 0 ? replica->weights : replica->slots[array - 1]) + chunk->first_element;
}

/* In the wire's byte order. Doubles are their bits. */
typedef struct tail_head {
    uint32_t passed, tensors;
    uint64_t steps_before, steps_after;
    uint32_t phase_before, phase_after;
    uint64_t clip, loss, samples, score;
    uint64_t value, steps, reference, stale, last, at; /* of `best` */
} tail_head;
_Static_assert(sizeof(tail_head) == SH_TAIL_HEAD_BYTES, "the head has no gaps");

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return htole64(bits);
}

static double double_of(uint64_t bits)
{
    double value;
    bits = le64toh(bits);
    memcpy(&value, &bits, sizeof value);
    return value;
}

size_t sh_tail_bytes(uint32_t tensors)
{
    return SH_TAIL_HEAD_BYTES + (size_t)tensors * (sizeof(float) + sizeof(int32_t));
}

void sh_tail_encode(unsigned char *body, const sh_tail *tail, uint32_t tensors)
{
    const tail_head head = {
        .passed = htole32(tail->passed),
        .tensors = htole32(tensors),
        .steps_before = htole64(tail->before.steps),
        .steps_after = htole64(tail->after.steps),
        .phase_before = htole32(tail->before.phase),
        .phase_after = htole32(tail->after.phase),
        .clip = bits_of(tail->clip),
        .loss = bits_of(tail->epoch.loss),
        .samples = htole64(tail->epoch.samples),
        .score = htole64(tail->epoch.score),
        .value = bits_of(tail->best.value),
        .steps = htole64(tail->best.steps),
        .reference = bits_of(tail->best.reference),
        .stale = htole64(tail->best.stale),
        .last = bits_of(tail->best.last),
        .at = htole64(tail->best.at),
    };
    memcpy(body, &head, sizeof head);
    body += sizeof head;
    sh_words_copy(body, tail->envelopes, tensors, sizeof(float));
    sh_words_copy(body + tensors * sizeof(float), tail->exponents, tensors, sizeof(int32_t));
}

sh_status sh_tail_decode(sh_tail *tail, const unsigned char *body, uint32_t tensors)
{
    tail_head head;
    memcpy(&head, body, sizeof head);
    body += sizeof head;
    const uint32_t said = le32toh(head.tensors);
    tail->passed = (sh_passed)le32toh(head.passed);
    tail->before = (sh_position){le64toh(head.steps_before), le32toh(head.phase_before)};
    tail->after = (sh_position){le64toh(head.steps_after), le32toh(head.phase_after)};
    tail->clip = double_of(head.clip);
    tail->epoch =
        (sh_epoch_totals){double_of(head.loss), le64toh(head.samples), le64toh(head.score)};
    tail->best = (sh_best){
        .value = double_of(head.value),
        .steps = le64toh(head.steps),
        .reference = double_of(head.reference),
        .stale = le64toh(head.stale),
        .last = double_of(head.last),
        .at = le64toh(head.at),
    };
    if (tail->passed < SH_PASSED_NOTHING || tail->passed > SH_PASSED_LAP)
        return sh_fail(SH_FORMAT, "a stage with unknown outcome %u", (unsigned)tail->passed);
    if (said != tensors)
        return sh_fail(SH_FORMAT, "a tail of %u tensors, but the model has %u", said, tensors);
    if (!sh_passed_leads(tail->passed, tail->before, tail->after))
        return sh_fail(SH_FORMAT,
                       "a stage that passed as %u does not lead from step %llu, phase %u to step "
                       "%llu, phase %u",
                       (unsigned)tail->passed, (unsigned long long)tail->before.steps,
                       tail->before.phase, (unsigned long long)tail->after.steps,
                       tail->after.phase);
    if (!(tail->clip > 0 && tail->clip <= 1) || (tail->clip < 1 && tail->passed != SH_PASSED_APPLY))
        return sh_fail(SH_CORRUPT, "a clipping factor of %g", tail->clip);
    if (!isfinite(tail->epoch.loss))
        return sh_fail(SH_CORRUPT, "an epoch's loss that is not a number");
    if (!sh_best_is_possible(&tail->best, tail->after.steps))
        return sh_fail(SH_CORRUPT, "a best validation that cannot be at step %llu",
                       (unsigned long long)tail->after.steps);
    sh_words_copy(tail->envelopes, body, tensors, sizeof(float));
    sh_words_copy(tail->exponents, body + tensors * sizeof(float), tensors, sizeof(int32_t));
    return SH_OK;
}

void sh_words_copy(void *to, const void *from, size_t words, size_t word_bytes)
{
    if (htole32(1) == 1 || word_bytes == 1) { /* memory has the wire's byte order */
        if (to != from)
            memcpy(to, from, words * word_bytes);
        return;
    }
    for (size_t i = 0; i < words; i++) {
        unsigned char word[sizeof(uint32_t)];
        memcpy(word, (const unsigned char *)from + i * word_bytes, word_bytes);
        for (size_t b = 0; b < word_bytes; b++)
            ((unsigned char *)to)[i * word_bytes + b] = word[word_bytes - 1 - b];
    }
}
