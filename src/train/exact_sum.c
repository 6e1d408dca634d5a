/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words: tensor t has an exponent e; its unit is 2^-e. A grain adds round(g / unit). The bound of a
 * tensor is the sum over grains of ceil(max|g| / 256 units), so |sum| <= 256 * bound, in units,
 * because rounding never passes a whole number of units. Where bound < 2^23, |sum| < 2^31: it fits
 * int32, however often partial sums wrapped. That is the proof; it needs no look at the sum.
 *
 *     accumulator  | tensor 0 | tensor 1 |    tensor 2     |     int32, locks every 16 Ki elements
 *                                        |<-- bucket 0 --->|
 *                  |<---- bucket 1 ----->|
 *     trailer      | next view | loss | samples | correct | not finite | stops | check |
 *                  | (bound, not finite) a tensor |
 *
 * Both exist twice where there may be other devices: own, to which lanes add, and total. A stage
 * that breaks off has changed the total alone, so what this device has computed is still there.
 *
 * A bound is exact integer arithmetic on the bits of max|g|, so it is equal everywhere. It
 * saturates at 2^40; 2^20 of them stay below 2^64.
 *
 * Exponents follow an envelope, a slowly falling maximum over steps of
 *     max( |G|max , 256 * bound * unit / 16 )
 * placed in [2^23, 2^24) units: as many bits as a float has, and room for |G| to grow 128 times and
 * for the bound to grow 8 times in a step without a redo. The bound takes part because with many
 * grains of mostly noise it exceeds |G| by about the square root of their number: an exponent that
 * followed |G| alone would let such a job redo every step. It also shows gradients that round to 0
 * everywhere, so exponents find them. A gradient that is exactly 0 says nothing and changes
 * nothing.
 *
 * An envelope of 0 means that the exponent is a guess. Such a tensor calibrates: a redo moves its
 * exponent down, or up where the bound shows that most bits are unused. It cannot swing: up aims
 * the bound below 2^22, and a finer unit never makes the bound larger than in proportion.
 */
#include "train/exact_sum.h"

#include <assert.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "train/exact_sum_kernel.h"

#define CHUNK_ELEMENTS ((size_t)16384) /* 4 us under a lock; with its gradient it stays in L2 */

#define BOUND_SHIFT 8                   /* a bound counts 2^8 units */
#define BOUND_LIMIT ((uint64_t)1 << 23) /* 2^31 units: no proof from here on */
#define BOUND_SATURATED ((uint64_t)1 << 40)
#define BOUND_REDO_BITS 22   /* a redo aims the bound below 2^22, 2^30 units */
#define BOUND_COARSE_BITS 10 /* calibration goes up from a bound below 2^10 */

#define ENVELOPE_BITS 24
#define ENVELOPE_FALL 0.9375f
#define ENVELOPE_OF_BOUND 0.0625f

#define LOSS_UNIT 0x1p-32
#define LOSS_LARGEST 0x1p20

enum {
    WORD_NEXT_VIEW, /* of the note, first: an engine may add it late */
    WORD_LOSS,
    WORD_SAMPLES,
    WORD_CORRECT,
    WORD_LOSS_NOT_FINITE,
    WORD_STOPS, /* as the check, of a device's note */
    WORD_CHECK,
    WORD_TENSORS
};
enum { WORD_BOUND, WORD_NOT_FINITE, WORDS_A_TENSOR };

struct tensor {
    size_t first_element, elements;
    float envelope; /* 0: never seen a gradient */
    int32_t exponent;
};

struct sh_sum {
    sh_sum_block own;   /* each chunk, and the trailer, guarded by its lock while lanes add */
    sh_sum_block apart; /* NULL before sh_sum_share */
    sh_sum_block total; /* one of the above; not owned */
    pthread_mutex_t *chunk_locks;
    size_t elements, chunks;
    pthread_mutex_t trailer_lock;
    sh_sum_bucket *buckets;
    uint32_t bucket_count;
    sh_sum_kernel *add;
    bool calibrating;
    uint32_t tensors;
    struct tensor tensor[];
};

static size_t trailer_words(uint32_t tensors)
{
    return WORD_TENSORS + (size_t)tensors * WORDS_A_TENSOR;
}

