/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of kernel/depthwise.h, for the variant that includes this.
 *
 * Forward and the gradient of the input both gather: an output is a sum of positions of the other
 * image times weights. Outputs of a row with the same weights form a *run*. A run, or if it is
 * short, the same output of several images, is computed together, which loads each weight once.
 */
#include "backend/kernel/depthwise.h"
#include "backend/kernel/vector_part.h"

#define NEIGHBOURS ((size_t)8) /* outputs computed together */
#define BAND 4                 /* vectors of channels */

/* Floats at multiples of this distance share a set of the first-level cache. */
#define SAME_PLACE ((size_t)1024)
/* Limit in floats for a row if the cache must hold four rows. */
#define IN_CACHE ((size_t)2048)

/* The gradients of WINDOW rows and columns of weights are computed together for LEAST or more
 * outputs. */
#define WINDOW 3
#define LEAST ((size_t)8)

/* Rows of a block stay in the cache for the next row of outputs. */
static size_t channels_of_block(const sh_depthwise *of)
{
    const size_t fit = IN_CACHE / of->in[1] < 32 ? 32 : IN_CACHE / of->in[1];
    const size_t blocks = (of->channels + fit - 1) / fit,
                 even = (of->channels + blocks - 1) / blocks;
    return (even + 15) / 16 * 16;
}

/* What an output sees along one axis: position at[i] through weight tap[i], scaled or not. */
typedef struct seen {
    size_t count;
    size_t at[SH_DEPTHWISE_MAX], tap[SH_DEPTHWISE_MAX]; /* each in equal steps */
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

/* Whether `later` sees the same weights as `first`, `steps` further on. */
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

/* Outputs that see alike, to_step apart; the positions that they see are from_step apart. */
typedef struct gathering {
    const float *from, *w, *bias;
    float *to;
    const seen *rows, *columns; /* scaled */
    size_t channels;
    size_t from_step, to_step;
} gathering;

VEC_INLINE void gather_row(vec_held sum[NEIGHBOURS], const gathering *g, const float *x,
                           const float *w, const size_t neighbours, size_t width, const bool part)
{
    const seen *const columns = g->columns;
    if (columns->count == 0)
        return;
    const bool several = columns->count > 1;
    const ptrdiff_t at_step = several ? (ptrdiff_t)(columns->at[1] - columns->at[0]) : 0;
    const ptrdiff_t tap_step = several ? (ptrdiff_t)(columns->tap[1] - columns->tap[0]) : 0;
    const size_t from_step = g->from_step;
    x += columns->at[0];
    w += columns->tap[0];
    for (size_t s = columns->count; s > 0; s--, x += at_step, w += tap_step) {
        const vec weight = part ? vec_load_part(w, width) : vec_load(w);
#pragma GCC unroll 8
        for (size_t i = 0; i < neighbours; i++)
            sum[i] = vec_hold(vec_fma(part ? vec_load_part(x + i * from_step, width)
                                           : vec_load(x + i * from_step),
                                      weight, vec_of(sum[i])));
    }
}

/* Loads each position once. Requires what sees_three checks. */
VEC_INLINE void gather_three(vec_held sum[NEIGHBOURS], const gathering *g, const float *x,
                             const float *w, const size_t neighbours)
{
    const seen *const columns = g->columns;
    const vec weight[3] = {vec_load(w + columns->tap[0]), vec_load(w + columns->tap[1]),
                           vec_load(w + columns->tap[2])};
    x += columns->at[0];
#pragma GCC unroll 10
    for (size_t i = 0; i < neighbours + 2; i++, x += g->from_step) {
        const vec now = vec_load(x);
#pragma GCC unroll 3
        for (size_t s = 0; s < 3; s++)
            if (i >= s && i - s < neighbours)
                sum[i - s] = vec_hold(vec_fma(now, weight[s], vec_of(sum[i - s])));
    }
}

VEC_INLINE void gather_band(const gathering *g, size_t c, size_t width, const size_t neighbours,
                            const bool part, const bool three)
{
    vec_held sum[NEIGHBOURS];
#pragma GCC unroll 8
    for (size_t i = 0; i < neighbours; i++)
        sum[i] = vec_hold(vec_all(0.0f));
    for (size_t r = 0; r < g->rows->count; r++) {
        const float *const x = g->from + g->rows->at[r] + c;
        const float *const w = g->w + g->rows->tap[r] + c;
        if (three)
            gather_three(sum, g, x, w, neighbours);
        else
            gather_row(sum, g, x, w, neighbours, width, part);
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

VEC_INLINE void gather_pixels(const gathering *g, const size_t neighbours, bool three)
{
    size_t c = 0;
    if (three)
        for (; c + VEC <= g->channels; c += VEC)
            gather_band(g, c, VEC, neighbours, false, true);
    for (; c + VEC <= g->channels; c += VEC)
        gather_band(g, c, VEC, neighbours, false, false);
    if (c < g->channels)
        gather_band(g, c, g->channels - c, neighbours, true, false);
}

static bool sees_three(const gathering *g)
{
    const seen *const columns = g->columns;
    return columns->count == 3 && columns->at[0] + g->from_step == columns->at[1] &&
           columns->at[1] + g->from_step == columns->at[2];
}

static void gather_outputs(gathering g, size_t count, size_t most)
{
    const bool three = sees_three(&g);
    for (size_t left = count, now; left > 0; left -= now) {
        now = left < most ? left : most;
        now = now >= NEIGHBOURS ? NEIGHBOURS : now >= 6 ? 6 : now >= 4 ? 4 : now >= 2 ? 2 : 1;
        if (now == NEIGHBOURS)
            gather_pixels(&g, NEIGHBOURS, three);
        else if (now == 6)
            gather_pixels(&g, 6, three);
        else if (now == 4)
            gather_pixels(&g, 4, three);
        else if (now == 2)
            gather_pixels(&g, 2, three);
        else
            gather_pixels(&g, 1, three);
        g.from += now * g.from_step;
        g.to += now * g.to_step;
    }
}

typedef struct direction {
    const sh_depthwise *of;
    void (*see)(seen *s, const sh_depthwise *of, int axis, size_t output);
    const size_t *from, *to;
    size_t from_stride, to_stride; /* of what neighbours see, and of neighbours */
} direction;

static void gather_run(const direction *d, gathering g, size_t first, size_t count)
{
    const size_t C = d->of->channels, from_row = d->from[1] * C, to_row = d->to[1] * C;
    const size_t from_image = d->from[0] * from_row, to_image = d->to[0] * to_row;
    const size_t from_step = d->from_stride * C, to_step = d->to_stride * C;
    const bool by_image = count < NEIGHBOURS && d->of->images > count;
    const size_t turns = by_image ? count : d->of->images;
    const bool alike = by_image && from_image % SAME_PLACE == 0;
    const size_t most = alike ? NEIGHBOURS / 2 : NEIGHBOURS;
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
            gather_outputs(now, by_image ? d->of->images : count, most);
        }
}

static void gather_block(const direction *d, gathering g)
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
            scale(&columns, d->of->channels, d->of->channels);
            g.columns = &columns;
            gather_run(d, g, q, count);
        }
}

