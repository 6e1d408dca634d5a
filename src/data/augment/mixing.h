/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mixes a training sample with another of the same epoch, and so their targets: mixup (H. Zhang et
 * al., ICLR 2018) takes a weighted mean of all values, cutmix (S. Yun et al., ICCV 2019) cuts a box
 * out of the other. The weight is from Beta(A, A); of both, each is chosen for half of the samples.
 *
 *     const sh_mix mix = sh_mixing_draw(&augment, shape, count, seed, epoch, index);
 *     sh_mixing_apply(&mix, values, other, shape); // other: sample mix.partner
 *     loss = mix.weight * loss_of(target) + (1 - mix.weight) * loss_of(other_target);
 *
 * Threads: any; values.
 */
#ifndef SHOAL_DATA_AUGMENT_MIXING_H
#define SHOAL_DATA_AUGMENT_MIXING_H

#include "data/augment.h"
#include "data/augment/picture.h"

/* Of what a network is given: [C][H][W]. */
typedef struct sh_mix_shape {
    uint32_t channels, height, width;
} sh_mix_shape;

typedef struct sh_mix {
    uint32_t partner; /* index of the other sample; the sample's own where there is only one */
    float weight;     /* of the sample's own target, 0 to 1; the other's is the rest */
    bool cuts;        /* cutmix: the box comes from the other, which may be empty */
    sh_box box;
} sh_mix;

/* How sample `index` of `count` is mixed in an epoch. The augmentation has mixup or cutmix. */
sh_mix sh_mixing_draw(const sh_augment *augment, sh_mix_shape shape, uint32_t count, uint64_t seed,
                      uint32_t epoch, uint32_t index);

/* `values` become the mixture of themselves and `other`. */
void sh_mixing_apply(const sh_mix *mix, float *values, const float *other, sh_mix_shape shape);

#endif
