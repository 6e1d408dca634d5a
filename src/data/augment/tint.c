/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/tint.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define UNIT SH_TINT_UNIT
#define LEVELS 256

static size_t plane_of(const sh_picture *picture)
{
    return (size_t)picture->height * picture->width;
}

int32_t sh_tint_factor(double factor)
{
    const double scaled = factor * UNIT;
    return (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

/* from + factor (to - from), with `factor` in units, clamped and rounded to a level. */
static uint8_t blend(int32_t from, int32_t to, int32_t factor)
{
    const int64_t sum = (int64_t)from * UNIT + (int64_t)(to - from) * factor + UNIT / 2;
    return (uint8_t)(sum < 0 ? 0 : sum >= LEVELS * (int64_t)UNIT ? LEVELS - 1 : sum / UNIT);
}

static void replace(uint8_t *bytes, size_t count, const uint8_t levels[LEVELS])
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = levels[bytes[i]];
}

static void replace_all(sh_picture *picture, const uint8_t levels[LEVELS])
{
    replace(picture->bytes, picture->channels * plane_of(picture), levels);
}

static void blend_levels(sh_picture *picture, int32_t from, int32_t factor)
{
    uint8_t levels[LEVELS];
    for (int32_t i = 0; i < LEVELS; i++)
        levels[i] = blend(from, i, factor);
    replace_all(picture, levels);
}

void sh_tint_brightness(sh_picture *picture, int32_t factor)
{
    assert(factor >= 0);
    blend_levels(picture, 0, factor);
}

/* Weights in 1/65536 that add up to 1. */
static int32_t grey(uint32_t red, uint32_t green, uint32_t blue)
{
    return (int32_t)((19595 * red + 38470 * green + 7471 * blue + 32768) / 65536);
}

void sh_tint_contrast(sh_picture *picture, int32_t factor)
{
    const size_t plane = plane_of(picture);
    const uint8_t *p = picture->bytes;
    uint64_t sum = 0, count = plane;
    if (picture->channels == 3) {
        for (size_t i = 0; i < plane; i++)
            sum += (uint32_t)grey(p[i], p[plane + i], p[2 * plane + i]);
    } else {
        count = plane * picture->channels;
        for (size_t i = 0; i < count; i++)
            sum += p[i];
    }
    if (count > 0)
        blend_levels(picture, (int32_t)((sum + count / 2) / count), factor);
}

void sh_tint_saturation(sh_picture *picture, int32_t factor)
{
    const size_t plane = plane_of(picture);
    uint8_t *red = picture->bytes, *green = red + plane, *blue = green + plane;
    if (picture->channels != 3)
        return;
    for (size_t i = 0; i < plane; i++) {
        const int32_t from = grey(red[i], green[i], blue[i]);
        red[i] = blend(from, red[i], factor);
        green[i] = blend(from, green[i], factor);
        blue[i] = blend(from, blue[i], factor);
    }
}

/*
 * Hue is a position on a circle of six sextants: red at 0, green at 2, blue at 4. A channel is
 * largest within one sextant of its own position, smallest beyond two, and linear in between. So
 * the distance to the new hue determines the channel.
 */
static uint8_t channel_at(int32_t hue, int32_t place, int32_t largest, int32_t range)
{
    const int32_t circle = 6 * UNIT;
    const int32_t apart = (hue + circle - place) % circle;
    const int32_t distance = apart < circle / 2 ? apart : circle - apart;
    const int32_t beyond = distance - UNIT;
    const int32_t fall = beyond < 0 ? 0 : beyond > UNIT ? UNIT : beyond;
    return (uint8_t)(largest - (int32_t)(((int64_t)range * fall + UNIT / 2) / UNIT));
}

void sh_tint_hue(sh_picture *picture, int32_t part)
{
    const size_t plane = plane_of(picture);
    const int32_t circle = 6 * UNIT;
    assert(part >= -UNIT / 2 && part <= UNIT / 2);
    if (picture->channels != 3)
        return;
    for (size_t i = 0; i < plane; i++) {
        uint8_t *red = picture->bytes + i, *green = red + plane, *blue = green + plane;
        const int32_t r = *red, g = *green, b = *blue;
        const int32_t upper = r > g ? r : g, lower = r < g ? r : g;
        const int32_t largest = upper > b ? upper : b, range = largest - (lower < b ? lower : b);
        if (range == 0)
            continue;
        const int32_t hue = largest == r   ? (g - b) * UNIT / range + circle
                            : largest == g ? (b - r) * UNIT / range + 2 * UNIT
                                           : (r - g) * UNIT / range + 4 * UNIT;
        const int32_t turned = (hue + 6 * part + circle) % circle;
        *red = channel_at(turned, 0, largest, range);
        *green = channel_at(turned, 2 * UNIT, largest, range);
        *blue = channel_at(turned, 4 * UNIT, largest, range);
    }
}

static void sharpen_row(uint8_t *to, const uint8_t *above, const uint8_t *row, const uint8_t *below,
                        uint32_t width, int32_t factor)
{
    to[0] = row[0];
    to[width - 1] = row[width - 1];
    for (uint32_t x = 1; x + 1 < width; x++) {
        const uint32_t around = (uint32_t)above[x - 1] + above[x] + above[x + 1] + row[x - 1] +
                                row[x + 1] + below[x - 1] + below[x] + below[x + 1];
        to[x] = blend((int32_t)((around + 5u * row[x] + 6) / 13), row[x], factor);
    }
}

void sh_tint_sharpness(sh_picture *picture, int32_t factor)
{
    const uint32_t height = picture->height, width = picture->width;
    if (height < 3 || width < 3)
        return;
    for (uint32_t c = 0; c < picture->channels; c++) {
        const uint8_t *from = picture->bytes + c * plane_of(picture);
        uint8_t *to = picture->spare + c * plane_of(picture);
        memcpy(to, from, width);
        for (uint32_t y = 1; y + 1 < height; y++) {
            const uint8_t *row = from + (size_t)y * width;
            sharpen_row(to + (size_t)y * width, row - width, row, row + width, width, factor);
        }
        const size_t last = (size_t)(height - 1) * width;
        memcpy(to + last, from + last, width);
    }
    sh_picture_swap(picture);
}

void sh_tint_posterize(sh_picture *picture, uint32_t bits)
{
    uint8_t levels[LEVELS];
    assert(bits <= 8);
    for (uint32_t i = 0; i < LEVELS; i++)
        levels[i] = (uint8_t)(i >> (8 - bits) << (8 - bits));
    replace_all(picture, levels);
}

void sh_tint_solarize(sh_picture *picture, int32_t double_threshold)
{
    uint8_t levels[LEVELS];
    for (int32_t i = 0; i < LEVELS; i++)
        levels[i] = (uint8_t)(2 * i >= double_threshold ? LEVELS - 1 - i : i);
    replace_all(picture, levels);
}

void sh_tint_autocontrast(sh_picture *picture)
{
    const size_t plane = plane_of(picture);
    for (uint32_t c = 0; c < picture->channels; c++) {
        uint8_t *bytes = picture->bytes + c * plane, levels[LEVELS] = {0};
        uint32_t least = LEVELS - 1, most = 0;
        for (size_t i = 0; i < plane; i++) {
            least = bytes[i] < least ? bytes[i] : least;
            most = bytes[i] > most ? bytes[i] : most;
        }
        if (least >= most)
            continue;
        const uint32_t range = most - least;
        for (uint32_t i = least; i <= most; i++)
            levels[i] = (uint8_t)(((i - least) * (LEVELS - 1) + range / 2) / range);
        replace(bytes, plane, levels);
    }
}

void sh_tint_equalize(sh_picture *picture)
{
    const size_t plane = plane_of(picture);
    for (uint32_t c = 0; c < picture->channels; c++) {
        uint8_t *bytes = picture->bytes + c * plane, levels[LEVELS];
        size_t count[LEVELS] = {0}, last = 0;
        for (size_t i = 0; i < plane; i++)
            count[bytes[i]]++;
        for (int i = 0; i < LEVELS; i++)
            last = count[i] > 0 ? count[i] : last;
        const size_t step = (plane - last) / (LEVELS - 1);
        if (step == 0) /* also true for a single level */
            continue;
        size_t before = step / 2;
        for (int i = 0; i < LEVELS; i++) {
            const size_t level = before / step;
            levels[i] = (uint8_t)(level < LEVELS ? level : LEVELS - 1);
            before += count[i];
        }
        replace(bytes, plane, levels);
    }
}
