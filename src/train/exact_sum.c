/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each tensor has an exponent e and the unit 2^-e. A grain adds g / unit, rounded.
 *
 * The bound of a tensor, at 32 bits: the sum over grains of ceil(max|g| / 256 units). Rounding
 * never passes an integer, so |sum| <= 256 * bound, in units. If bound < 2^23, then |sum| < 2^31,
 * so the sum fits int32, even if partial sums wrapped.
 *
 *     accumulator  | tensor 0 | tensor 1 |    tensor 2     |     locks every 16 Ki elements
 *                                        |<-- bucket 0 --->|
 *                  |<---- bucket 1 ----->|
 *     trailer      | view, audit | stops | check | loss | samples | score | not finite |
 *                  | (bound, not finite) a tensor | check a tensor, below 32 bits |
 *
 * At 16 and 8 bits, too few bits remain for such a bound: it is 1.7 times |G| over 4 grains of
 * LeNet, and 5 times over 64. Instead each tensor has a check (train/sum_kernels.h) of its terms,
 * which is summed and compared with the check of the total. The bound, in units of 1/256, still
 * detects clipped terms and controls the exponent.
 *
 * Bounds are integers computed from the bits of max|g|, so all devices get the same. Each term
 * saturates at 2^40; the sum of 2^20 terms stays below 2^64.
 *
 * Exponents follow an envelope, which is a slowly decaying maximum over steps of
 *     max( |G|max , bound / 16 )           (/ 64 at 16 and 8 bits)
 *
 * The exponent places the envelope in this range of units, with room for growth without a redo:
 *     32 bits   [2^23, 2^24)   |G| may grow 128 times, the bound 8 times, in a step;
 *                              this keeps as many bits as a float has
 *     16 bits   [2^10, 2^11)   16 times
 *      8 bits   [2^4, 2^5)     4 times
 *
 * The envelope includes the bound because with many noisy grains the bound exceeds |G| by about the
 * square root of their number. If the exponent followed |G| alone, such a job might redo every
 * step. The bound also detects gradients that round to 0 everywhere. A gradient of exactly 0
 * changes nothing.
 *
 * An envelope of 0 means that the exponent is a guess. Such a tensor calibrates: a redo lowers its
 * exponent, or raises it if the bound shows that most bits are unused. It cannot oscillate: raising
 * aims at a bound below 2^22 (2^14 at 8 bits), and a finer unit increases the bound at most in
 * proportion.
 */
#include "train/exact_sum.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define CHUNK_ELEMENTS ((size_t)16384) /* 4 us under a lock; fits L2 together with its gradient */

#define BOUND_SATURATED ((uint64_t)1 << 40)
#define ENVELOPE_FALL 0.9375f
#define LOSS_UNIT 0x1p-32
#define LOSS_LARGEST 0x1p20

enum {
    WORD_NOTE,  /* next view and audit; first, because an engine may add it late */
    WORD_STOPS, /* of a device's note, like the check */
    WORD_CHECK,
    WORD_LOSS = SH_SUM_NOTE_WORDS, /* from here on: sums over grains */
    WORD_SAMPLES,
    WORD_SCORE,
    WORD_LOSS_NOT_FINITE,
    WORD_TENSORS
};
enum { WORD_BOUND, WORD_NOT_FINITE, WORDS_A_TENSOR };

struct tensor {
    const sh_sum_place *place;
    float envelope; /* 0: no gradient yet */
    int32_t exponent;
    float kept_envelope; /* these two: frozen by sh_sum_keep_state */
    int32_t kept_exponent;
};

struct sh_sum {
    sh_sum_block own;   /* locks guard chunks and trailer while lanes add */
    sh_sum_block apart; /* separate total; NULL before sh_sum_share */
    sh_sum_block total; /* one of the two above */
    pthread_mutex_t *chunk_locks;
    size_t chunks;
    sh_sum_layout layout;
    uint64_t seed, step;
    pthread_mutex_t trailer_lock;
    bool calibrating;
    bool keeping;
    uint32_t tensors;
    struct tensor tensor[];
};

