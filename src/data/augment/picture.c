/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/picture.h"

#include <assert.h>
#include <string.h>

#include "base/real.h"

#define ONE 2048u /* sum of two weights */

void sh_picture_swap(sh_picture *picture)
{
    uint8_t *bytes = picture->bytes;
    picture->bytes = picture->spare;
    picture->spare = bytes;
}

/* A new pixel or row is ((ONE - weight) low + weight high) / ONE. */
typedef struct tap {
    uint32_t low, high, weight;
} tap;

/* As find_taps of pipeline.c, with indices offset by `first`. */
static void find_taps(tap *taps, uint32_t first, uint32_t from, uint32_t to)
{
    for (uint32_t i = 0; i < to; i++) {
        const int64_t scaled = (int64_t)(2 * i + 1) * from - to;
        const uint32_t place = scaled > 0 ? (uint32_t)scaled : 0, unit = 2 * to;
        const uint32_t low = place / unit, high = low + 1 < from ? low + 1 : low;
        taps[i] = (tap){first + low, first + high, (place % unit * ONE + to) / unit};
    }
}

static void enlarge_plane(uint8_t *to, const uint8_t *from, const sh_picture *p, const tap *rows,
                          const tap *columns)
{
    /* The two source rows in use, interpolated: an even one in held[0], an odd one in held[1]. */
    uint32_t held[2][SH_PICTURE_SIDE_MOST], number[2] = {UINT32_MAX, UINT32_MAX};
    for (uint32_t y = 0; y < p->height; y++) {
        const uint32_t needed[] = {rows[y].low, rows[y].high};
        for (int i = 0; i < 2; i++) {
            const uint32_t place = needed[i] % 2;
            if (number[place] == needed[i])
                continue;
            const uint8_t *row = from + (uint64_t)needed[i] * p->width;
            for (uint32_t x = 0; x < p->width; x++) {
                const tap *c = &columns[x];
                held[place][x] = (ONE - c->weight) * row[c->low] + c->weight * row[c->high];
            }
            number[place] = needed[i];
        }
        const uint32_t *low = held[needed[0] % 2], *high = held[needed[1] % 2];
        const uint32_t weight = rows[y].weight, rest = ONE - weight;
        uint8_t *row = to + (uint64_t)y * p->width;
        for (uint32_t x = 0; x < p->width; x++) /* sum <= 255 * 2048^2 + 2048^2 / 2 */
            row[x] = (uint8_t)((rest * low[x] + weight * high[x] + ONE * ONE / 2) / (ONE * ONE));
    }
}

void sh_picture_enlarge(sh_picture *picture, sh_box box)
{
    tap rows[SH_PICTURE_SIDE_MOST], columns[SH_PICTURE_SIDE_MOST];
    const uint64_t plane = (uint64_t)picture->height * picture->width;
    assert(picture->height <= SH_PICTURE_SIDE_MOST && picture->width <= SH_PICTURE_SIDE_MOST);
    if (box.height == picture->height && box.width == picture->width)
        return;
    find_taps(rows, box.top, box.height, picture->height);
    find_taps(columns, box.left, box.width, picture->width);
    for (uint32_t c = 0; c < picture->channels; c++)
        enlarge_plane(picture->spare + c * plane, picture->bytes + c * plane, picture, rows,
                      columns);
    sh_picture_swap(picture);
}

void sh_picture_erase(sh_picture *picture, sh_box box, const uint8_t *colour)
{
    const uint64_t plane = (uint64_t)picture->height * picture->width;
    for (uint32_t c = 0; c < picture->channels; c++)
        for (uint32_t y = box.top; y < box.top + box.height; y++)
            memset(picture->bytes + c * plane + (uint64_t)y * picture->width + box.left, colour[c],
                   box.width);
}

void sh_picture_turn_over(sh_picture *picture)
{
    uint8_t held[SH_PICTURE_SIDE_MOST];
    const uint32_t width = picture->width, height = picture->height;
    assert(width <= SH_PICTURE_SIDE_MOST);
    for (uint32_t c = 0; c < picture->channels; c++) {
        uint8_t *plane = picture->bytes + (uint64_t)c * height * width;
        for (uint32_t y = 0; y < height / 2; y++) {
            uint8_t *upper = plane + (uint64_t)y * width;
            uint8_t *lower = plane + (uint64_t)(height - 1 - y) * width;
            memcpy(held, upper, width);
            memcpy(upper, lower, width);
            memcpy(lower, held, width);
        }
    }
}

