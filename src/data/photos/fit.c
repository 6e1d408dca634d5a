/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The *window* is the part of the photo that becomes the square. Its starts and lengths, in
 * pixels of the photo, may be half-integers. Weights near its edge include pixels outside of it, as
 * if the whole photo were resized and then cropped. At the photo's own edge, the weights of the
 * existing pixels are scaled to add up to 1.
 *
 * Windows are centred, so the square can be rotated after it is computed.
 */
#include "data/photos/fit.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define WEIGHT_BITS 22
#define WEIGHT_ONE (1 << WEIGHT_BITS)
#define CHANNELS_MOST 3

/* The pixels of the photo that make one pixel of the square. */
typedef struct taps {
    uint32_t first, count;
    const int32_t *weights;
} taps;

/* Pixels at .. at + count - 1 of the square come from the photo, the others are black. */
typedef struct axis {
    uint32_t at, count;
    taps *taps;       /* [count]; owned */
    int32_t *weights; /* of all taps; owned */
} axis;

struct sh_fit {
    uint32_t side, width, height, channels;
    int orientation;
    axis columns, rows;
    uint32_t next; /* row of the photo */
    uint32_t open; /* first incomplete row of the square */
    uint8_t *line; /* a row, resized: [columns.count][channels]; owned */
    int32_t *sums; /* [rows.count][columns.count][channels]; owned */
};

static const char *const names[] = {
#define NAME(name, text) text,
    SH_FIT_MAP(NAME)
#undef NAME
};

#define KINDS (sizeof names / sizeof *names)

const char *sh_fit_name(sh_fit_kind kind)
{
    return names[kind];
}

bool sh_fit_find(sh_fit_kind *kind, const char *name)
{
    for (size_t i = 0; i < KINDS; i++)
        if (strcmp(name, names[i]) == 0 || (i == 0 && name[0] == '\0')) {
            *kind = (sh_fit_kind)i;
            return true;
        }
    return false;
}

/* --- weights --- */

/* Computes the weights of a pixel centred at `middle` of a photo of `size` pixels. */
static void weigh(taps *t, int32_t *weights, double *room, uint32_t size, double middle,
                  double reach)
{
    const double low = floor(middle - reach + 0.5), high = floor(middle + reach + 0.5);
    const uint32_t first = low > 0 ? (uint32_t)low : 0;
    const uint32_t end = high < (double)size ? (uint32_t)high : size;
    double all = 0;
    for (uint32_t i = first; i < end; i++) {
        const double part = 1 - fabs(((double)i + 0.5 - middle) / reach);
        room[i - first] = part > 0 ? part : 0;
        all += room[i - first];
    }
    *t = (taps){.first = first, .count = end - first, .weights = weights};
    for (uint32_t i = 0; i < t->count; i++)
        weights[i] = (int32_t)(room[i] / all * WEIGHT_ONE + 0.5);
}

/* Makes `count` pixels from the window of `length` pixels that starts at `begin`. */
static sh_status make_axis(axis *a, uint32_t side, uint32_t count, uint32_t size, double begin,
                           double length)
{
    const double scale = length / (double)count, reach = scale > 1 ? scale : 1;
    /* At most 2 * 65535 + 3 weights for each pixel, about twice the photo for all. */
    const size_t most = 2 * (size_t)ceil(reach) + 1, bytes = count * most * sizeof *a->weights;
    double *room = malloc(most * sizeof *room);
    a->at = (side - count) / 2;
    a->count = count;
    a->taps = malloc(count * sizeof *a->taps);
    a->weights = malloc(bytes);
    if (room != NULL && a->taps != NULL && a->weights != NULL)
        for (uint32_t i = 0; i < count; i++)
            weigh(&a->taps[i], a->weights + i * most, room, size, begin + ((double)i + 0.5) * scale,
                  reach);
    const bool made = room != NULL && a->taps != NULL && a->weights != NULL;
    free(room);
    return made ? SH_OK : sh_fail_memory(bytes, "the weights of a resized photo");
}

/* The size of the photo in the square has the parity of the square's side, so that the photo is
 * centred in every orientation. */
static uint32_t padded(uint32_t side, uint32_t size, uint32_t longest)
{
    const uint32_t odd = side % 2;
    const double pairs = ((double)side * (double)size / (double)longest - (double)odd) / 2;
    const uint32_t count = 2 * (uint32_t)(pairs + 0.5) + odd;
    return count == 0 ? 2 : count < side ? count : side;
}

static sh_status make_axes(sh_fit *fit, sh_fit_kind kind)
{
    const uint32_t w = fit->width, h = fit->height, side = fit->side;
    const uint32_t least = w < h ? w : h, longest = w < h ? h : w;
    const double across = kind == SH_FIT_CROP ? (double)least : (double)w;
    const double down = kind == SH_FIT_CROP ? (double)least : (double)h;
    uint32_t columns = side, rows = side;
    if (kind == SH_FIT_PAD) {
        columns = padded(side, w, longest);
        rows = padded(side, h, longest);
    }
    SH_TRY(make_axis(&fit->columns, side, columns, w, ((double)w - across) / 2, across));
    return make_axis(&fit->rows, side, rows, h, ((double)h - down) / 2, down);
}