static bool is_wide(const struct tensor *tensor)
{
    return tensor->place->form->word == SH_WORD_I32;
}

static uint64_t *tensor_words(uint64_t *trailer, uint32_t tensor)
{
    return trailer + WORD_TENSORS + (size_t)tensor * WORDS_A_TENSOR;
}

static uint64_t *check_word(const sh_sum *sum, uint64_t *trailer, uint32_t tensor)
{
    return tensor_words(trailer, sum->tensors) + tensor;
}

/* 2^exponent for -126 <= exponent <= 127. */
static float power_of_two(int32_t exponent)
{
    const uint32_t bits = (uint32_t)(exponent + 127) << 23;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The k with 2^(k-1) <= value < 2^k; value is normal and positive. */
static int32_t exponent_above(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (int32_t)(bits >> 23) - 126;
}

static int32_t clamp_exponent(const struct tensor *tensor, int32_t exponent)
{
    if (exponent < SH_SUM_EXPONENT_MIN)
        return SH_SUM_EXPONENT_MIN;
    return exponent > tensor->place->form->exponent_max ? tensor->place->form->exponent_max
                                                        : exponent;
}

static sh_status block_new(sh_sum_block *block, const sh_sum *sum)
{
    const size_t elements = sum->layout.elements;
    const bool narrow = sum->layout.wide_elements < elements;
    const size_t words =
        WORD_TENSORS + (size_t)sum->tensors * (WORDS_A_TENSOR + (narrow ? 1U : 0U));
    void *accumulator;
    SH_TRY(sh_block_new(&accumulator, sh_layout_offset(&sum->layout, elements),
                        "the sum of gradients"));
    uint64_t *trailer = calloc(words, sizeof *trailer);
    if (trailer == NULL) {
        free(accumulator);
        return sh_fail_memory(words * sizeof *trailer, "the sum of gradients");
    }
    *block = (sh_sum_block){accumulator, trailer, elements, words};
    return SH_OK;
}

sh_status sh_sum_new(sh_sum **sum, const sh_sum_options *options)
{
    const uint32_t tensors = options->tensors;
    sh_sum *fresh = calloc(1, sizeof *fresh + tensors * sizeof fresh->tensor[0]);
    if (fresh == NULL)
        return sh_fail_memory(tensors * sizeof fresh->tensor[0], "the sum of gradients");
    fresh->tensors = tensors;
    fresh->seed = options->seed;
    pthread_mutex_init(&fresh->trailer_lock, NULL);
    sh_status status;
    SH_TRY_DONE(sh_layout_init(&fresh->layout, options));
    for (uint32_t t = 0; t < tensors; t++)
        fresh->tensor[t] =
            (struct tensor){.place = &fresh->layout.places[t], .exponent = SH_SUM_EXPONENT_FIRST};
    SH_TRY_DONE(block_new(&fresh->own, fresh));
    fresh->total = fresh->own;
    const size_t chunks = (fresh->layout.elements - 1) / CHUNK_ELEMENTS + 1;
    fresh->chunk_locks = calloc(chunks, sizeof *fresh->chunk_locks);
    if (fresh->chunk_locks == NULL)
        SH_TRY_DONE(sh_fail_memory(chunks * sizeof *fresh->chunk_locks, "the sum of gradients"));
    while (fresh->chunks < chunks)
        pthread_mutex_init(&fresh->chunk_locks[fresh->chunks++], NULL);
    *sum = fresh;
    return SH_OK;
done:
    sh_sum_free(fresh);
    return status;
}

void sh_sum_free(sh_sum *sum)
{
    if (sum == NULL)
        return;
    for (size_t c = 0; sum->chunk_locks != NULL && c < sum->chunks; c++)
        pthread_mutex_destroy(&sum->chunk_locks[c]);
    pthread_mutex_destroy(&sum->trailer_lock);
    free(sum->chunk_locks);
    sh_layout_release(&sum->layout);
    free(sum->own.trailer);
    free(sum->own.accumulator);
    free(sum->apart.trailer);
    free(sum->apart.accumulator);
    free(sum);
}

sh_status sh_sum_share(sh_sum *sum)
{
    return sum->apart.accumulator != NULL ? SH_OK : block_new(&sum->apart, sum);
}

void sh_sum_set_shared(sh_sum *sum, bool shared)
{
    assert(!shared || sum->apart.accumulator != NULL);
    sum->total = shared ? sum->apart : sum->own;
}

void sh_sum_clear_trailer(sh_sum *sum)
{
    memset(sum->own.trailer, 0, sum->own.words * sizeof *sum->own.trailer);
}

void sh_sum_clear_range(sh_sum *sum, size_t first_element, size_t elements)
{
    const size_t first = sh_layout_offset(&sum->layout, first_element);
    const size_t end = sh_layout_offset(&sum->layout, first_element + elements);
    memset((unsigned char *)sum->own.accumulator + first, 0, end - first);
}

void sh_sum_set_step(sh_sum *sum, uint64_t step)
{
    sum->step = step;
}

/* ceil(|g| * 2^exponent), saturated, from the magnitude bits of a finite g. */
static uint64_t bound_of(uint32_t magnitude_bits, int32_t exponent)
{
    const uint32_t field = magnitude_bits >> 23;
    const uint32_t mantissa = (magnitude_bits & 0x7fffff) | (field > 0 ? 0x800000 : 0);
    if (mantissa == 0)
        return 0;
    /* |g| = mantissa * 2^(field - 150); denormals use field 1 */
    const int32_t shift = (int32_t)(field > 0 ? field : 1) - 150 + exponent;
    if (shift <= -24)
        return 1;
    if (shift < 0)
        return (mantissa + ((uint32_t)1 << -shift) - 1) >> -shift;
    if (shift > 40 || ((uint64_t)mantissa << shift) > BOUND_SATURATED)
        return BOUND_SATURATED;
    return (uint64_t)mantissa << shift;
}

/* Adds a part of a grain's gradient to a block, chunk by chunk. Returns the part's largest
 * magnitude bits. Adds the check of the integers to *check. */
static uint32_t add_integers(sh_sum *sum, const sh_sum_block *block, uint32_t tensor,
                             uint32_t grain, const sh_gradient *part, uint64_t *check)
{
    const struct tensor *t = &sum->tensor[tensor];
    const size_t start = t->place->first_element + part->first, end = start + part->count;
    const size_t first_chunk = start / CHUNK_ELEMENTS;
    const size_t pieces = (end - 1) / CHUNK_ELEMENTS - first_chunk + 1;
    /* Gradients of lanes have different addresses, so each lane starts at another chunk. */
    const uint64_t mixed = (uint64_t)((uintptr_t)part->values >> 6) * UINT64_C(0x9e3779b97f4a7c15);
    const size_t entry = (size_t)(mixed >> 32) % pieces;
    const float scale = power_of_two(t->exponent);
    const sh_variant best = sh_variant_chosen();
    sh_narrow_draw draw = {{0}, 0};
    if (!is_wide(t))
        draw = sh_narrow_draw_for(sum->seed, sum->step, grain, tensor);
    uint32_t top = 0;
    for (size_t p = 0; p < pieces; p++) {
        const size_t chunk = first_chunk + (entry + p) % pieces;
        const size_t low = chunk * CHUNK_ELEMENTS, high = low + CHUNK_ELEMENTS;
        const size_t from = low > start ? low : start, count = (high < end ? high : end) - from;
        const float *values = part->values + (from - start);
        void *place = (unsigned char *)block->accumulator + sh_layout_offset(&sum->layout, from);
        draw.first = (uint32_t)(from - t->place->first_element);
        pthread_mutex_lock(&sum->chunk_locks[chunk]);
        uint32_t piece_top;
        if (is_wide(t))
            piece_top = sh_sum_kernels[best](place, values, scale, count);
        else
            piece_top = sh_narrow_add[t->place->form->narrow][best](place, values, scale, count,
                                                                    &draw, check);
        pthread_mutex_unlock(&sum->chunk_locks[chunk]);
        top = piece_top > top ? piece_top : top;
    }
    return top;
}

void sh_sum_complete(sh_sum *sum, uint32_t tensor, uint32_t grain, const sh_gradient *part)
{
    uint64_t check = 0;
    add_integers(sum, &sum->total, tensor, grain, part, &check);
}

/* Counts non-finite elements, and finds the largest magnitude bits of the others. */
static void look_for_finite(const sh_gradient *part, uint32_t *top, uint64_t *not_finite)
{
    *top = 0;
    for (size_t i = 0; i < part->count; i++) {
        uint32_t bits;
        memcpy(&bits, &part->values[i], sizeof bits);
        bits &= 0x7fffffff;
        *not_finite += bits >= SH_SUM_INFINITY_BITS;
        *top = bits < SH_SUM_INFINITY_BITS && bits > *top ? bits : *top;
    }
}

void sh_sum_add_part(sh_sum *sum, uint32_t tensor, uint32_t grain, const sh_gradient *part,
                     sh_sum_parts *parts)
{
    const struct tensor *t = &sum->tensor[tensor];
    if (part->first == 0)
        *parts = (sh_sum_parts){0};
    uint32_t top = add_integers(sum, &sum->own, tensor, grain, part, &parts->check);
    if (top >= SH_SUM_INFINITY_BITS)
        look_for_finite(part, &top, &parts->not_finite);
    parts->top = top > parts->top ? top : parts->top;
    if (!part->last)
        return;
    uint64_t *words = tensor_words(sum->own.trailer, tensor);
    pthread_mutex_lock(&sum->trailer_lock);
    words[WORD_BOUND] += bound_of((uint32_t)parts->top, t->exponent - t->place->form->bound_shift);
    words[WORD_NOT_FINITE] += parts->not_finite;
    if (!is_wide(t))
        *check_word(sum, sum->own.trailer, tensor) += parts->check;
    pthread_mutex_unlock(&sum->trailer_lock);
}

void sh_sum_add(sh_sum *sum, uint32_t tensor, uint32_t grain, const float *gradient)
{
    sh_sum_parts parts;
    const sh_gradient whole = {
        .values = gradient, .count = sum->tensor[tensor].place->elements, .last = true};
    sh_sum_add_part(sum, tensor, grain, &whole, &parts);
}

static void add_wide(sh_sum *sum, size_t start, const int32_t *integers, size_t count)
{
    int32_t *sums = (int32_t *)sum->own.accumulator + start; /* 32-bit tensors come first */
    for (size_t i = 0, end; i < count; i = end) {
        const size_t chunk = (start + i) / CHUNK_ELEMENTS;
        end = (chunk + 1) * CHUNK_ELEMENTS - start;
        end = end < count ? end : count;
        pthread_mutex_lock(&sum->chunk_locks[chunk]);
        for (size_t k = i; k < end; k++)
            sums[k] = (int32_t)((uint32_t)sums[k] + (uint32_t)integers[k]);
        pthread_mutex_unlock(&sum->chunk_locks[chunk]);
    }
}

void sh_sum_add_integers(sh_sum *sum, uint32_t tensor, const int32_t *integers,
                         const sh_sum_grain *grains, uint32_t count)
{
    const struct tensor *t = &sum->tensor[tensor];
    uint64_t bound = 0, not_finite = 0;
    assert(is_wide(t));
    add_wide(sum, t->place->first_element, integers, t->place->elements);
    for (uint32_t g = 0; g < count; g++) {
        bound += bound_of(grains[g].top, t->exponent - t->place->form->bound_shift);
        not_finite += grains[g].not_finite;
    }
    uint64_t *words = tensor_words(sum->own.trailer, tensor);
    pthread_mutex_lock(&sum->trailer_lock);
    words[WORD_BOUND] += bound;
    words[WORD_NOT_FINITE] += not_finite;
    pthread_mutex_unlock(&sum->trailer_lock);
}

void sh_sum_add_loss(sh_sum *sum, const float *loss, uint32_t count, uint64_t score)
{
    uint64_t total = 0, not_finite = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!isfinite(loss[i])) {
            not_finite++;
            continue;
        }
        double value = loss[i];
        value = value > LOSS_LARGEST ? LOSS_LARGEST : value;
        value = value < -LOSS_LARGEST ? -LOSS_LARGEST : value;
        total += (uint64_t)llrint(value / LOSS_UNIT);
    }
    pthread_mutex_lock(&sum->trailer_lock);
    sum->own.trailer[WORD_LOSS] += total;
    sum->own.trailer[WORD_SAMPLES] += count;
    sum->own.trailer[WORD_SCORE] += score;
    sum->own.trailer[WORD_LOSS_NOT_FINITE] += not_finite;
    pthread_mutex_unlock(&sum->trailer_lock);
}

