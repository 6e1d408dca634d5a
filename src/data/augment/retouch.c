/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/retouch.h"

#include <math.h>

#include "base/real.h"
#include "data/augment/draw.h"
#include "data/augment/tint.h"
#include "data/augment/trivial.h"

#define ATTEMPTS 10 /* to draw a box that fits */

/* x must be small and not negative. */
static uint32_t rounded(double x)
{
    return (uint32_t)(x + 0.5);
}

/* `area` in pixels, `shape`: width / height. */
static sh_box box_of(double area, double shape)
{
    return (sh_box){.height = rounded(sqrt(area / shape)), .width = rounded(sqrt(area * shape))};
}

/* The logarithm is uniform between the bounds. */
static double draw_shape(sh_random *random, double log_least, double log_most)
{
    return sh_real_exp(sh_draw_uniform(random, log_least, log_most));
}

static void place(sh_box *box, sh_random *random, uint32_t height, uint32_t width)
{
    box->top = sh_random_below(random, height - box->height + 1);
    box->left = sh_random_below(random, width - box->width + 1);
}

sh_box sh_retouch_crop(sh_random *random, uint32_t height, uint32_t width, double least)
{
    const double log_shape = 0.28768207245178093; /* log(4/3) */
    const double size = (double)height * (double)width;
    for (int i = 0; i < ATTEMPTS; i++) {
        const double area = size * sh_draw_uniform(random, least, 1);
        sh_box box = box_of(area, draw_shape(random, -log_shape, log_shape));
        if (box.width == 0 || box.width > width || box.height == 0 || box.height > height)
            continue;
        place(&box, random, height, width);
        return box;
    }
    sh_box box = {.height = height, .width = width};
    if (3 * width > 4 * height)
        box.width = (8 * height + 3) / 6; /* 4/3 of the height, rounded */
    else if (4 * width < 3 * height)
        box.height = (8 * width + 3) / 6;
    box.top = (height - box.height) / 2;
    box.left = (width - box.width) / 2;
    return box;
}

bool sh_retouch_erased(sh_box *box, sh_random *random, uint32_t height, uint32_t width)
{
    const double log_least = -1.2039728043259361, log_most = 1.1939224684724346; /* of 0.3, 3.3 */
    const double size = (double)height * (double)width;
    for (int i = 0; i < ATTEMPTS; i++) {
        const double area = size * sh_draw_uniform(random, 0.02, 0.33);
        sh_box fresh = box_of(area, 1 / draw_shape(random, log_least, log_most));
        if (fresh.height == 0 || fresh.height >= height || fresh.width == 0 || fresh.width >= width)
            continue;
        place(&fresh, random, height, width);
        *box = fresh;
        return true;
    }
    return false;
}

static void jitter(sh_picture *picture, sh_random *random, const double range[4])
{
    uint32_t order[4] = {0, 1, 2, 3};
    for (uint32_t i = 4; i > 1; i--) {
        const uint32_t other = sh_random_below(random, i), held = order[i - 1];
        order[i - 1] = order[other];
        order[other] = held;
    }
    int32_t factor[4];
    for (int i = 0; i < 4; i++)
        factor[i] = sh_tint_factor((i < 3 ? 1 : 0) + sh_draw_uniform(random, -range[i], range[i]));
    static void (*const change[4])(sh_picture *, int32_t) = {sh_tint_brightness, sh_tint_contrast,
                                                             sh_tint_saturation, sh_tint_hue};
    for (int i = 0; i < 4; i++)
        if (range[order[i]] > 0)
            change[order[i]](picture, factor[order[i]]);
}

static void turn(sh_picture *picture, sh_random *random, double degrees)
{
    sh_picture_map(picture, sh_affine_turn(sh_draw_uniform(random, -degrees, degrees)));
}

void sh_retouch(sh_picture *picture, const sh_augment *augment, const uint8_t *colour,
                uint64_t seed, uint32_t epoch, uint32_t index)
{
    const uint32_t height = picture->height, width = picture->width;
    sh_random random;
    if (augment->resized_crop > 0) {
        random = sh_augment_random(SH_AUGMENT_RESIZED_CROP, seed, epoch, index);
        sh_picture_enlarge(picture, sh_retouch_crop(&random, height, width, augment->resized_crop));
    }
    if (augment->vflip) {
        random = sh_augment_random(SH_AUGMENT_VFLIP, seed, epoch, index);
        if (sh_random_next(&random) >> 31 != 0)
            sh_picture_turn_over(picture);
    }
    if (augment->rotate > 0) {
        random = sh_augment_random(SH_AUGMENT_ROTATE, seed, epoch, index);
        turn(picture, &random, augment->rotate);
    }
    if (augment->trivial) {
        random = sh_augment_random(SH_AUGMENT_TRIVIAL, seed, epoch, index);
        sh_trivial_apply(picture, sh_trivial_draw(&random));
    }
    if (sh_augment_jitters(augment)) {
        random = sh_augment_random(SH_AUGMENT_JITTER, seed, epoch, index);
        jitter(picture, &random, augment->jitter);
    }
    if (augment->erase > 0) {
        random = sh_augment_random(SH_AUGMENT_ERASE, seed, epoch, index);
        sh_box box;
        if (sh_draw_bernoulli(&random, augment->erase) &&
            sh_retouch_erased(&box, &random, height, width))
            sh_picture_erase(picture, box, colour);
    }
}
