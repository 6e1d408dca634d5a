/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/distort.h"

#include <assert.h>
#include <string.h>

#include "data/augment/chance.h"

sh_status sh_distort_check(const sh_augment *augment, const char *name, size_t height, size_t width)
{
    if (augment->shift >= width && augment->shift > 0)
        return sh_fail(SH_INVALID,
                       "--augment shift:%u: must be smaller than the samples of %s, which have %zu "
                       "steps",
                       augment->shift, name, width);
    const uint32_t rows = augment->mask[0], columns = augment->mask[1];
    if ((rows >= height && rows > 0) || (columns >= width && columns > 0))
        return sh_fail(SH_INVALID,
                       "--augment mask:%u/%u: must be smaller than the samples of %s, which have "
                       "%zu rows and %zu columns",
                       rows, columns, name, height, width);
    return SH_OK;
}

/* Value x becomes what was at x - by. */
static void shift_row(float *row, uint32_t width, int32_t by)
{
    const uint32_t far = (uint32_t)(by < 0 ? -by : by);
    assert(far < width);
    if (by > 0) {
        memmove(row + far, row, (width - far) * sizeof *row);
        for (uint32_t x = 1; x < far; x++) /* row[0] is the edge */
            row[x] = row[0];
    } else if (by < 0) {
        const float edge = row[width - 1];
        memmove(row, row + far, (width - far) * sizeof *row);
        for (uint32_t x = width - far; x < width; x++)
            row[x] = edge;
    }
}

static void shift(const sh_recording *r, sh_random *random, uint32_t most)
{
    const int32_t by = (int32_t)sh_random_below(random, 2 * most + 1) - (int32_t)most;
    for (size_t i = 0; i < (size_t)r->channels * r->height; i++)
        shift_row(r->values + i * r->width, r->width, by);
}

static void scale(const sh_recording *r, sh_random *random, double range)
{
    const size_t plane = (size_t)r->height * r->width;
    for (uint32_t c = 0; c < r->channels; c++) {
        const float factor = (float)sh_chance_uniform(random, 1 - range, 1 + range);
        for (size_t i = 0; i < plane; i++)
            r->values[c * plane + i] *= factor;
    }
}

static void add_noise(const sh_recording *r, sh_random *random, double deviation)
{
    const size_t count = (size_t)r->channels * r->height * r->width;
    for (size_t i = 0; i < count; i++)
        r->values[i] += (float)(deviation * sh_chance_normal(random));
}

/* A range of at most `most` of `size`, from `*first` on. */
static uint32_t draw_band(uint32_t *first, sh_random *random, uint32_t size, uint32_t most)
{
    const uint32_t count = sh_random_below(random, most + 1);
    *first = sh_random_below(random, size - count + 1);
    return count;
}

/* The same rows and columns of all channels. */
static void mask(const sh_recording *r, sh_random *random, const uint32_t most[2])
{
    uint32_t top, left;
    const uint32_t rows = draw_band(&top, random, r->height, most[0]);
    const uint32_t columns = draw_band(&left, random, r->width, most[1]);
    for (uint32_t c = 0; c < r->channels; c++)
        for (uint32_t y = 0; y < r->height; y++) {
            float *row = r->values + ((size_t)c * r->height + y) * r->width;
            const bool whole = y >= top && y - top < rows;
            for (uint32_t x = whole ? 0 : left; x < (whole ? r->width : left + columns); x++)
                row[x] = 0;
        }
}

void sh_distort(const sh_recording *recording, const sh_augment *augment, uint64_t seed,
                uint32_t epoch, uint32_t index)
{
    sh_random random;
    if (augment->shift > 0) {
        random = sh_augment_random(SH_AUGMENT_SHIFT, seed, epoch, index);
        shift(recording, &random, augment->shift);
    }
    if (augment->scale > 0) {
        random = sh_augment_random(SH_AUGMENT_SCALE, seed, epoch, index);
        scale(recording, &random, augment->scale);
    }
    if (augment->noise > 0) {
        random = sh_augment_random(SH_AUGMENT_NOISE, seed, epoch, index);
        add_noise(recording, &random, augment->noise);
    }
    if (augment->mask[0] > 0 || augment->mask[1] > 0) {
        random = sh_augment_random(SH_AUGMENT_MASK, seed, epoch, index);
        mask(recording, &random, augment->mask);
    }
}