void sh_sum_set_note(sh_sum *sum, const sh_sum_note *note)
{
    sum->own.trailer[WORD_STOPS] = note->stop;
    sum->own.trailer[WORD_NOTE] = sh_sum_word(note->next_view, note->audit);
    sum->own.trailer[WORD_CHECK] = note->check;
}

void sh_sum_set_totals(sh_sum *sum, const sh_sum_totals *totals)
{
    const bool finite = isfinite(totals->loss);
    sum->own.trailer[WORD_LOSS] = finite ? (uint64_t)llrint(totals->loss / LOSS_UNIT) : 0;
    sum->own.trailer[WORD_LOSS_NOT_FINITE] = !finite;
    sum->own.trailer[WORD_SAMPLES] = totals->samples;
    sum->own.trailer[WORD_SCORE] = totals->score;
}

sh_sum_block sh_sum_own(const sh_sum *sum)
{
    return sum->own;
}

sh_sum_block sh_sum_total(const sh_sum *sum)
{
    return sum->total;
}

const sh_sum_layout *sh_sum_layout_of(const sh_sum *sum)
{
    return &sum->layout;
}

size_t sh_sum_first_element(const sh_sum *sum, uint32_t tensor)
{
    return sum->tensor[tensor].place->first_element;
}

size_t sh_sum_elements(const sh_sum *sum, uint32_t tensor)
{
    return sum->tensor[tensor].place->elements;
}

