/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record of a grain consists of 32-bit words: the grain, then the rows of each layer:
 *
 *     | grain | x of a layer [N, K] | dy of it [N, O] | x of the next | ...
 *
 * `own` has the records of the grains in the own part of the sum, in any order; `others` the
 * gathered ones. Both have room for a full batch.
 */
#include "train/factors.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* Multiplications in the time of one byte on a slow network: a fifth of a core computes 2 to 6 per
 * nanosecond, sums included, and a byte takes 80 ns at 100 Mbit/s. */
#define PRODUCTS_A_BYTE 64

typedef struct layer {
    uint32_t place, tensor;
    size_t O, K;
    size_t row; /* offset in a sample's words */
} layer;

struct sh_factors {
    layer *layers;
    uint32_t count;
    size_t row;    /* words per sample */
    size_t words;  /* of each block */
    uint32_t *own; /* NULL before sh_factors_share, as the next three */
    uint32_t *others;
    size_t *records;    /* where the records of `others` begin */
    uint8_t *seen;      /* by grain: whether its record was read */
    size_t read;        /* words of `others` that were read */
    uint32_t found;     /* records in these words */
    atomic_size_t used; /* words of `own` in use */
    uint32_t grains;
};

bool sh_factors_are_faster(size_t O, size_t K, uint32_t samples, uint32_t wire)
{
    const double summed = 2.0 * (double)O * (double)K * wire / 8;
    const double gathered = (double)samples * (double)(O + K) * sizeof(float);
    const double products = (double)samples * (double)O * (double)K;
    return products < PRODUCTS_A_BYTE * (summed - gathered);
}

sh_status sh_factors_new(sh_factors **factors, const sh_replica *replica, uint32_t samples,
                         uint32_t grain)
{
    const sh_sum_layout *layout = sh_sum_layout_of(replica->sum);
    sh_factors *fresh = calloc(1, sizeof *fresh);
    layer *layers = calloc(layout->bucket_count, sizeof *layers);
    if (fresh == NULL || layers == NULL) {
        free(fresh);
        free(layers);
        return sh_fail_memory(layout->bucket_count * sizeof *layers, "the factors of gradients");
    }
    fresh->layers = layers;
    for (uint32_t i = 0; i < layout->bucket_count; i++) {
        const uint32_t place = layout->buckets[i].first_tensor, tensor = replica->tensor_of[place];
        const sh_shape *shape = &sh_replica_tensor_type(replica, tensor)->shape;
        const size_t O = shape->dim[0], K = shape->dim[1];
        if (replica->graph->parameters[tensor].role != SH_ROLE_TRAINED || shape->rank != 2 ||
            !sh_factors_are_faster(O, K, samples,
                                   sh_sum_layout_of(replica->sum)->places[place].form->wire))
            continue;
        layers[fresh->count++] =
            (layer){.place = place, .tensor = tensor, .O = O, .K = K, .row = fresh->row};
        fresh->row += O + K;
    }
    fresh->grains = sh_batch_of_all(samples, grain).grains;
    fresh->words = samples * fresh->row + fresh->grains;
    if (fresh->count == 0 || layout->bucket_count + 2 > SH_ENGINE_MAX_SPANS) {
        sh_factors_free(fresh);
        fresh = NULL;
    }
    *factors = fresh;
    return SH_OK;
}

void sh_factors_free(sh_factors *factors)
{
    if (factors == NULL)
        return;
    free(factors->layers);
    free(factors->own);
    free(factors->others);
    free(factors->records);
    free(factors->seen);
    free(factors);
}

uint64_t sh_factors_bytes(const sh_factors *factors)
{
    return factors == NULL ? 0
                           : 2 * factors->words * sizeof *factors->own +
                                 factors->grains * (sizeof *factors->records + 1);
}

uint64_t sh_factors_record_bytes(const sh_factors *factors)
{
    return factors->words * sizeof *factors->own;
}

sh_status sh_factors_share(sh_factors *factors)
{
    if (factors == NULL || factors->own != NULL)
        return SH_OK;
    const size_t bytes = factors->words * sizeof *factors->own;
    void *own = NULL, *others = NULL;
    sh_status status;
    factors->records = calloc(factors->grains, sizeof *factors->records);
    factors->seen = calloc(factors->grains, sizeof *factors->seen);
    if (factors->records == NULL || factors->seen == NULL)
        SH_TRY_DONE(sh_fail_memory(factors->grains, "the factors of gradients"));
    SH_TRY_DONE(sh_block_new(&own, bytes, "the factors of gradients"));
    SH_TRY_DONE(sh_block_new(&others, bytes, "the factors of gradients"));
    factors->own = own;
    factors->others = others;
    return SH_OK;
done:
    free(own);
    free(factors->records);
    free(factors->seen);
    factors->records = NULL;
    factors->seen = NULL;
    return status;
}

