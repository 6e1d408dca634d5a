/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout (graph/op_dropout.c). The random word of element i of a sample, counted in plain order,
 * is a word of Philox4x32-10 (base/random.h) under the sample's keys with the counter (block,
 * layer, 0, 0). Sixteen blocks make 64 words, and word w of the b-th of them belongs to element
 * 16 w + b of these 64: so each round of the cipher is a plain loop over arrays, which becomes
 * vector code, and its results lie in the order in which they are used. The tests hold it against
 * sh_philox.
 */
#include <stdint.h>

#include "backend/portable/portable.h"
#include "base/variant.h"

#define BLOCKS 16
#define WORDS (4 * BLOCKS)
#define ROUNDS 10

/* Constants of Philox4x32 (Salmon et al. 2011, as in base/random.c). */
#define M0 0xD2511F53u
#define M1 0xCD9E8D57u
#define W0 0x9E3779B9u
#define W1 0xBB67AE85u

typedef struct drawing {
    uint32_t key[2], layer;
    uint32_t threshold; /* elements whose word is below it are dropped */
    float scale;
} drawing;

static inline SH_INLINE void draw(const drawing *d, uint32_t first_block, uint32_t words[WORDS])
{
    uint32_t *restrict c0 = words, *restrict c1 = words + BLOCKS, *restrict c2 = words + 2 * BLOCKS,
                       *restrict c3 = words + 3 * BLOCKS;
    uint32_t k0 = d->key[0], k1 = d->key[1];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        c0[b] = first_block + b;
        c1[b] = d->layer;
        c2[b] = c3[b] = 0;
    }
    for (int round = 0; round < ROUNDS; round++, k0 += W0, k1 += W1)
        for (uint32_t b = 0; b < BLOCKS; b++) {
            const uint64_t p0 = (uint64_t)M0 * c0[b], p1 = (uint64_t)M1 * c2[b];
            c0[b] = (uint32_t)(p1 >> 32) ^ c1[b] ^ k0;
            c2[b] = (uint32_t)(p0 >> 32) ^ c3[b] ^ k1;
            c1[b] = (uint32_t)p1;
            c3[b] = (uint32_t)p0;
        }
}

static inline SH_INLINE void drop_body(const drawing *d, const float *x, float *y, size_t count)
{
    uint32_t words[WORDS], block = 0;
    for (size_t done = 0; done < count; done += WORDS, block += BLOCKS) {
        const size_t part = count - done < WORDS ? count - done : WORDS;
        draw(d, block, words);
        SH_EACH_ELEMENT (i, part) {
            const float kept = x[done + i] * d->scale; /* always: a choice instead of a branch */
            y[done + i] = words[i] < d->threshold ? 0.0f : kept;
        }
    }
}

typedef void drop_fn(const drawing *d, const float *x, float *y, size_t count);

#define DROP(name, target)                                                                         \
    static target void drop_##name(const drawing *d, const float *x, float *y, size_t count)       \
    {                                                                                              \
        drop_body(d, x, y, count);                                                                 \
    }
SH_VARIANT_MAP(DROP)
static drop_fn *const drops[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(drop)};

static void dropout(const sh_portable_call *call)
{
    const size_t samples = call->in_type[0].shape.dim[0];
    const size_t count = sh_shape_count(&call->in_type[0].shape) / samples;
    const uint32_t *keys = call->in[1];
    const float *x = call->in[0], p = call->attributes->number;
    float *y = call->out[0];
    drop_fn *const drop = drops[sh_variant_best()];
    drawing d = {
        .layer = call->attributes->layer,
        .threshold = (uint32_t)((double)p * 0x1p32), /* p < 1 has 24 bits: exact, and it fits */
        .scale = 1.0f / (1.0f - p),
    };
    for (size_t n = 0; n < samples; n++, x += count, y += count) {
        d.key[0] = keys[2 * n];
        d.key[1] = keys[2 * n + 1];
        drop(&d, x, y, count);
    }
}

const sh_portable_def sh_portable_dropout = {.run = dropout};
