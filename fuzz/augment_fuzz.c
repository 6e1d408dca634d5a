/* SPDX-License-Identifier: Apache-2.0 */
/* Feeds arbitrary text to the parser of augmentations, and applies accepted ones to a small picture
 * and a small series. */
#include <stdlib.h>
#include <string.h>

#include "data/augment.h"
#include "data/augment/distort.h"
#include "data/augment/mixing.h"
#include "data/augment/retouch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void change(const sh_augment *augment, uint32_t index)
{
    enum { CHANNELS = 3, HEIGHT = 7, WIDTH = 11, COUNT = CHANNELS * HEIGHT * WIDTH };
    static const uint8_t colour[CHANNELS] = {1, 2, 3};
    uint8_t bytes[COUNT], spare[COUNT];
    float values[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        values[i] = bytes[i] = (uint8_t)(i * (index + 1));
    sh_picture picture = {bytes, spare, CHANNELS, HEIGHT, WIDTH};
    sh_retouch(&picture, augment, colour, 1, 0, index);
    if (sh_distort_check(augment, "fuzz", HEIGHT, WIDTH) == SH_OK)
        sh_distort(&(sh_recording){values, CHANNELS, HEIGHT, WIDTH}, augment, 1, 0, index);
    if (sh_augment_mixes(augment)) {
        const sh_mix_shape shape = {CHANNELS, HEIGHT, WIDTH};
        const sh_mix mix = sh_mixing_draw(augment, shape, index + 1, 1, 0, index);
        if (!(mix.weight >= 0 && mix.weight <= 1) || mix.partner > index)
            abort();
        const float other[COUNT] = {0};
        sh_mixing_apply(&mix, values, other, shape);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *list = malloc(size + 1);
    if (list == NULL)
        abort();
    if (size > 0)
        memcpy(list, data, size);
    list[size] = '\0';
    sh_augment augment;
    if (sh_augment_parse(&augment, list) == SH_OK) {
        const int32_t most = (int32_t)augment.crop;
        const sh_view view = sh_augment_draw(&augment, size, 0, (uint32_t)size);
        if (most > SH_AUGMENT_CROP_MOST || abs(view.left) > most || abs(view.top) > most ||
            (view.mirrored && !augment.flip) || !(augment.resized_crop >= 0) ||
            !(augment.resized_crop <= 1))
            abort();
        change(&augment, (uint32_t)size);
    }
    free(list);
    return 0;
}
