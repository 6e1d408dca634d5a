/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout of one sample (graph/op_dropout.c), for the kernels of all kernels: the same elements
 * are dropped whatever the layout.
 *
 *     const sh_drop drop = sh_drop_of(&node->attributes);
 *     for (size_t n = 0; n < samples; n++)
 *         sh_drop_sample(variant, &drop, keys + 2 * n, x + n * count, y + n * count, &extent);
 *
 * Element (c, p) of a sample, channel c of C at position p, has the number i = p C + c. Its random
 * word is one of Philox4x32-10's (base/random.h) under the sample's keys, with the counter (block,
 * layer, 0, 0): sixteen blocks make 64 words, and word w of the b-th of them belongs to number
 * 16 w + b of these 64. It is dropped where the word is below p 2^32.
 *
 * Threads: any.
 */
#ifndef SHOAL_BACKEND_DROP_H
#define SHOAL_BACKEND_DROP_H

#include "base/variant.h"
#include "graph/op.h"

typedef struct sh_drop {
    uint32_t layer;
    uint32_t threshold;
    float scale; /* of what is kept */
} sh_drop;

/* How a sample lies in memory. */
typedef struct sh_drop_extent {
    size_t channels, positions;
    bool channels_last; /* [positions, channels], else [channels, positions] */
} sh_drop_extent;

/* From the operator's settings. */
sh_drop sh_drop_of(const sh_attributes *attributes);

/* Of samples [N, C, ...] of this shape. */
sh_drop_extent sh_drop_extent_of(const sh_shape *shape, bool channels_last);

/* y = x with elements dropped and the others scaled; y may be x. */
void sh_drop_sample(sh_variant variant, const sh_drop *drop, const uint32_t key[2], const float *x,
                    float *y, const sh_drop_extent *extent);

#endif
