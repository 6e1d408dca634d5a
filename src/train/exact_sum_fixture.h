/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the exact sum: tensors, and gradients that nearly cancel. */
#ifndef SHOAL_TRAIN_EXACT_SUM_FIXTURE_H
#define SHOAL_TRAIN_EXACT_SUM_FIXTURE_H

#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"
#include "train/exact_sum.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* Tensors shorter than, equal to and across the accumulator's chunks of 16384. */
static const size_t layout[] = {1, 5, 16384, 20000, 33, 40000};
#define TENSORS ((uint32_t)COUNT(layout))
#define ELEMENTS ((size_t)(1 + 5 + 16384 + 20000 + 33 + 40000))

static inline float symmetric(sh_random *random)
{
    const float magnitude = sh_random_unit(random);
    return sh_random_next(random) & 1 ? -magnitude : magnitude;
}

/* With the first exponent, 40, terms reach 2^31 and partial sums wrap. */
static inline void make_grain(float *gradient, uint32_t grain)
{
    sh_random random = sh_random_for(2, SH_RANDOM_TEST, grain / 2, 0);
    for (size_t i = 0; i < ELEMENTS; i++) {
        const float large = symmetric(&random) * 0x1p-9f;
        sh_random tail = sh_random_for(3, SH_RANDOM_TEST, grain, (uint32_t)i);
        const float small = i % 64 == 0 ? symmetric(&tail) * 0x1p-20f : 0;
        gradient[i] = grain % 2 == 0 ? large : -large + small; /* pairs nearly cancel */
    }
}

static inline void clear(sh_sum *sum)
{
    sh_sum_clear_trailer(sum);
    sh_sum_clear_range(sum, 0, sh_sum_own(sum).elements);
}

static inline void shuffle(uint32_t *items, uint32_t count, sh_random *random)
{
    for (uint32_t i = count; i > 1; i--) {
        const uint32_t j = sh_random_below(random, i);
        const uint32_t item = items[j];
        items[j] = items[i - 1];
        items[i - 1] = item;
    }
}

enum { GRAINS = 12 };

static inline float *make_grains(void)
{
    float *grains = malloc(GRAINS * ELEMENTS * sizeof *grains);
    assert_non_null(grains);
    for (uint32_t g = 0; g < GRAINS; g++)
        make_grain(grains + g * ELEMENTS, g);
    return grains;
}

#endif
