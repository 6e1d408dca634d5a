/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/mixing.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "data/augment/draw.h"

/* Clips a range of `size` around `middle` to 0 .. whole - 1. Returns its length. */
static uint32_t cut(uint32_t *first, uint32_t middle, uint32_t size, uint32_t whole)
{
    const uint32_t half = size / 2;
    const uint32_t from = middle > half ? middle - half : 0;
    const uint32_t to = middle + (size - half);
    *first = from;
    return (to < whole ? to : whole) - from;
}

/* A box of about `part` of the area (of a series: of the length), clipped at the edges. */
static sh_box draw_box(sh_random *random, double part, sh_mix_shape shape)
{
    const double side = shape.height == 1 || shape.width == 1 ? part : sqrt(part);
    const uint32_t height = shape.height == 1 ? 1 : (uint32_t)(side * shape.height);
    const uint32_t width = shape.width == 1 ? 1 : (uint32_t)(side * shape.width);
    const uint32_t y = sh_random_below(random, shape.height);
    const uint32_t x = sh_random_below(random, shape.width);
    sh_box box;
    box.height = cut(&box.top, y, height, shape.height);
    box.width = cut(&box.left, x, width, shape.width);
    return box;
}

sh_mix sh_mixing_draw(const sh_augment *augment, sh_mix_shape shape, uint32_t count, uint64_t seed,
                      uint32_t epoch, uint32_t index)
{
    sh_mix mix = {.partner = index};
    assert(sh_augment_mixes(augment) && index < count);
    sh_random random = sh_augment_random(SH_AUGMENT_MIXING, seed, epoch, index);
    if (count > 1) { /* any other sample */
        const uint32_t other = sh_random_below(&random, count - 1);
        mix.partner = other < index ? other : other + 1;
    }
    const bool second = sh_random_next(&random) >> 31 != 0;
    mix.cuts = augment->cutmix > 0 && (second || !(augment->mixup > 0));
    const double weight = sh_draw_beta(&random, mix.cuts ? augment->cutmix : augment->mixup);
    mix.weight = (float)weight;
    if (mix.cuts) {
        mix.box = draw_box(&random, 1 - weight, shape);
        const double area = (double)mix.box.height * (double)mix.box.width;
        mix.weight = (float)(1 - area / ((double)shape.height * (double)shape.width));
    }
    return mix;
}

void sh_mixing_apply(const sh_mix *mix, float *values, const float *other, sh_mix_shape shape)
{
    const size_t rows = (size_t)shape.channels * shape.height;
    if (!mix->cuts) {
        const float weight = mix->weight, rest = 1 - weight;
        for (size_t i = 0; i < rows * shape.width; i++)
            values[i] = weight * values[i] + rest * other[i];
        return;
    }
    for (size_t row = 0; row < rows; row++) {
        const uint32_t y = (uint32_t)(row % shape.height);
        const size_t first = row * shape.width + mix->box.left;
        if (y >= mix->box.top && y - mix->box.top < mix->box.height)
            memcpy(values + first, other + first, mix->box.width * sizeof *values);
    }
}
