/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout of one sample (graph/op_dropout.c), for all instruction sets.
 *
 * The element of channel c of C at position q has the number i = q C + c = 64 j + 16 w + b. Its
 * random word is word w (0 .. 3) of Philox4x32-10 (base/random.h) with the sample's keys and the
 * counter (16 j + b, layer, 0, 0). The element is dropped if the word is below floor(p 2^32).
 *
 *     const sh_dropout drop = sh_dropout_of(&node->attributes);
 *     for (size_t n = 0; n < samples; n++)
 *         sh_dropout_sample(variant, &drop, keys + 2 * n, x + n * count, y + n * count, &extent);
 *
 * Threads: any.
 */
#ifndef SHOAL_BACKEND_DROPOUT_MASK_H
#define SHOAL_BACKEND_DROPOUT_MASK_H

#include "base/variant.h"
#include "graph/op.h"

typedef struct sh_dropout {
    uint32_t layer;
    uint32_t threshold;
    float scale; /* factor of the elements that are kept */
} sh_dropout;

typedef struct sh_dropout_extent {
    size_t channels, positions;
    bool channels_last; /* [positions, channels], else [channels, positions] */
} sh_dropout_extent;

sh_dropout sh_dropout_of(const sh_attributes *attributes);

/* For samples of the shape [N, C, ...] or [N]. */
sh_dropout_extent sh_dropout_extent_of(const sh_shape *shape, bool channels_last);

/* Multiplies the dropped elements by +0 and the others by the scale. y may be x. */
void sh_dropout_sample(sh_variant variant, const sh_dropout *drop, const uint32_t key[2],
                       const float *x, float *y, const sh_dropout_extent *extent);

#endif
