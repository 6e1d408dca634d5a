/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/trivial.h"

#include "data/augment/tint.h"

sh_trivial_change sh_trivial_draw(sh_random *random)
{
    sh_trivial_change change;
    change.kind = (sh_trivial_kind)sh_random_below(random, SH_TRIVIAL_KINDS);
    change.bin = sh_random_below(random, SH_TRIVIAL_BINS);
    change.negative = sh_random_next(random) >> 31 != 0;
    return change;
}

/* Shears about the corner, not the centre: the new (x, y) is the old (x + shear y, y). */
static sh_affine shear_x(const sh_picture *picture, int32_t shear)
{
    const int32_t unit = SH_PICTURE_UNIT, height = (int32_t)picture->height;
    return (sh_affine){.xx = unit, .xy = shear, .x0 = shear * height / 2, .yy = unit};
}

static sh_affine shear_y(const sh_picture *picture, int32_t shear)
{
    const int32_t unit = SH_PICTURE_UNIT, width = (int32_t)picture->width;
    return (sh_affine){.xx = unit, .yy = unit, .yx = shear, .y0 = shear * width / 2};
}

static sh_affine translate(int32_t x, int32_t y)
{
    const int32_t unit = SH_PICTURE_UNIT;
    return (sh_affine){.xx = unit, .yy = unit, .x0 = x * unit, .y0 = y * unit};
}

static void move(sh_picture *picture, sh_trivial_kind kind, double part)
{
    const int32_t shear = sh_tint_factor(0.99 * part), pixels = (int32_t)(32 * part);
    switch (kind) {
    case SH_TRIVIAL_SHEAR_X:
        sh_picture_map(picture, shear_x(picture, shear));
        break;
    case SH_TRIVIAL_SHEAR_Y:
        sh_picture_map(picture, shear_y(picture, shear));
        break;
    case SH_TRIVIAL_TRANSLATE_X:
        sh_picture_map(picture, translate(pixels, 0));
        break;
    case SH_TRIVIAL_TRANSLATE_Y:
        sh_picture_map(picture, translate(0, pixels));
        break;
    default:
        sh_picture_map(picture, sh_affine_turn(135 * part));
        break;
    }
}

void sh_trivial_apply(sh_picture *picture, sh_trivial_change change)
{
    const double size = (double)change.bin / (SH_TRIVIAL_BINS - 1);
    const double part = change.negative ? -size : size;
    const int32_t factor = sh_tint_factor(1 + 0.99 * part);
    switch (change.kind) {
    case SH_TRIVIAL_SHEAR_X:
    case SH_TRIVIAL_SHEAR_Y:
    case SH_TRIVIAL_TRANSLATE_X:
    case SH_TRIVIAL_TRANSLATE_Y:
    case SH_TRIVIAL_ROTATE:
        move(picture, change.kind, part);
        break;
    case SH_TRIVIAL_BRIGHTNESS:
        sh_tint_brightness(picture, factor);
        break;
    case SH_TRIVIAL_COLOUR:
        sh_tint_saturation(picture, factor);
        break;
    case SH_TRIVIAL_CONTRAST:
        sh_tint_contrast(picture, factor);
        break;
    case SH_TRIVIAL_SHARPNESS:
        sh_tint_sharpness(picture, factor);
        break;
    case SH_TRIVIAL_POSTERIZE: /* 8 - bin / 5 bits, rounded */
        sh_tint_posterize(picture, 8 - (2 * change.bin + 5) / 10);
        break;
    case SH_TRIVIAL_SOLARIZE: /* thresholds 255 to 0 in steps of 8.5 */
        sh_tint_solarize(picture, 510 - 17 * (int32_t)change.bin);
        break;
    case SH_TRIVIAL_AUTOCONTRAST:
        sh_tint_autocontrast(picture);
        break;
    case SH_TRIVIAL_EQUALIZE:
        sh_tint_equalize(picture);
        break;
    case SH_TRIVIAL_IDENTITY:
    case SH_TRIVIAL_KINDS:
        break;
    }
}