bool sh_factors_fit(const sh_factors *factors, const sh_execution *execution, uint32_t samples)
{
    sh_product product;
    for (uint32_t i = 0; i < factors->count; i++) {
        const layer *of = &factors->layers[i];
        if (!sh_execution_product(execution, of->tensor, &product) ||
            product.x_bytes != samples * of->K * sizeof(float) ||
            product.dy_bytes != samples * of->O * sizeof(float))
            return false;
    }
    return true;
}

static const layer *find(const sh_factors *factors, uint32_t place)
{
    for (uint32_t i = 0; factors != NULL && i < factors->count; i++)
        if (factors->layers[i].place == place)
            return &factors->layers[i];
    return NULL;
}

bool sh_factors_has(const sh_factors *factors, uint32_t place)
{
    return find(factors, place) != NULL;
}

uint32_t sh_factors_count(const sh_factors *factors)
{
    return factors->count;
}

void sh_factors_clear(sh_factors *factors)
{
    atomic_store(&factors->used, 0);
}

static size_t record_words(const sh_factors *factors, uint32_t samples)
{
    return 1 + samples * factors->row;
}

size_t sh_factors_open(sh_factors *factors, uint32_t grain, uint32_t samples)
{
    const size_t words = record_words(factors, samples);
    const size_t record = atomic_fetch_add(&factors->used, words);
    assert(record + words <= factors->words);
    factors->own[record] = grain;
    return record;
}

void sh_factors_take(sh_factors *factors, size_t record, uint32_t samples, uint32_t place,
                     const sh_execution *execution)
{
    sh_product product;
    const layer *of = find(factors, place);
    if (of == NULL || !sh_execution_product(execution, of->tensor, &product))
        return;
    uint32_t *to = factors->own + record + 1 + samples * of->row;
    memcpy(to, product.x, product.x_bytes);
    memcpy(to + samples * of->K, product.dy, product.dy_bytes);
}

sh_span sh_factors_begin(sh_factors *factors, const sh_batch *batch, const sh_ranges *todo)
{
    factors->read = 0;
    factors->found = 0;
    memset(factors->seen, 0, factors->grains);
    size_t own = atomic_load(&factors->used);
    const size_t all = batch->grains + batch->samples.count * factors->row;
    for (uint32_t i = 0, total = sh_ranges_total(todo); i < total; i++)
        own += record_words(factors, sh_batch_grain(batch, sh_ranges_at(todo, i)).count);
    assert(own <= all && all <= factors->words);
    return (sh_span){.own = factors->own,
                     .total = factors->others,
                     .count = own,
                     .word = SH_WORD_I32,
                     .gathered = true,
                     .room = all - own};
}

sh_status sh_factors_read(sh_factors *factors, const sh_batch *batch, const sh_ranges *held,
                          size_t words, uint32_t *count)
{
    while (factors->read < words) {
        const uint32_t grain = factors->others[factors->read];
        const bool missing = grain < batch->grains && !factors->seen[grain] &&
                             !sh_ranges_intersect(held, (sh_range){grain, 1});
        const size_t left = words - factors->read;
        if (!missing || record_words(factors, sh_batch_grain(batch, grain).count) > left)
            return sh_fail(SH_FORMAT, "the factors of grain %u were not expected", grain);
        factors->seen[grain] = 1;
        factors->records[factors->found++] = factors->read;
        factors->read += record_words(factors, sh_batch_grain(batch, grain).count);
    }
    *count = factors->found;
    return SH_OK;
}

uint32_t sh_factors_samples(const sh_factors *factors, const sh_batch *batch, uint32_t index)
{
    return sh_batch_grain(batch, factors->others[factors->records[index]]).count;
}

typedef struct completion {
    sh_sum *sum;
    uint32_t place, grain;
} completion;

static void complete_part(void *context, uint32_t tensor, const sh_gradient *part)
{
    const completion *to = context;
    (void)tensor;
    sh_sum_complete(to->sum, to->place, to->grain, part);
}

sh_status sh_factors_complete(const sh_factors *factors, uint32_t index, sh_sum *sum,
                              sh_execution *execution)
{
    const uint32_t *record = factors->others + factors->records[index];
    const uint32_t *rows = record + 1;
    for (uint32_t i = 0; i < factors->count; i++) {
        const layer *of = &factors->layers[i];
        completion to = {.sum = sum, .place = of->place, .grain = record[0]};
        sh_product product;
        if (!sh_execution_product(execution, of->tensor, &product))
            return sh_fail(SH_INTERNAL, "a program without the product of a dense layer");
        memcpy(product.x, rows, product.x_bytes);
        rows += product.x_bytes / sizeof *rows;
        memcpy(product.dy, rows, product.dy_bytes);
        rows += product.dy_bytes / sizeof *rows;
        SH_TRY(sh_execution_multiply(execution, of->tensor, complete_part, &to));
    }
    return SH_OK;
}