sh_sum_totals sh_sum_read_totals(const sh_sum *sum)
{
    const uint64_t *words = sum->total.trailer;
    return (sh_sum_totals){
        .loss =
            words[WORD_LOSS_NOT_FINITE] > 0 ? NAN : (double)(int64_t)words[WORD_LOSS] * LOSS_UNIT,
        .samples = words[WORD_SAMPLES],
        .score = words[WORD_SCORE],
        .stops = words[WORD_STOPS],
        .next_view = (uint32_t)words[WORD_NOTE],
        .audit = (uint32_t)(words[WORD_NOTE] >> 32),
        .check = words[WORD_CHECK],
    };
}

uint64_t sh_sum_own_check(const sh_sum *sum)
{
    return sum->own.trailer[WORD_CHECK];
}

bool sh_sum_own_is_finite(const sh_sum *sum)
{
    uint64_t not_finite = sum->own.trailer[WORD_LOSS_NOT_FINITE];
    for (uint32_t t = 0; t < sum->tensors; t++)
        not_finite += tensor_words(sum->own.trailer, t)[WORD_NOT_FINITE];
    return not_finite == 0;
}

/* Whether no element of a tensor's total can have wrapped. */
static bool is_proven(const sh_sum *sum, uint32_t tensor)
{
    const struct tensor *t = &sum->tensor[tensor];
    const sh_sum_form *form = t->place->form;
    const uint64_t bound = tensor_words(sum->total.trailer, tensor)[WORD_BOUND];
    if (bound >= (uint64_t)1 << form->limit_bits)
        return false;
    if (is_wide(t))
        return true;
    const void *total = (const unsigned char *)sum->total.accumulator +
                        sh_layout_offset(&sum->layout, t->place->first_element);
    return sh_narrow_check[form->narrow][sh_variant_chosen()](total, 0, t->place->elements) ==
           *check_word(sum, sum->total.trailer, tensor);
}