static void gather(const direction *d, const gathering *all)
{
    const size_t channels = d->of->channels, block = channels_of_block(d->of);
    for (size_t c = 0; c < channels; c += block) {
        gathering g = *all;
        g.from += c;
        g.w += c;
        g.to += c;
        g.bias = g.bias == NULL ? NULL : g.bias + c;
        g.channels = channels - c < block ? channels - c : block;
        gather_block(d, g);
    }
}

static void depthwise_forward(const sh_depthwise *of, const float *x, const float *w,
                              const float *bias, float *y)
{
    const direction d = {of, see_forward, of->in, of->out, of->stride[1], 1};
    gather(&d, &(gathering){.from = x, .w = w, .bias = bias, .to = y});
}

static void depthwise_input(const sh_depthwise *of, const float *dy, const float *w, float *dx)
{
    const direction d = {of, see_backward, of->out, of->in, 1, of->stride[1]};
    gather(&d, &(gathering){.from = dy, .w = w, .to = dx});
}

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

static void add_row(const sh_depthwise *of, float *dw, const float *x, const float *dy,
                    size_t channels, size_t count)
{
    const size_t C = of->channels, step = of->stride[1] * C;
    size_t c = 0;
    for (; c + BAND * VEC <= channels; c += BAND * VEC)
        add_products(dw + c, x + c, step, dy + c, C, count, BAND, BAND * VEC);
    for (; c + VEC <= channels; c += VEC)
        add_products(dw + c, x + c, step, dy + c, C, count, 1, VEC);
    if (c < channels)
        add_products(dw + c, x + c, step, dy + c, C, count, 1, channels - c);
}

/* By window column: the outputs of a row that see the image through it. */
typedef size_t ranges[SH_DEPTHWISE_MAX][2];

static void outputs_of(ranges by_column, const sh_depthwise *of)
{
    const size_t begin = of->padding[1], stride = of->stride[1], reach = of->in[1] + begin;
    for (size_t s = 0; s < of->kernel[1]; s++) {
        const size_t tap = s * of->dilation[1];
        const size_t end = tap < reach ? (reach - tap + stride - 1) / stride : 0;
        by_column[s][0] = tap < begin ? (begin - tap + stride - 1) / stride : 0;
        by_column[s][1] = end < of->out[1] ? end : of->out[1];
    }
}