/* --- affine maps --- */

#define FRACTION 256u /* steps between pixels */

static uint32_t pixel(const uint8_t *plane, const sh_picture *p, int64_t y, int64_t x)
{
    return y >= 0 && y < p->height && x >= 0 && x < p->width ? plane[y * p->width + x] : 0;
}

/* Positions are in units; pixels are points at integers. */
static uint8_t between(const uint8_t *plane, const sh_picture *p, int64_t y, int64_t x)
{
    /* The offset makes division round down: |y| and |x| are below 2^40 units. */
    const uint64_t far = (uint64_t)1 << 40;
    const uint64_t places[] = {(uint64_t)y + far, (uint64_t)x + far};
    const int64_t top = (int64_t)(places[0] / SH_PICTURE_UNIT - far / SH_PICTURE_UNIT);
    const int64_t left = (int64_t)(places[1] / SH_PICTURE_UNIT - far / SH_PICTURE_UNIT);
    if (top < -1 || left < -1 || top >= p->height || left >= p->width)
        return 0;
    uint32_t corner[4];
    if (top >= 0 && left >= 0 && top + 1 < p->height && left + 1 < p->width) {
        const uint8_t *first = plane + top * p->width + left, *second = first + p->width;
        corner[0] = first[0];
        corner[1] = first[1];
        corner[2] = second[0];
        corner[3] = second[1];
    } else {
        for (int i = 0; i < 4; i++)
            corner[i] = pixel(plane, p, top + i / 2, left + i % 2);
    }
    const uint32_t v = (uint32_t)(places[0] % SH_PICTURE_UNIT * FRACTION / SH_PICTURE_UNIT);
    const uint32_t h = (uint32_t)(places[1] % SH_PICTURE_UNIT * FRACTION / SH_PICTURE_UNIT);
    const uint32_t upper = corner[0] * (FRACTION - h) + corner[1] * h;
    const uint32_t lower = corner[2] * (FRACTION - h) + corner[3] * h;
    const uint32_t sum = upper * (FRACTION - v) + lower * v;
    return (uint8_t)((sum + FRACTION * FRACTION / 2) / (FRACTION * FRACTION));
}

void sh_picture_map(sh_picture *picture, sh_affine map)
{
    const sh_picture *p = picture;
    const uint64_t plane = (uint64_t)p->height * p->width;
    assert(p->height <= SH_PICTURE_SIDE_MOST && p->width <= SH_PICTURE_SIDE_MOST);
    /* Coordinates are doubled, since the centre lies at (side - 1) / 2. */
    const int64_t across = (int64_t)p->width - 1, down = (int64_t)p->height - 1;
    for (uint32_t y = 0; y < p->height; y++) {
        const int64_t from = 2 * (int64_t)y - down;
        /* Twice the source position of the row's first pixel, from the corner. */
        const int64_t x0 = -across * map.xx + from * map.xy + across * SH_PICTURE_UNIT;
        const int64_t y0 = -across * map.yx + from * map.yy + down * SH_PICTURE_UNIT;
        for (uint32_t c = 0; c < p->channels; c++) {
            const uint8_t *source = p->bytes + c * plane;
            uint8_t *row = p->spare + c * plane + (uint64_t)y * p->width;
            for (uint32_t x = 0; x < p->width; x++)
                row[x] = between(source, p, y0 / 2 + (int64_t)x * map.yx + map.y0,
                                 x0 / 2 + (int64_t)x * map.xx + map.x0);
        }
    }
    sh_picture_swap(picture);
}

static int32_t units(double x)
{
    const double scaled = x * SH_PICTURE_UNIT;
    return (int32_t)(scaled < 0 ? scaled - 0.5 : scaled + 0.5);
}

sh_affine sh_affine_turn(double degrees)
{
    const double half_turns = degrees / 180;
    const int32_t cosine = units(sh_real_cos_pi(half_turns));
    const int32_t sine = units(sh_real_cos_pi(half_turns - 0.5));
    return (sh_affine){.xx = cosine, .xy = -sine, .yx = sine, .yy = cosine};
}
