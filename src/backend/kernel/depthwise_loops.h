/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of kernel/depthwise.h, for the variant that includes them.
 *
 * Forward and the gradient of the input both gather: an output sees some positions of the other
 * image, each through one weight. A *run* of outputs in a row sees alike: the same weights, one
 * step on. Outputs of a run are computed together, or, where a run is short, the same output of
 * several images, so that a weight is loaded once for all of them.
 */
#include "backend/kernel/depthwise.h"
#include "backend/kernel/vector.h"

#define NEIGHBOURS 8 /* outputs that are computed together, at most */
#define BAND 4       /* vectors of channels, in the gradient of the weights */

/* What an output sees along one axis: position at[i] through weight tap[i]. Or, scaled, elements.
 */
typedef struct seen {
    size_t count;
    size_t at[SH_DEPTHWISE_MAX], tap[SH_DEPTHWISE_MAX];
} seen;

static void see_forward(seen *s, const sh_depthwise *of, int axis, size_t output)
{
    s->count = 0;
    for (size_t tap = 0; tap < of->kernel[axis]; tap++) {
        const size_t at = output * of->stride[axis] + tap * of->dilation[axis];
        if (at < of->padding[axis] || at >= of->in[axis] + of->padding[axis])
            continue;
        s->at[s->count] = at - of->padding[axis];
        s->tap[s->count++] = tap;
    }
}

static void see_backward(seen *s, const sh_depthwise *of, int axis, size_t input)
{
    s->count = 0;
    for (size_t tap = of->kernel[axis]; tap-- > 0;) {
        const size_t from = input + of->padding[axis], back = tap * of->dilation[axis];
        if (from < back || (from - back) % of->stride[axis] != 0 ||
            (from - back) / of->stride[axis] >= of->out[axis])
            continue;
        s->at[s->count] = (from - back) / of->stride[axis];
        s->tap[s->count++] = tap;
    }
}

/* `later` is `steps` on from `first`, through the same weights. */
static bool see_alike(const seen *first, const seen *later, size_t steps)
{
    if (first->count != later->count)
        return false;
    for (size_t i = 0; i < first->count; i++)
        if (first->tap[i] != later->tap[i] || first->at[i] + steps != later->at[i])
            return false;
    return true;
}

static void scale(seen *s, size_t at, size_t tap)
{
    for (size_t i = 0; i < s->count; i++) {
        s->at[i] *= at;
        s->tap[i] *= tap;
    }
}

/* Outputs that see alike, to_step apart; what they see is from_step apart. */
typedef struct gathering {
    const float *from, *w, *bias;
    float *to;
    const seen *rows, *columns; /* scaled */
    size_t channels, from_step, to_step;
} gathering;

VEC_INLINE void gather_band(const gathering *g, size_t c, size_t width, const size_t neighbours,
                            const bool part)
{
    vec_held sum[NEIGHBOURS];
#pragma GCC unroll 8
    for (size_t i = 0; i < neighbours; i++)
        sum[i] = vec_hold(vec_all(0.0f));
    for (size_t r = 0; r < g->rows->count; r++) {
        const float *const row = g->from + g->rows->at[r] + c;
        const float *const weights = g->w + g->rows->tap[r] + c;
        for (size_t s = 0; s < g->columns->count; s++) {
            const float *const x = row + g->columns->at[s];
            const float *const at = weights + g->columns->tap[s];
            const vec weight = part ? vec_load_part(at, width) : vec_load(at);
#pragma GCC unroll 8
            for (size_t i = 0; i < neighbours; i++)
                sum[i] = vec_hold(vec_fma(part ? vec_load_part(x + i * g->from_step, width)
                                               : vec_load(x + i * g->from_step),
                                          weight, vec_of(sum[i])));
        }
    }
#pragma GCC unroll 8
    for (size_t i = 0; i < neighbours; i++) {
        vec end = vec_of(sum[i]);
        if (g->bias != NULL)
            end += part ? vec_load_part(g->bias + c, width) : vec_load(g->bias + c);
        if (part)
            vec_store_part(g->to + i * g->to_step + c, end, width);
        else
            vec_store(g->to + i * g->to_step + c, end);
    }
}

VEC_INLINE void gather_pixels(const gathering *g, const size_t neighbours)
{
    size_t c = 0;
    for (; c + VEC <= g->channels; c += VEC)
        gather_band(g, c, VEC, neighbours, false);
    if (c < g->channels)
        gather_band(g, c, g->channels - c, neighbours, true);
}

/* `count` outputs, a few at a time. */
static void gather_outputs(gathering g, size_t count)
{
    for (size_t left = count, now; left > 0; left -= now) {
        now = left >= NEIGHBOURS ? NEIGHBOURS : left >= 3 ? 3 : 1;
        if (now == NEIGHBOURS)
            gather_pixels(&g, NEIGHBOURS);
        else if (now == 3)
            gather_pixels(&g, 3);
        else
            gather_pixels(&g, 1);
        g.from += now * g.from_step;
        g.to += now * g.to_step;
    }
}

/* From images of these extents to images of those. */
typedef struct direction {
    const sh_depthwise *of;
    void (*see)(seen *s, const sh_depthwise *of, int axis, size_t output);
    const size_t *from, *to;       /* extents */
    size_t from_stride, to_stride; /* neighbours that see alike are to_stride apart, and see what is
                                      from_stride apart */
} direction;