typedef struct row_of_outputs {
    const sh_depthwise *of;
    const ranges *by_column;
    const seen *rows;
    float *dw;
    const float *x, *dy; /* image, row */
    size_t channels;
} row_of_outputs;

static void add_each(const row_of_outputs *to, size_t first, size_t end)
{
    const sh_depthwise *const of = to->of;
    const size_t C = of->channels, columns = of->kernel[1];
    for (size_t i = 0; i < to->rows->count; i++)
        for (size_t s = 0; s < columns; s++) {
            const size_t *const own = (*to->by_column)[s];
            const size_t from = own[0] > first ? own[0] : first;
            const size_t until = own[1] < end ? own[1] : end;
            if (from >= until)
                continue;
            const size_t at = from * of->stride[1] + s * of->dilation[1] - of->padding[1];
            add_row(of, to->dw + (to->rows->tap[i] * columns + s) * C,
                    to->x + (to->rows->at[i] * of->in[1] + at) * C, to->dy + from * C, to->channels,
                    until - from);
        }
}

/* Loads dy once. All outputs see all columns. */
VEC_INLINE void add_together(const sh_depthwise *of, float *dw, const float *x, const float *dy,
                             size_t count, const size_t rows)
{
    const size_t C = of->channels, column = of->dilation[1] * C, step = of->stride[1] * C;
    const size_t row = of->dilation[0] * of->in[1] * C;
    vec_held sum[WINDOW][WINDOW];
#pragma GCC unroll 3
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (size_t s = 0; s < WINDOW; s++)
            sum[r][s] = vec_hold(vec_load(dw + (r * WINDOW + s) * C));
    for (size_t q = 0; q < count; q++, x += step, dy += C) {
        const vec given = vec_load(dy);
#pragma GCC unroll 3
        for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 3
            for (size_t s = 0; s < WINDOW; s++)
                sum[r][s] =
                    vec_hold(vec_fma(vec_load(x + r * row + s * column), given, vec_of(sum[r][s])));
    }
#pragma GCC unroll 3
    for (size_t r = 0; r < rows; r++)
#pragma GCC unroll 3
        for (size_t s = 0; s < WINDOW; s++)
            vec_store(dw + (r * WINDOW + s) * C, vec_of(sum[r][s]));
}

static void add_outputs(const row_of_outputs *to)
{
    const sh_depthwise *const of = to->of;
    const size_t C = of->channels, columns = of->kernel[1], rows = to->rows->count;
    const size_t first = (*to->by_column)[0][0], end = (*to->by_column)[columns - 1][1];
    if (columns != WINDOW || rows == 0 || rows > WINDOW || end < first + LEAST ||
        to->channels % VEC != 0) {
        add_each(to, 0, of->out[1]);
        return;
    }
    add_each(to, 0, first);
    const size_t at = to->rows->at[0] * of->in[1] + first * of->stride[1] - of->padding[1];
    for (size_t c = 0; c < to->channels; c += VEC) {
        float *const dw = to->dw + to->rows->tap[0] * columns * C + c;
        const float *const x = to->x + at * C + c, *const dy = to->dy + first * C + c;
        if (rows == 3)
            add_together(of, dw, x, dy, end - first, 3);
        else if (rows == 2)
            add_together(of, dw, x, dy, end - first, 2);
        else
            add_together(of, dw, x, dy, end - first, 1);
    }
    add_each(to, end, of->out[1]);
}

static void depthwise_weight(const sh_depthwise *of, const float *x, const float *dy,
                             bool continues, float *dw)
{
    const size_t C = of->channels, block = channels_of_block(of);
    ranges by_column;
    outputs_of(by_column, of);
    if (!continues)
        memset(dw, 0, of->kernel[0] * of->kernel[1] * C * sizeof *dw);
    for (size_t c = 0; c < C; c += block)
        for (size_t n = 0; n < of->images; n++)
            for (size_t p = 0; p < of->out[0]; p++) {
                seen rows;
                see_forward(&rows, of, 0, p);
                add_outputs(&(row_of_outputs){
                    .of = of,
                    .by_column = (const ranges *)&by_column,
                    .rows = &rows,
                    .dw = dw + c,
                    .x = x + n * of->in[0] * of->in[1] * C + c,
                    .dy = dy + (n * of->out[0] + p) * of->out[1] * C + c,
                    .channels = C - c < block ? C - c : block,
                });
            }
}