/* The exponent that a tensor's bound requires; the present one if it is suitable. */
static int32_t wanted_exponent(const sh_sum *sum, uint32_t t)
{
    const struct tensor *tensor = &sum->tensor[t];
    const uint64_t bound = tensor_words(sum->total.trailer, t)[WORD_BOUND];
    if (bound == 0)
        return tensor->exponent;
    const int32_t bits = 64 - __builtin_clzll(bound); /* 2^(bits-1) <= bound < 2^bits */
    const bool unused = tensor->envelope == 0 && bits <= tensor->place->form->coarse_bits;
    const bool proven = is_proven(sum, t);
    if (proven && !unused)
        return tensor->exponent;
    /* With very many grains that round up, a sum can wrap although the bound has the wanted
     * size. */
    const int32_t change = tensor->place->form->redo_bits - bits;
    return clamp_exponent(tensor, tensor->exponent + (!proven && change >= 0 ? -1 : change));
}

sh_verdict sh_sum_verdict(sh_sum *sum, uint32_t *tensor)
{
    for (uint32_t t = sum->tensors; t-- > 0;) {
        const bool fits_no_float =
            sum->tensor[t].exponent == SH_SUM_EXPONENT_MIN && !is_proven(sum, t);
        if (tensor_words(sum->total.trailer, t)[WORD_NOT_FINITE] == 0 && !fits_no_float)
            continue;
        *tensor = t;
        return SH_VERDICT_NOT_FINITE;
    }
    if (sum->total.trailer[WORD_LOSS_NOT_FINITE] > 0) {
        *tensor = SH_SUM_LOSS;
        return SH_VERDICT_NOT_FINITE;
    }
    sh_verdict verdict = SH_VERDICT_APPLY;
    bool calibrating = true;
    for (uint32_t t = 0; t < sum->tensors; t++) {
        struct tensor *each = &sum->tensor[t];
        const int32_t wanted = wanted_exponent(sum, t);
        if (wanted == each->exponent)
            continue;
        each->exponent = wanted;
        verdict = SH_VERDICT_REDO;
        calibrating = calibrating && each->envelope == 0;
    }
    sum->calibrating = verdict == SH_VERDICT_REDO && calibrating;
    return verdict;
}