/* The words of one tensor in a trailer. */
static uint64_t *tensor_words(uint64_t *trailer, uint32_t tensor)
{
    return trailer + trailer_words(tensor);
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

/* The k with 2^(k-1) <= value < 2^k; value > 0. */
static int32_t bit_length(uint64_t value)
{
    return 64 - __builtin_clzll(value);
}

static int32_t clamp_exponent(int32_t exponent)
{
    if (exponent < SH_SUM_EXPONENT_MIN)
        return SH_SUM_EXPONENT_MIN;
    return exponent > SH_SUM_EXPONENT_MAX ? SH_SUM_EXPONENT_MAX : exponent;
}

static void place_buckets(sh_sum *sum, size_t bucket_bytes)
{
    sh_sum_bucket *bucket = NULL;
    for (uint32_t t = sum->tensors; t-- > 0;) {
        if (bucket == NULL)
            bucket = &sum->buckets[sum->bucket_count++];
        bucket->first_tensor = t;
        bucket->first_element = sum->tensor[t].first_element;
        bucket->tensors++;
        bucket->elements += sum->tensor[t].elements;
        if (bucket->elements * sizeof(int32_t) >= bucket_bytes)
            bucket = NULL;
    }
}

static sh_status place_tensors(sh_sum *sum, const size_t *tensor_elements)
{
    for (uint32_t t = 0; t < sum->tensors; t++) {
        if (tensor_elements[t] == 0)
            return sh_fail(SH_INVALID, "the gradient of tensor %u has no elements", t);
        sum->tensor[t] = (struct tensor){
            .first_element = sum->elements,
            .elements = tensor_elements[t],
            .exponent = SH_SUM_EXPONENT_FIRST,
        };
        if (__builtin_add_overflow(sum->elements, tensor_elements[t], &sum->elements))
            return sh_fail_memory(SIZE_MAX, "the sum of gradients");
    }
    return SH_OK;
}

static sh_status block_new(sh_sum_block *block, const sh_sum *sum)
{
    size_t bytes;
    if (!sh_size_mul(sum->elements, sizeof(int32_t), &bytes))
        return sh_fail_memory(SIZE_MAX, "the sum of gradients");
    void *accumulator;
    SH_TRY(sh_block_new(&accumulator, bytes, "the sum of gradients"));
    uint64_t *trailer = calloc(trailer_words(sum->tensors), sizeof *trailer);
    if (trailer == NULL) {
        free(accumulator);
        return sh_fail_memory(trailer_words(sum->tensors) * sizeof *trailer,
                              "the sum of gradients");
    }
    *block = (sh_sum_block){accumulator, trailer, sum->elements, trailer_words(sum->tensors)};
    return SH_OK;
}

static sh_status allocate(sh_sum *sum)
{
    SH_TRY(block_new(&sum->own, sum));
    sum->total = sum->own;
    sum->buckets = calloc(sum->tensors, sizeof *sum->buckets);
    const size_t chunks = (sum->elements - 1) / CHUNK_ELEMENTS + 1;
    sum->chunk_locks = calloc(chunks, sizeof *sum->chunk_locks);
    if (sum->buckets == NULL || sum->chunk_locks == NULL)
        return sh_fail_memory(chunks * sizeof *sum->chunk_locks, "the sum of gradients");
    while (sum->chunks < chunks)
        pthread_mutex_init(&sum->chunk_locks[sum->chunks++], NULL);
    return SH_OK;
}

sh_status sh_sum_new(sh_sum **sum, const size_t *tensor_elements, uint32_t tensors,
                     size_t bucket_bytes)
{
    if (tensors == 0)
        return sh_fail(SH_INVALID, "a sum of gradients needs at least one tensor");
    sh_sum *fresh = calloc(1, sizeof *fresh + tensors * sizeof fresh->tensor[0]);
    if (fresh == NULL)
        return sh_fail_memory(tensors * sizeof fresh->tensor[0], "the sum of gradients");
    fresh->tensors = tensors;
    fresh->add = sh_sum_kernels[sh_variant_best()];
    pthread_mutex_init(&fresh->trailer_lock, NULL);
    sh_status status;
    SH_TRY_DONE(place_tensors(fresh, tensor_elements));
    SH_TRY_DONE(allocate(fresh));
    place_buckets(fresh, bucket_bytes);
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
    for (size_t c = 0; c < sum->chunks; c++)
        pthread_mutex_destroy(&sum->chunk_locks[c]);
    pthread_mutex_destroy(&sum->trailer_lock);
    free(sum->chunk_locks);
    free(sum->buckets);
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
    memset(sum->own.trailer, 0, trailer_words(sum->tensors) * sizeof *sum->own.trailer);
}

void sh_sum_clear_range(sh_sum *sum, size_t first_element, size_t elements)
{
    memset(sum->own.accumulator + first_element, 0, elements * sizeof *sum->own.accumulator);
}

void sh_sum_begin(sh_sum *sum)
{
    sh_sum_clear_trailer(sum);
    sh_sum_clear_range(sum, 0, sum->elements);
}

/* ceil(|g| * 2^exponent / 2^BOUND_SHIFT), saturated, for the magnitude bits of a finite g. */
static uint64_t bound_of(uint32_t magnitude_bits, int32_t exponent)
{
    const uint32_t field = magnitude_bits >> 23;
    const uint32_t mantissa = (magnitude_bits & 0x7fffff) | (field > 0 ? 0x800000 : 0);
    if (mantissa == 0)
        return 0;
    /* |g| = mantissa * 2^(field - 150), and denormals share field 1 */
    const int32_t shift = (int32_t)(field > 0 ? field : 1) - 150 + exponent - BOUND_SHIFT;
    if (shift <= -24)
        return 1;
    if (shift < 0)
        return (mantissa + ((uint32_t)1 << -shift) - 1) >> -shift;
    if (shift > 40 || ((uint64_t)mantissa << shift) > BOUND_SATURATED)
        return BOUND_SATURATED;
    return (uint64_t)mantissa << shift;
}

/* Counts what is not finite, and returns the largest magnitude bits of the rest. */
static uint32_t examine(const float *gradient, size_t elements, uint64_t *not_finite)
{
    uint32_t top = 0;
    for (size_t i = 0; i < elements; i++) {
        uint32_t bits;
        memcpy(&bits, &gradient[i], sizeof bits);
        bits &= 0x7fffffff;
        if (bits >= SH_SUM_INFINITY_BITS)
            ++*not_finite;
        else if (bits > top)
            top = bits;
    }
    return top;
}

/* Lanes' gradients lie at different addresses, so each lane enters a tensor at another chunk. */
static size_t entry_of(const float *gradient, size_t pieces)
{
    const uint64_t mixed = (uint64_t)((uintptr_t)gradient >> 6) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(mixed >> 32) % pieces;
}

void sh_sum_add(sh_sum *sum, uint32_t tensor, const float *gradient)
{
    const struct tensor *t = &sum->tensor[tensor];
    const size_t end = t->first_element + t->elements;
    const size_t first_chunk = t->first_element / CHUNK_ELEMENTS;
    const size_t pieces = (end - 1) / CHUNK_ELEMENTS - first_chunk + 1;
    const size_t entry = entry_of(gradient, pieces);
    const float scale = power_of_two(t->exponent);
    uint32_t top = 0;
    for (size_t p = 0; p < pieces; p++) {
        const size_t chunk = first_chunk + (entry + p) % pieces;
        const size_t low = chunk * CHUNK_ELEMENTS, high = low + CHUNK_ELEMENTS;
        const size_t from = low > t->first_element ? low : t->first_element;
        const size_t to = high < end ? high : end;
        pthread_mutex_lock(&sum->chunk_locks[chunk]);
        const uint32_t piece_top = sum->add(sum->own.accumulator + from,
                                            gradient + (from - t->first_element), scale, to - from);
        pthread_mutex_unlock(&sum->chunk_locks[chunk]);
        top = piece_top > top ? piece_top : top;
    }
    uint64_t not_finite = 0;
    if (top >= SH_SUM_INFINITY_BITS)
        top = examine(gradient, t->elements, &not_finite);
    uint64_t *words = tensor_words(sum->own.trailer, tensor);
    pthread_mutex_lock(&sum->trailer_lock);
    words[WORD_BOUND] += bound_of(top, t->exponent);
    words[WORD_NOT_FINITE] += not_finite;
    pthread_mutex_unlock(&sum->trailer_lock);
}

void sh_sum_add_loss(sh_sum *sum, const float *loss, uint32_t count, uint32_t correct)
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
    sum->own.trailer[WORD_CORRECT] += correct;
    sum->own.trailer[WORD_LOSS_NOT_FINITE] += not_finite;
    pthread_mutex_unlock(&sum->trailer_lock);
}

