/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/picture.h"

#include <assert.h>

#define ONE 2048u /* of a weight */

static void swap(sh_picture *picture)
{
    uint8_t *bytes = picture->bytes;
    picture->bytes = picture->spare;
    picture->spare = bytes;
}

/* A new pixel between two old ones, or rows: ((ONE - weight) low + weight high) / ONE. */
typedef struct tap {
    uint32_t low, high, weight;
} tap;

/* As pipeline.c's find_taps, behind the first `first` pixels. */
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
    /* Neighbours among the rows: the one of even and the one of odd number have a place each. */
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
        for (uint32_t x = 0; x < p->width; x++) /* at most 255 * 2048^2, and half of that square */
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
    swap(picture);
}