bool sh_sum_calibrating(const sh_sum *sum)
{
    return sum->calibrating;
}

float sh_sum_scale(const sh_sum *sum, uint32_t tensor)
{
    return power_of_two(-sum->tensor[tensor].exponent);
}

int sh_sum_exponent(const sh_sum *sum, uint32_t tensor)
{
    return sum->tensor[tensor].exponent;
}

void sh_sum_value(const sh_sum *sum, uint32_t tensor, float *value, uint32_t *max_abs)
{
    const struct tensor *t = &sum->tensor[tensor];
    const float scale = sh_sum_scale(sum, tensor);
    int32_t room[SH_SUM_ROOM];
    uint32_t top = *max_abs;
    for (size_t first = 0; first < t->place->elements; first += SH_SUM_ROOM) {
        const size_t left = t->place->elements - first,
                     count = left < SH_SUM_ROOM ? left : SH_SUM_ROOM;
        const int32_t *integers = sh_layout_integers(&sum->layout, sum->total.accumulator,
                                                     t->place->first_element + first, count, room);
        for (size_t i = 0; i < count; i++) {
            const uint32_t magnitude =
                integers[i] < 0 ? 0u - (uint32_t)integers[i] : (uint32_t)integers[i];
            top = magnitude > top ? magnitude : top;
            value[first + i] = (float)integers[i] * scale;
        }
    }
    *max_abs = top;
}