void sh_sum_set_note(sh_sum *sum, const sh_sum_note *note)
{
    sum->own.trailer[WORD_STOPS] = note->stop;
    sum->own.trailer[WORD_NEXT_VIEW] = note->next_view;
    sum->own.trailer[WORD_CHECK] = note->check;
}

sh_sum_block sh_sum_own(const sh_sum *sum)
{
    return sum->own;
}

sh_sum_block sh_sum_total(const sh_sum *sum)
{
    return sum->total;
}

const sh_sum_bucket *sh_sum_buckets(const sh_sum *sum, uint32_t *count)
{
    *count = sum->bucket_count;
    return sum->buckets;
}

size_t sh_sum_first_element(const sh_sum *sum, uint32_t tensor)
{
    return sum->tensor[tensor].first_element;
}

size_t sh_sum_elements(const sh_sum *sum, uint32_t tensor)
{
    return sum->tensor[tensor].elements;
}

sh_sum_totals sh_sum_read_totals(const sh_sum *sum)
{
    const uint64_t *words = sum->total.trailer;
    return (sh_sum_totals){
        .loss =
            words[WORD_LOSS_NOT_FINITE] > 0 ? NAN : (double)(int64_t)words[WORD_LOSS] * LOSS_UNIT,
        .samples = words[WORD_SAMPLES],
        .correct = words[WORD_CORRECT],
        .stops = words[WORD_STOPS],
        .next_view = (uint32_t)words[WORD_NEXT_VIEW],
        .check = words[WORD_CHECK],
    };
}