sh_status sh_fit_new(sh_fit **fit, sh_fit_kind kind, uint32_t side, int orientation, uint32_t width,
                     uint32_t height, uint32_t channels)
{
    assert(side > 0 && side <= SH_FIT_SIDE_MOST && (channels == 1 || channels == 3) && width > 0 &&
           height > 0 && width <= SH_FIT_PHOTO_SIDE_MOST && height <= SH_FIT_PHOTO_SIDE_MOST);
    sh_fit *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a resized photo");
    fresh->side = side;
    fresh->orientation = orientation;
    fresh->width = width;
    fresh->height = height;
    fresh->channels = channels;
    sh_status status;
    SH_TRY_DONE(make_axes(fresh, kind));
    const size_t line = (size_t)fresh->columns.count * channels;
    fresh->line = malloc(line);
    fresh->sums = calloc(fresh->rows.count * line, sizeof *fresh->sums);
    if (fresh->line == NULL || fresh->sums == NULL)
        status = sh_fail_memory(fresh->rows.count * line * sizeof *fresh->sums, "a resized photo");
done:
    if (status == SH_OK)
        *fit = fresh;
    else
        sh_fit_free(fresh);
    return status;
}

/* --- rows --- */

static uint8_t byte_of(int32_t sum)
{
    const int32_t level = (sum + WEIGHT_ONE / 2) >> WEIGHT_BITS;
    return level > 255 ? 255 : (uint8_t)level; /* weights may add up to slightly over 1 */
}

static void resize_grey(uint8_t *line, const axis *columns, const uint8_t *row)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        const taps *t = &columns->taps[i];
        int32_t sum = 0;
        for (uint32_t k = 0; k < t->count; k++)
            sum += t->weights[k] * row[t->first + k];
        line[i] = byte_of(sum);
    }
}

static void resize_colour(uint8_t *line, const axis *columns, const uint8_t *row)
{
    for (uint32_t i = 0; i < columns->count; i++) {
        const taps *t = &columns->taps[i];
        const uint8_t *pixel = row + (size_t)t->first * CHANNELS_MOST;
        int32_t red = 0, green = 0, blue = 0;
        for (uint32_t k = 0; k < t->count; k++, pixel += CHANNELS_MOST) {
            const int32_t weight = t->weights[k];
            red += weight * pixel[0];
            green += weight * pixel[1];
            blue += weight * pixel[2];
        }
        *line++ = byte_of(red);
        *line++ = byte_of(green);
        *line++ = byte_of(blue);
    }
}

bool sh_fit_skips(const sh_fit *fit)
{
    return fit->open >= fit->rows.count || fit->next < fit->rows.taps[fit->open].first;
}

void sh_fit_row(sh_fit *fit, const uint8_t *row)
{
    const uint32_t y = fit->next;
    const size_t line = (size_t)fit->columns.count * fit->channels;
    if (sh_fit_skips(fit)) {
        fit->next += y < fit->height;
        return;
    }
    if (fit->channels == 1)
        resize_grey(fit->line, &fit->columns, row);
    else
        resize_colour(fit->line, &fit->columns, row);
    for (uint32_t i = fit->open; i < fit->rows.count && fit->rows.taps[i].first <= y; i++) {
        const taps *t = &fit->rows.taps[i];
        if (y - t->first >= t->count) /* taps of later rows may include this row */
            continue;
        const int32_t weight = t->weights[y - t->first];
        int32_t *sums = fit->sums + i * line;
        for (size_t k = 0; k < line; k++)
            sums[k] += weight * fit->line[k];
    }
    fit->next++;
    while (fit->open < fit->rows.count &&
           fit->rows.taps[fit->open].first + fit->rows.taps[fit->open].count <= fit->next)
        fit->open++;
}

uint32_t sh_fit_rows(const sh_fit *fit)
{
    return fit->next;
}

/* --- the square --- */

/* The upright position of a pixel of the stored square. The orientation tells where row 0 and
 * column 0 of the stored picture are (Exif 2.32, 4.6.4). */
static size_t upright(int orientation, size_t side, size_t y, size_t x)
{
    const size_t last = side - 1;
    switch (orientation) {
    case 2: /* top, right */
        return y * side + (last - x);
    case 3: /* bottom, right */
        return (last - y) * side + (last - x);
    case 4: /* bottom, left */
        return (last - y) * side + x;
    case 5: /* left, top */
        return x * side + y;
    case 6: /* right, top */
        return x * side + (last - y);
    case 7: /* right, bottom */
        return (last - x) * side + (last - y);
    case 8: /* left, bottom */
        return (last - x) * side + y;
    default:
        return y * side + x;
    }
}

void sh_fit_finish(const sh_fit *fit, uint8_t *pixels, uint32_t channels)
{
    assert(fit->next == fit->height && (channels == fit->channels || fit->channels == 1));
    const size_t side = fit->side, plane = side * side, stored = fit->channels;
    memset(pixels, 0, channels * plane);
    const int32_t *sum = fit->sums;
    for (size_t y = fit->rows.at; y < (size_t)fit->rows.at + fit->rows.count; y++)
        for (size_t x = fit->columns.at; x < (size_t)fit->columns.at + fit->columns.count; x++) {
            const size_t place = upright(fit->orientation, side, y, x);
            for (size_t c = 0; c < channels; c++)
                pixels[c * plane + place] = byte_of(sum[stored == 1 ? 0 : c]);
            sum += stored;
        }
}

void sh_fit_free(sh_fit *fit)
{
    if (fit == NULL)
        return;
    free(fit->columns.taps);
    free(fit->columns.weights);
    free(fit->rows.taps);
    free(fit->rows.weights);
    free(fit->line);
    free(fit->sums);
    free(fit);
}