float sh_sum_follow(sh_sum *sum, uint32_t tensor, uint32_t max_abs)
{
    struct tensor *t = &sum->tensor[tensor];
    const uint64_t count = tensor_words(sum->total.trailer, tensor)[WORD_BOUND];
    if (count == 0)
        return t->envelope;
    const float unit = power_of_two(-t->exponent);
    const float bound = (float)count * power_of_two(t->place->form->bound_shift);
    const float of_bound = bound * unit * t->place->form->of_bound;
    /* At 32 bits, max_abs exceeds the bound only if memory is damaged, which the check of the
     * weights detects; the limit keeps the envelope finite. */
    const float largest = is_wide(t) && (float)max_abs > bound ? bound : (float)max_abs;
    const float of_sum = largest * unit;
    float envelope = t->envelope * ENVELOPE_FALL;
    envelope = of_bound > envelope ? of_bound : envelope;
    envelope = of_sum > envelope ? of_sum : envelope;
    t->envelope = envelope;
    t->exponent = clamp_exponent(t, t->place->form->envelope_bits - exponent_above(envelope));
    return envelope;
}

void sh_sum_state_get(const sh_sum *sum, float *envelopes, int32_t *exponents)
{
    for (uint32_t t = 0; t < sum->tensors; t++) {
        const struct tensor *each = &sum->tensor[t];
        envelopes[t] = sum->keeping ? each->kept_envelope : each->envelope;
        exponents[t] = sum->keeping ? each->kept_exponent : each->exponent;
    }
}

int sh_sum_state_exponent(const sh_sum *sum, uint32_t tensor)
{
    const struct tensor *each = &sum->tensor[tensor];
    return sum->keeping ? each->kept_exponent : each->exponent;
}

void sh_sum_keep_state(sh_sum *sum, bool keep)
{
    for (uint32_t t = 0; t < sum->tensors; t++) {
        struct tensor *each = &sum->tensor[t];
        *(keep ? &each->kept_envelope : &each->envelope) =
            keep ? each->envelope : each->kept_envelope;
        *(keep ? &each->kept_exponent : &each->exponent) =
            keep ? each->exponent : each->kept_exponent;
    }
    sum->keeping = keep;
}

sh_status sh_sum_state_set(sh_sum *sum, const float *envelopes, const int32_t *exponents)
{
    for (uint32_t t = 0; t < sum->tensors; t++) {
        if (envelopes[t] != 0 && !(isnormal(envelopes[t]) && envelopes[t] > 0))
            return sh_fail(SH_CORRUPT, "exact sum, tensor %u: the envelope %g is not a maximum", t,
                           (double)envelopes[t]);
        if (exponents[t] != clamp_exponent(&sum->tensor[t], exponents[t]))
            return sh_fail(SH_CORRUPT, "exact sum, tensor %u: the exponent %d is outside %d to %d",
                           t, (int)exponents[t], SH_SUM_EXPONENT_MIN,
                           (int)sum->tensor[t].place->form->exponent_max);
    }
    for (uint32_t t = 0; t < sum->tensors; t++) {
        sum->tensor[t].envelope = envelopes[t];
        sum->tensor[t].exponent = exponents[t];
    }
    return SH_OK;
}
