/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixes a training sample, and its target, with another sample of the same epoch. Mixup (H. Zhang
 * et al., ICLR 2018) takes the weighted mean of all values; cutmix (S. Yun et al., ICCV 2019)
 * copies a box from the other sample. The weight is drawn from Beta(A, A). If both are enabled,
 * each mixes half of the samples.
 *
 *     const sh_mix mix = sh_mixing_draw(&augment, shape, count, seed, epoch, index);
 *     sh_mixing_apply(&mix, values, other, shape); // other: sample mix.partner
 *     loss = mix.weight * loss_of(target) + (1 - mix.weight) * loss_of(other_target);
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_AUGMENT_MIXING_H
#define SHOAL_DATA_AUGMENT_MIXING_H

#include "data/augment.h"
#include "data/augment/picture.h"

/* The shape of a network's input, [C][H][W]. */
typedef struct sh_mix_shape {
    uint32_t channels, height, width;
} sh_mix_shape;

typedef struct sh_mix {
    uint32_t partner; /* index of the other sample; the sample's own if `count` is 1 */
    float weight;     /* of the sample's own target, 0 to 1; the other's is 1 - weight */
    bool cuts;        /* cutmix: copies `box`, which may be empty, from the other sample */
    sh_box box;
} sh_mix;

/* Draws the mixture of sample `index` of `count`. Requires mixup or cutmix. */
sh_mix sh_mixing_draw(const sh_augment *augment, sh_mix_shape shape, uint32_t count, uint64_t seed,
                      uint32_t epoch, uint32_t index);

/* Mixes `other` into `values`. */
void sh_mixing_apply(const sh_mix *mix, float *values, const float *other, sh_mix_shape shape);

#endif
