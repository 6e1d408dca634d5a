/* SPDX-License-Identifier: Apache-2.0 */
#include "data/augment/distort.h"

#include <assert.h>

#include "data/augment/draw.h"

typedef struct axis {
    uint32_t count;
    size_t stride; /* between neighbours, in values */
} axis;

static axis times_of(const sh_recording *r)
{
    return r->height > 1 ? (axis){r->height, r->width} : (axis){r->width, 1};
}

static axis bands_of(const sh_recording *r)
{
    return r->height > 1 ? (axis){r->width, 1} : (axis){1, r->width};
}

static sh_status check(const char *part, uint32_t most, const char *name, size_t count,
                       const char *what)
{
    if (most == 0 || most < count)
        return SH_OK;
    return sh_fail(SH_INVALID,
                   "--augment %s: %u must be smaller than the samples of %s, which have %zu %s",
                   part, most, name, count, what);
}

sh_status sh_distort_check(const sh_augment *augment, const char *name, size_t height, size_t width)
{
    static const char in_time[] = "steps of time", in_frequency[] = "frequencies";
    const size_t times = height > 1 ? height : width, bands = height > 1 ? width : 1;
    SH_TRY(check("shift", augment->shift[0], name, times, in_time));
    SH_TRY(check("shift", augment->shift[1], name, bands, in_frequency));
    SH_TRY(check("mask", augment->mask[0], name, bands, in_frequency));
    return check("mask", augment->mask[1], name, times, in_time);
}

static void shift_line(float *line, axis along, int32_t by)
{
    const uint32_t far = (uint32_t)(by < 0 ? -by : by), last = along.count - 1;
    assert(far <= last);
    for (uint32_t i = 0; by < 0 && i <= last; i++)
        line[i * along.stride] = line[(i + far < last ? i + far : last) * along.stride];
    for (uint32_t i = last; by > 0 && i > 0; i--)
        line[i * along.stride] = line[(i > far ? i - far : 0) * along.stride];
}

static void shift(const sh_recording *r, sh_random *random, axis along, axis across, uint32_t most)
{
    const int32_t by = (int32_t)sh_random_below(random, 2 * most + 1) - (int32_t)most;
    const size_t plane = (size_t)r->height * r->width;
    for (uint32_t c = 0; c < r->channels; c++)
        for (uint32_t i = 0; i < across.count; i++)
            shift_line(r->values + c * plane + i * across.stride, along, by);
}

static void scale(const sh_recording *r, sh_random *random, double range)
{
    const size_t plane = (size_t)r->height * r->width;
    for (uint32_t c = 0; c < r->channels; c++) {
        const float factor = (float)sh_draw_uniform(random, 1 - range, 1 + range);
        for (size_t i = 0; i < plane; i++)
            r->values[c * plane + i] *= factor;
    }
}

static void add_noise(const sh_recording *r, sh_random *random, double deviation)
{
    const size_t count = (size_t)r->channels * r->height * r->width;
    for (size_t i = 0; i < count; i++)
        r->values[i] += (float)(deviation * sh_draw_normal(random));
}

/* Draws a range of 0 to `most` values within `size` and returns its length. */
static uint32_t draw_band(uint32_t *first, sh_random *random, uint32_t size, uint32_t most)
{
    const uint32_t count = sh_random_below(random, most + 1);
    *first = sh_random_below(random, size - count + 1);
    return count;
}

static void mask(const sh_recording *r, sh_random *random, axis along, axis across, uint32_t most)
{
    uint32_t first;
    const uint32_t count = draw_band(&first, random, along.count, most);
    const size_t plane = (size_t)r->height * r->width;
    for (uint32_t c = 0; c < r->channels; c++)
        for (uint32_t i = first; i < first + count; i++)
            for (uint32_t k = 0; k < across.count; k++)
                r->values[c * plane + i * along.stride + k * across.stride] = 0;
}

void sh_distort(const sh_recording *recording, const sh_augment *augment, uint64_t seed,
                uint32_t epoch, uint32_t index)
{
    const axis times = times_of(recording), bands = bands_of(recording);
    sh_random random;
    if (augment->shift[0] > 0 || augment->shift[1] > 0) {
        random = sh_augment_random(SH_AUGMENT_SHIFT, seed, epoch, index);
        shift(recording, &random, times, bands, augment->shift[0]);
        if (augment->shift[1] > 0)
            shift(recording, &random, bands, times, augment->shift[1]);
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
        mask(recording, &random, bands, times, augment->mask[0]);
        mask(recording, &random, times, bands, augment->mask[1]);
    }
}
