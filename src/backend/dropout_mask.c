/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computes 16 blocks of the cipher at once, which vectorises: 1 ns per element; single words with a
 * branch took 5. Element numbers count channels fastest, as memory does between convolutions; with
 * positions fastest in memory it takes four times as long.
 */
#include "backend/dropout_mask.h"

#include <string.h>

#define BLOCKS 16
#define WORDS (4 * BLOCKS)
#define ROUNDS 10

/* Constants of Philox4x32 (Salmon et al. 2011, as in base/random.c). */
#define M0 0xD2511F53u
#define M1 0xCD9E8D57u
#define W0 0x9E3779B9u
#define W1 0xBB67AE85u

static inline SH_INLINE void draw(const sh_dropout *drop, const uint32_t key[2],
                                  uint32_t first_block, uint32_t words[WORDS])
{
    uint32_t *restrict w0 = words, *restrict w1 = words + BLOCKS, *restrict w2 = words + 2 * BLOCKS,
                       *restrict w3 = words + 3 * BLOCKS;
    const uint32_t layer = drop->layer, key0 = key[0], key1 = key[1];
    for (uint32_t b = 0; b < BLOCKS; b++) {
        uint32_t c0 = first_block + b, c1 = layer, c2 = 0, c3 = 0, k0 = key0, k1 = key1;
        for (int round = 0; round < ROUNDS; round++, k0 += W0, k1 += W1) {
            const uint64_t p0 = (uint64_t)M0 * c0, p1 = (uint64_t)M1 * c2;
            c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
            c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
            c1 = (uint32_t)p1;
            c3 = (uint32_t)p0;
        }
        w0[b] = c0;
        w1[b] = c1;
        w2[b] = c2;
        w3[b] = c3;
    }
}

/*
 * The factors of 64 elements from number 4 * first_block on. Branches on random words would be
 * mispredicted.
 */
static inline SH_INLINE void draw_factors(const sh_dropout *drop, const uint32_t key[2],
                                          uint32_t first_block, float factors[WORDS])
{
    uint32_t words[WORDS], scale;
    const uint32_t threshold = drop->threshold;
    memcpy(&scale, &drop->scale, sizeof scale);
    draw(drop, key, first_block, words);
    for (size_t i = 0; i < WORDS; i++)
        words[i] = scale & (0u - (uint32_t)(words[i] >= threshold));
    memcpy(factors, words, sizeof words);
}

static inline SH_INLINE void drop_row(const sh_dropout *drop, const uint32_t key[2], const float *x,
                                      float *y, size_t count)
{
    float product[WORDS];
    uint32_t block = 0;
    for (size_t done = 0; done < count; done += WORDS, block += BLOCKS) {
        const size_t part = count - done < WORDS ? count - done : WORDS;
        draw_factors(drop, key, block, product);
        for (size_t i = 0; i < part; i++)
            product[i] *= x[done + i];
        memcpy(y + done, product, part * sizeof *y);
    }
}

static inline SH_INLINE void drop_planes(const sh_dropout *drop, const uint32_t key[2],
                                         const float *x, float *y, const sh_dropout_extent *extent)
{
    float factors[WORDS];
    uint32_t block = 0;
    size_t used = WORDS;
    for (size_t p = 0; p < extent->positions; p++)
        for (size_t c = 0; c < extent->channels; c++, used++) {
            if (used == WORDS) {
                draw_factors(drop, key, block, factors);
                block += BLOCKS;
                used = 0;
            }
            y[c * extent->positions + p] = x[c * extent->positions + p] * factors[used];
        }
}

static inline SH_INLINE void drop_body(const sh_dropout *drop, const uint32_t key[2],
                                       const float *x, float *y, const sh_dropout_extent *extent)
{
    if (extent->channels_last || extent->positions == 1 || extent->channels == 1)
        drop_row(drop, key, x, y, extent->channels * extent->positions);
    else
        drop_planes(drop, key, x, y, extent);
}

SH_VARIANTS(drop,
            (const sh_dropout *drop, const uint32_t key[2], const float *x, float *y,
             const sh_dropout_extent *extent),
            (drop, key, x, y, extent));

sh_dropout sh_dropout_of(const sh_attributes *attributes)
{
    const float p = attributes->number;
    return (sh_dropout){
        .layer = attributes->layer,
        .threshold = (uint32_t)((double)p * 0x1p32), /* p < 1 has 24 bits: it fits */
        .scale = 1.0f / (1.0f - p),
    };
}

sh_dropout_extent sh_dropout_extent_of(const sh_shape *shape, bool channels_last)
{
    const size_t channels = shape->rank > 1 ? shape->dim[1] : 1;
    return (sh_dropout_extent){channels, sh_shape_count(shape) / (shape->dim[0] * channels),
                               channels_last};
}

void sh_dropout_sample(sh_variant variant, const sh_dropout *drop, const uint32_t key[2],
                       const float *x, float *y, const sh_dropout_extent *extent)
{
    drop_variants[variant](drop, key, x, y, extent);
}
