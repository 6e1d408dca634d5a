/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of kernel/depthwise.h, for the variant that includes them.
 *
 * Forward and the gradient of the input both gather: an output sees some positions of the other
 * image, each through one weight. Neighbours that see alike, each the same weights one step on, are
 * computed together, so that a weight is loaded once for all of them.
 */
#include "backend/kernel/depthwise.h"
#include "backend/kernel/vector.h"

#define NEIGHBOURS 4
#define BAND 4 /* vectors of channels, in the gradient of the weights */

/* What an output sees along one axis: position at[i] through weight tap[i]. */
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

/* Some neighbouring outputs. */
typedef struct gathering {
    const float *from, *w, *bias;
    float *to;
    const seen *rows, *columns;
    size_t channels, from_row; /* elements of a pixel and of a row */
    size_t w_row;              /* weights of a row of the window */
    size_t from_step, to_step; /* from one neighbour to the next */
} gathering;

VEC_INLINE void gather_band(const gathering *g, size_t c, size_t width, const size_t neighbours,
                            const bool part)
{
    vec_held sum[NEIGHBOURS];
#pragma GCC unroll 4
    for (size_t i = 0; i < neighbours; i++)
        sum[i] = vec_hold(vec_all(0.0f));
    for (size_t r = 0; r < g->rows->count; r++) {
        const float *const row = g->from + g->rows->at[r] * g->from_row + c;
        const float *const weights = g->w + g->rows->tap[r] * g->w_row + c;
        for (size_t s = 0; s < g->columns->count; s++) {
            const float *const x = row + g->columns->at[s] * g->channels;
            const float *const at = weights + g->columns->tap[s] * g->channels;
            const vec weight = part ? vec_load_part(at, width) : vec_load(at);
#pragma GCC unroll 4
            for (size_t i = 0; i < neighbours; i++)
                sum[i] = vec_hold(vec_fma(part ? vec_load_part(x + i * g->from_step, width)
                                               : vec_load(x + i * g->from_step),
                                          weight, vec_of(sum[i])));
        }
    }
#pragma GCC unroll 4
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

typedef void see_fn(seen *s, const sh_depthwise *of, int axis, size_t output);

/* The columns of weights through which output `first` is seen, or sees, without edges: to_stride is
 * 1 forward, where these are all. */
static size_t weights_of_class(const sh_depthwise *of, size_t first, size_t to_stride)
{
    size_t count = 0;
    for (size_t tap = 0; tap < of->kernel[1]; tap++)
        count += (first + of->padding[1] + tap * (to_stride - of->dilation[1] % to_stride)) %
                     to_stride ==
                 0;
    return count;
}

/*
 * What the group that follows sees, where nothing is beside the image: as this one, `steps` further
 * on. Looking along all weights again takes longer than computing with few channels.
 */
static bool see_next(seen *s, size_t whole, size_t steps, size_t reach, size_t extent)
{
    if (s->count != whole || s->at[whole - 1] + steps + reach >= extent)
        return false;
    for (size_t i = 0; i < whole; i++)
        s->at[i] += steps;
    return true;
}

/* Outputs whose distance is a multiple of to_stride see alike, from_stride apart; those from
 * `first` on through `whole` weights where nothing is beside the image. */
VEC_INLINE void gather_row(const sh_depthwise *of, see_fn *see, const gathering *row, size_t first,
                           size_t from_extent, size_t to_extent, size_t from_stride,
                           size_t to_stride)
{
    const size_t reach = (NEIGHBOURS - 1) * from_stride;
    const size_t whole = weights_of_class(of, first, to_stride);
    seen columns = {.count = 0}, later;
    gathering g = *row;
    g.columns = &columns;
    for (size_t q = first, now = 0; q < to_extent; q += now * to_stride) {
        const size_t last = q + (NEIGHBOURS - 1) * to_stride;
        const bool follows =
            now == NEIGHBOURS && last < to_extent && whole > 0 &&
            see_next(&columns, whole, NEIGHBOURS * from_stride, reach, from_extent);
        if (!follows) {
            see(&columns, of, 1, q);
            now = 1;
            if (last < to_extent) {
                see(&later, of, 1, last);
                now = see_alike(&columns, &later, reach) ? NEIGHBOURS : 1;
            }
        }
        g.to = row->to + q * g.channels;
        if (now == NEIGHBOURS)
            gather_pixels(&g, NEIGHBOURS);
        else
            gather_pixels(&g, 1);
    }
}

VEC_INLINE void gather_image(const sh_depthwise *of, see_fn *see, gathering g, const size_t *from,
                             const size_t *to, size_t from_stride, size_t to_stride)
{
    seen rows;
    g.rows = &rows;
    g.from_step = from_stride * g.channels;
    g.to_step = to_stride * g.channels;
    for (size_t p = 0; p < to[0]; p++, g.to += to[1] * g.channels) {
        see(&rows, of, 0, p);
        for (size_t first = 0; first < to_stride; first++)
            gather_row(of, see, &g, first, from[1], to[1], from_stride, to_stride);
    }
}

static void depthwise_forward(const sh_depthwise *of, const float *x, const float *w,
                              const float *bias, float *y)
{
    const size_t C = of->channels;
    gathering g = {.from = x,
                   .w = w,
                   .bias = bias,
                   .to = y,
                   .channels = C,
                   .from_row = of->in[1] * C,
                   .w_row = of->kernel[1] * C};
    for (size_t n = 0; n < of->images; n++) {
        gather_image(of, see_forward, g, of->in, of->out, of->stride[1], 1);
        g.from += of->in[0] * of->in[1] * C;
        g.to += of->out[0] * of->out[1] * C;
    }
}

static void depthwise_input(const sh_depthwise *of, const float *dy, const float *w, float *dx)
{
    const size_t C = of->channels;
    gathering g = {.from = dy,
                   .w = w,
                   .to = dx,
                   .channels = C,
                   .from_row = of->out[1] * C,
                   .w_row = of->kernel[1] * C};
    for (size_t n = 0; n < of->images; n++) {
        gather_image(of, see_backward, g, of->out, of->in, 1, of->stride[1]);
        g.from += of->out[0] * of->out[1] * C;
        g.to += of->in[0] * of->in[1] * C;
    }
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

static void depthwise_weight(const sh_depthwise *of, const float *x, const float *dy, float *dw)
{
    const size_t C = of->channels, *const kernel = of->kernel, *const stride = of->stride;
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