static bool is_finite(const sh_sum *sum, uint32_t *tensor)
{
    for (uint32_t t = sum->tensors; t-- > 0;) {
        const uint64_t *words = tensor_words(sum->total.trailer, t);
        const bool fits_no_float =
            words[WORD_BOUND] >= BOUND_LIMIT && sum->tensor[t].exponent == SH_SUM_EXPONENT_MIN;
        if (words[WORD_NOT_FINITE] > 0 || fits_no_float) {
            *tensor = t;
            return false;
        }
    }
    *tensor = SH_SUM_LOSS;
    return sum->total.trailer[WORD_LOSS_NOT_FINITE] == 0;
}

/* The exponent that a tensor's bound asks for; the present one where it is good. */
static int32_t wanted_exponent(const struct tensor *tensor, uint64_t bound)
{
    if (bound == 0)
        return tensor->exponent;
    const int32_t bits = bit_length(bound);
    const bool unused = tensor->envelope == 0 && bits <= BOUND_COARSE_BITS;
    if (bound < BOUND_LIMIT && !unused)
        return tensor->exponent;
    return clamp_exponent(tensor->exponent + BOUND_REDO_BITS - bits);
}

sh_verdict sh_sum_verdict(sh_sum *sum, uint32_t *tensor)
{
    uint32_t culprit;
    if (!is_finite(sum, &culprit)) {
        *tensor = culprit;
        return SH_VERDICT_NOT_FINITE;
    }
    sh_verdict verdict = SH_VERDICT_APPLY;
    bool calibrating = true;
    for (uint32_t t = 0; t < sum->tensors; t++) {
        struct tensor *each = &sum->tensor[t];
        const uint64_t bound = tensor_words(sum->total.trailer, t)[WORD_BOUND];
        const int32_t wanted = wanted_exponent(each, bound);
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
    const int32_t *integers = sum->total.accumulator + t->first_element;
    const float scale = sh_sum_scale(sum, tensor);
    uint32_t top = *max_abs;
    for (size_t i = 0; i < t->elements; i++) {
        const uint32_t magnitude =
            integers[i] < 0 ? 0u - (uint32_t)integers[i] : (uint32_t)integers[i];
        top = magnitude > top ? magnitude : top;
        value[i] = (float)integers[i] * scale;
    }
    *max_abs = top;
}

void sh_sum_follow(sh_sum *sum, uint32_t tensor, uint32_t max_abs)
{
    struct tensor *t = &sum->tensor[tensor];
    const uint64_t bound = tensor_words(sum->total.trailer, tensor)[WORD_BOUND] << BOUND_SHIFT;
    if (bound == 0)
        return;
    const float unit = power_of_two(-t->exponent);
    const float of_bound = (float)bound * unit * ENVELOPE_OF_BOUND;
    /* Beyond its bound only in damaged memory; the weights' hash tells, and this stays finite. */
    const float of_sum = (float)(max_abs < bound ? max_abs : (uint32_t)bound) * unit;
    float envelope = t->envelope * ENVELOPE_FALL;
    envelope = of_bound > envelope ? of_bound : envelope;
    envelope = of_sum > envelope ? of_sum : envelope;
    t->envelope = envelope;
    t->exponent = clamp_exponent(ENVELOPE_BITS - exponent_above(envelope));
}

void sh_sum_state_get(const sh_sum *sum, float *envelopes, int32_t *exponents)
{
    for (uint32_t t = 0; t < sum->tensors; t++) {
        envelopes[t] = sum->tensor[t].envelope;
        exponents[t] = sum->tensor[t].exponent;
    }
}

sh_status sh_sum_state_set(sh_sum *sum, const float *envelopes, const int32_t *exponents)
{
    for (uint32_t t = 0; t < sum->tensors; t++) {
        if (envelopes[t] != 0 && !(isnormal(envelopes[t]) && envelopes[t] > 0))
            return sh_fail(SH_CORRUPT, "exact sum, tensor %u: the envelope %g is no maximum", t,
                           (double)envelopes[t]);
        if (exponents[t] != clamp_exponent(exponents[t]))
            return sh_fail(SH_CORRUPT, "exact sum, tensor %u: the exponent %d is outside %d to %d",
                           t, (int)exponents[t], SH_SUM_EXPONENT_MIN, SH_SUM_EXPONENT_MAX);
    }
    for (uint32_t t = 0; t < sum->tensors; t++) {
        sum->tensor[t].envelope = envelopes[t];
        sum->tensor[t].exponent = exponents[t];
    }
    return SH_OK;
}

void sh_sum_spoil(sh_sum *sum)
{
    sum->add = sh_sum_kernel_lossy;
}