/* A run of `count` outputs in all rows: from output `first` on in each of the images. */
static void gather_run(const direction *d, gathering g, size_t first, size_t count)
{
    const size_t C = g.channels, from_row = d->from[1] * C, to_row = d->to[1] * C;
    const size_t from_image = d->from[0] * from_row, to_image = d->to[0] * to_row;
    const size_t from_step = d->from_stride * C, to_step = d->to_stride * C;
    const bool by_image = count < NEIGHBOURS && d->of->images > count;
    const size_t turns = by_image ? count : d->of->images;
    g.from_step = by_image ? from_image : from_step;
    g.to_step = by_image ? to_image : to_step;
    for (size_t i = 0; i < turns; i++)
        for (size_t p = 0; p < d->to[0]; p++) {
            seen rows;
            d->see(&rows, d->of, 0, p);
            scale(&rows, from_row, d->of->kernel[1] * C);
            gathering now = g;
            now.rows = &rows;
            now.from += i * (by_image ? from_step : from_image);
            now.to += i * (by_image ? to_step : to_image) + p * to_row + first * C;
            gather_outputs(now, by_image ? d->of->images : count);
        }
}

static void gather(const direction *d, gathering g)
{
    for (size_t residue = 0; residue < d->to_stride; residue++)
        for (size_t q = residue, count; q < d->to[1]; q += count * d->to_stride) {
            seen columns, later;
            d->see(&columns, d->of, 1, q);
            for (count = 1; q + count * d->to_stride < d->to[1]; count++) {
                d->see(&later, d->of, 1, q + count * d->to_stride);
                if (!see_alike(&columns, &later, count * d->from_stride))
                    break;
            }
            scale(&columns, g.channels, g.channels);
            g.columns = &columns;
            gather_run(d, g, q, count);
        }
}

static void depthwise_forward(const sh_depthwise *of, const float *x, const float *w,
                              const float *bias, float *y)
{
    const direction d = {of, see_forward, of->in, of->out, of->stride[1], 1};
    gather(&d, (gathering){.from = x, .w = w, .bias = bias, .to = y, .channels = of->channels});
}

static void depthwise_input(const sh_depthwise *of, const float *dy, const float *w, float *dx)
{
    const direction d = {of, see_backward, of->out, of->in, 1, of->stride[1]};
    gather(&d, (gathering){.from = dy, .w = w, .to = dx, .channels = of->channels});
}

/* dw [width] goes on along `count` positions of a row: x and dy step from one to the next. */
VEC_INLINE void add_products(float *dw, const float *x, size_t x_step, const float *dy,
                             size_t dy_step, size_t count, const size_t vectors, size_t width)
{
    const bool part = width < VEC;
    vec_held sum[BAND];
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++)
        sum[v] = vec_hold(part ? vec_load_part(dw, width) : vec_load(dw + v * VEC));
    for (size_t q = 0; q < count; q++, x += x_step, dy += dy_step)
#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            sum[v] = vec_hold(
                part ? vec_fma(vec_load_part(x, width), vec_load_part(dy, width), vec_of(sum[v]))
                     : vec_fma(vec_load(x + v * VEC), vec_load(dy + v * VEC), vec_of(sum[v])));
#pragma GCC unroll 4
    for (size_t v = 0; v < vectors; v++)
        if (part)
            vec_store_part(dw, vec_of(sum[v]), width);
        else
            vec_store(dw + v * VEC, vec_of(sum[v]));
}

/* One weight of each channel, along one row of outputs. */
static void add_row(const sh_depthwise *of, float *dw, const float *x, const float *dy,
                    size_t count)
{
    const size_t C = of->channels, step = of->stride[1] * C;
    size_t c = 0;
    for (; c + BAND * VEC <= C; c += BAND * VEC)
        add_products(dw + c, x + c, step, dy + c, C, count, BAND, BAND * VEC);
    for (; c + VEC <= C; c += VEC)
        add_products(dw + c, x + c, step, dy + c, C, count, 1, VEC);
    if (c < C)
        add_products(dw + c, x + c, step, dy + c, C, count, 1, C - c);
}

static void depthwise_weight(const sh_depthwise *of, const float *x, const float *dy,
                             bool continues, float *dw)
{
    const size_t C = of->channels, *const kernel = of->kernel, *const stride = of->stride;
    if (!continues)
        memset(dw, 0, kernel[0] * kernel[1] * C * sizeof *dw);
    for (size_t n = 0; n < of->images; n++, x += of->in[0] * of->in[1] * C)
        for (size_t p = 0; p < of->out[0]; p++, dy += of->out[1] * C) {
            seen rows;
            see_forward(&rows, of, 0, p);
            for (size_t i = 0; i < rows.count; i++)
                for (size_t s = 0; s < kernel[1]; s++) {
                    /* The outputs [first, end) of this row that see the image through weight s. */
                    const size_t tap = s * of->dilation[1], begin = of->padding[1];
                    const size_t reach = of->in[1] + begin;
                    const size_t first =
                        tap < begin ? (begin - tap + stride[1] - 1) / stride[1] : 0;
                    size_t end = tap < reach ? (reach - tap + stride[1] - 1) / stride[1] : 0;
                    end = end < of->out[1] ? end : of->out[1];
                    if (first >= end)
                        continue;
                    const size_t at = first * stride[1] + tap - begin;
                    add_row(of, dw + (rows.tap[i] * kernel[1] + s) * C,
                            x + (rows.at[i] * of->in[1] + at) * C, dy + first * C, end - first);
                }
        }
}
