/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions of 3x3 at stride 1 by Winograd's minimal filtering F(2x2, 3x3) (Lavin and Gray 2015,
 * "Fast Algorithms for Convolutional Neural Networks", section 4): an output tile of 2x2 comes from
 * an input tile of 4x4 by 16 products instead of 36,
 *
 *     y = A^T [(G w G^T) . (B^T d B)] A
 *
 * and the sum over channels is taken between the transforms, so it becomes 16 matrix products, one
 * for each place k of a tile, over the T tiles of a block:
 *
 *     M[k] [O, T] = U[k] [O, C] V[k] [C, T]
 *
 * The input's gradient is such a convolution of dy, with the weights turned round and channels
 * exchanged. The weights' gradient is the transpose of the same algorithm:
 *
 *     dw = G^T [sum over tiles of (A dy A^T) . (B^T d B)] G,   dU[k] [O, C] = Z[k] [O, T] V[k]^T
 *
 * Transforms add and halve, so the result is as exact as the direct one. They work on many tiles at
 * a time: rows of an image are laid out so that the tiles of a block, t = i J + j, are one long
 * row. A tile needs four columns, of which the next one needs the last two again, so they stand in
 * two planes, each of which has even and odd rows apart:
 *
 *     low [2, I + 1, 2 J]    columns 0 .. 2 J - 1
 *     high [2, I + 1, 2 J]   columns 2 .. 2 J + 1
 *
 * Loops go over whole chunks of tiles. What they write beyond a row's end is written again by the
 * next row, or lies in the gap that stands behind each V[k], and behind each plane.
 */
#include <assert.h>
#include <cblas.h>
#include <string.h>

#include "backend/portable/convolution.h"
#include "base/variant.h"

#define PLACES ((size_t)16) /* of a tile */
#define CHUNK ((size_t)16)  /* tiles: a vector of the widest kind */
#define BLOCK_TILES ((size_t)64)

/* Fewer channels or tiles than these, or more weights, O C, and the transforms cost too much. */
#define FEW_CHANNELS ((size_t)8)
#define FEW_TILES ((size_t)32)
#define MOST_WEIGHTS ((size_t)256 * 256)

/* One of the convolutions above. */
typedef struct task {
    size_t images, groups;
    size_t C, H, W; /* input channels of a group, height, width */
    size_t O, P, Q; /* output channels of a group, height, width */
    size_t padding[2];
    size_t J;                        /* tiles of a row */
    size_t block_images, block_rows; /* of the largest block: images, rows of tiles of each */
} task;

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Sizes are set; how they are cut into blocks is not. */
static task cut(task t)
{
    const size_t rows = (t.P + 1) / 2;
    t.J = (t.Q + 1) / 2;
    t.block_rows = smaller(BLOCK_TILES / smaller(t.J, BLOCK_TILES), rows);
    t.block_images = t.block_rows < rows ? 1 : BLOCK_TILES / smaller(rows * t.J, BLOCK_TILES);
    t.block_images = smaller(t.block_images, t.images);
    return t;
}

static task forward_task(const sh_convolution *g)
{
    return cut((task){g->images, g->groups, g->C, g->H, g->W, g->O, g->P, g->Q,
                      .padding = {g->a->padding[0], g->a->padding[1]}});
}

/* From dy to dx. */
static task backward_task(const sh_convolution *g)
{
    return cut((task){g->images, g->groups, g->O, g->P, g->Q, g->C, g->H, g->W,
                      .padding = {2 - g->a->padding[0], 2 - g->a->padding[1]}});
}

bool sh_convolution_is_winograd(const sh_convolution *g)
{
    const sh_attributes *a = g->a;
    for (size_t i = 0; i < 2; i++)
        if (a->stride[i] != 1 || a->dilation[i] != 1 || a->padding[i] > 2)
            return false;
    return g->R == 3 && g->S == 3 && g->C >= FEW_CHANNELS && g->O >= FEW_CHANNELS &&
           g->C * g->O <= MOST_WEIGHTS &&
           g->images * ((g->P + 1) / 2) * ((g->Q + 1) / 2) >= FEW_TILES;
}

/* Scratch memory, for the largest block: T tiles, in I rows of each image. */
typedef struct desk {
    size_t u_step, v_step, m_step; /* elements from U[k] to U[k + 1], and so on */
    size_t plane;                  /* elements of the even or odd rows of a plane */
    float *U;                      /* [PLACES, O, C] */
    float *V;                      /* [PLACES, C, T] */
    float *M;                      /* [PLACES, O, T]; Z */
    float *padded;                 /* [2 I + 2, 2 J + 2] */
    float *low, *high;             /* [2, I + 1, 2 J]; `low` is the outputs' plane, too */
    size_t elements;
} desk;

static size_t whole_chunks(size_t elements)
{
    return (elements + CHUNK - 1) / CHUNK * CHUNK;
}

/* A part of the scratch memory, of `elements` and a gap. */
static float *take(desk *d, float *scratch, size_t elements)
{
    float *part = scratch == NULL ? NULL : scratch + d->elements;
    d->elements += whole_chunks(elements) + CHUNK;
    return part;
}

static desk desk_of(const task *t, float *scratch)
{
    const size_t tiles = t->block_images * t->block_rows * t->J;
    const size_t padded = (2 * t->block_rows + 2) * (2 * t->J + 2);
    desk d = {
        .u_step = whole_chunks(t->O * t->C) + CHUNK,
        .v_step = whole_chunks(t->C * tiles) + CHUNK,
        .m_step = whole_chunks(t->O * tiles) + CHUNK,
        .plane = 2 * (whole_chunks((t->block_rows + 1) * t->J) + CHUNK),
    };
    d.U = take(&d, scratch, PLACES * d.u_step);
    d.V = take(&d, scratch, PLACES * d.v_step);
    d.M = take(&d, scratch, PLACES * d.m_step);
    const size_t clear = d.elements;
    d.padded = take(&d, scratch, padded);
    d.low = take(&d, scratch, 2 * d.plane);
    d.high = take(&d, scratch, 2 * d.plane);
    if (scratch != NULL)
        memset(d.padded, 0, (d.elements - clear) * sizeof *scratch);
    return d;
}

size_t sh_winograd_scratch(const sh_convolution *g)
{
    const task forward = forward_task(g), backward = backward_task(g);
    const size_t one = desk_of(&forward, NULL).elements, other = desk_of(&backward, NULL).elements;
    return (one > other ? one : other) * sizeof(float);
}

/* A column or row of a tile. */
typedef struct quad {
    float at[4];
} quad;

/* B^T d */
static inline SH_INLINE quad input_quad(float a, float b, float c, float d)
{
    return (quad){{a - c, b + c, c - b, b - d}};
}

/* G w */
static inline SH_INLINE quad weight_quad(float a, float b, float c)
{
    return (quad){{a, 0.5f * (a + c + b), 0.5f * (a + c - b), c}};
}

/* A dy */
static inline SH_INLINE quad gradient_quad(float a, float b)
{
    return (quad){{a, a + b, a - b, -b}};
}

static inline SH_INLINE void put(float *to, size_t step, quad q)
{
    to[0 * step] = q.at[0];
    to[1 * step] = q.at[1];
    to[2 * step] = q.at[2];
    to[3 * step] = q.at[3];
}

/* V [PLACES, step] at `count` tiles from planes of an input; `next` elements to the row below. */
static inline SH_INLINE void input_body(const desk *d, size_t next, size_t count,
                                        float *restrict to)
{
    const float *restrict low = d->low, *restrict high = d->high;
    const size_t plane = d->plane, step = d->v_step;
    SH_EACH_ELEMENT (t, count) {
        const float *a = low + 2 * t, *b = high + 2 * t;
        const quad c0 = input_quad(a[0], a[plane], a[next], a[plane + next]);
        const quad c1 = input_quad(a[1], a[plane + 1], a[next + 1], a[plane + next + 1]);
        const quad c2 = input_quad(b[0], b[plane], b[next], b[plane + next]);
        const quad c3 = input_quad(b[1], b[plane + 1], b[next + 1], b[plane + next + 1]);
        put(to + t, step, input_quad(c0.at[0], c1.at[0], c2.at[0], c3.at[0]));
        put(to + 4 * step + t, step, input_quad(c0.at[1], c1.at[1], c2.at[1], c3.at[1]));
        put(to + 8 * step + t, step, input_quad(c0.at[2], c1.at[2], c2.at[2], c3.at[2]));
        put(to + 12 * step + t, step, input_quad(c0.at[3], c1.at[3], c2.at[3], c3.at[3]));
    }
}

/* Z [PLACES, step] at `count` tiles from the low plane of dy. */
static inline SH_INLINE void gradient_body(const desk *d, size_t count, float *restrict to)
{
    const float *restrict low = d->low;
    const size_t plane = d->plane, step = d->m_step;
    SH_EACH_ELEMENT (t, count) {
        const quad c0 = gradient_quad(low[2 * t], low[plane + 2 * t]);
        const quad c1 = gradient_quad(low[2 * t + 1], low[plane + 2 * t + 1]);
        put(to + t, step, gradient_quad(c0.at[0], c1.at[0]));
        put(to + 4 * step + t, step, gradient_quad(c0.at[1], c1.at[1]));
        put(to + 8 * step + t, step, gradient_quad(c0.at[2], c1.at[2]));
        put(to + 12 * step + t, step, gradient_quad(c0.at[3], c1.at[3]));
    }
}

/* To the low plane: A^T m A + bias of `count` tiles of M [PLACES, step]. */
static inline SH_INLINE void output_body(const desk *d, const float *restrict from, float bias,
                                         size_t count)
{
    float *restrict low = d->low;
    const size_t plane = d->plane, step = d->m_step;
    SH_EACH_ELEMENT (t, count) {
        float upper[4], lower[4];
        for (size_t s = 0; s < 4; s++) {
            const float *m = from + s * step + t;
            upper[s] = m[0] + m[4 * step] + m[8 * step];
            lower[s] = m[4 * step] - m[8 * step] - m[12 * step];
        }
        low[2 * t] = upper[0] + upper[1] + upper[2] + bias;
        low[2 * t + 1] = upper[1] - upper[2] - upper[3] + bias;
        low[plane + 2 * t] = lower[0] + lower[1] + lower[2] + bias;
        low[plane + 2 * t + 1] = lower[1] - lower[2] - lower[3] + bias;
    }
}

/* U [PLACES, O, C] from w [O, C, 3, 3]; `turned`: U [PLACES, C, O] from w [C, O, 3, 3] turned
 * round. */
static void transform_weights(const task *t, const desk *d, const float *w, bool turned)
{
    const size_t step = d->u_step;
    for (size_t i = 0; i < t->O * t->C; i++, w += 9) {
        float v[9];
        for (size_t k = 0; k < 9; k++)
            v[k] = w[turned ? 8 - k : k];
        const quad c0 = weight_quad(v[0], v[3], v[6]);
        const quad c1 = weight_quad(v[1], v[4], v[7]);
        const quad c2 = weight_quad(v[2], v[5], v[8]);
        for (size_t r = 0; r < 4; r++)
            put(d->U + 4 * r * step + i, step, weight_quad(c0.at[r], c1.at[r], c2.at[r]));
    }
}

/* dw [O, C, 3, 3] = G^T dU G. */
static void finish_weights(const task *t, const desk *d, float *dw)
{
    const size_t step = d->u_step;
    for (size_t i = 0; i < t->O * t->C; i++, dw += 9) {
        float rows[3][4];
        for (size_t s = 0; s < 4; s++) {
            const float *u = d->U + s * step + i;
            const float sum = 0.5f * (u[4 * step] + u[8 * step]);
            rows[0][s] = u[0] + sum;
            rows[1][s] = 0.5f * (u[4 * step] - u[8 * step]);
            rows[2][s] = sum + u[12 * step];
        }
        for (size_t r = 0; r < 3; r++) {
            const float sum = 0.5f * (rows[r][1] + rows[r][2]);
            dw[3 * r] = rows[r][0] + sum;
            dw[3 * r + 1] = 0.5f * (rows[r][1] - rows[r][2]);
            dw[3 * r + 2] = sum + rows[r][3];
        }
    }
}

SH_VARIANTS(input, (const desk *d, size_t next, size_t count, float *to),
            (d, next, count / CHUNK * CHUNK, to));
SH_VARIANTS(gradient, (const desk *d, size_t count, float *to), (d, count / CHUNK * CHUNK, to));
SH_VARIANTS(output, (const desk *d, const float *from, float bias, size_t count),
            (d, from, bias, count / CHUNK * CHUNK));

/* The tiles at work: some rows of them of some images. */
typedef struct block {
    size_t group, image, row;
    size_t images, rows;
    size_t T; /* tiles */
} block;

/* Where a channel of a group lies in [images, groups, channels, plane]. */
static size_t place(const task *t, const block *b, size_t image, size_t channels, size_t channel,
                    size_t plane)
{
    return (((b->image + image) * t->groups + b->group) * channels + channel) * plane;
}

/* Rows of x [H, W] that the tiles of a block see: padded, then in both planes. */
static void lay_input(const task *t, const block *b, const desk *d, const float *x)
{
    const size_t rows = 2 * b->rows + 2, width = 2 * t->J;
    const size_t first = 2 * b->row - t->padding[0]; /* of x; less than none is more than all */
    for (size_t r = 0; r < rows; r++) {
        float *row = d->padded + r * (width + 2) + t->padding[1];
        if (first + r < t->H)
            sh_convolution_copy(row, x + (first + r) * t->W, t->W);
        else
            memset(row, 0, t->W * sizeof *row);
    }
    for (size_t r = 0; r < rows; r++) {
        const float *row = d->padded + r * (width + 2);
        const size_t to = r % 2 * d->plane + r / 2 * width;
        sh_convolution_copy(d->low + to, row, width);
        sh_convolution_copy(d->high + to, row + 2, width);
    }
}

/* V of a block. */
static void transform_input(const task *t, const block *b, const desk *d, const float *x)
{
    const size_t tiles = b->rows * t->J;
    for (size_t c = 0; c < t->C; c++)
        for (size_t n = 0; n < b->images; n++) {
            lay_input(t, b, d, x + place(t, b, n, t->C, c, t->H * t->W));
            input_variants[sh_variant_best()](d, 2 * t->J, whole_chunks(tiles),
                                              d->V + c * b->T + n * tiles);
        }
}

/* Rows of dy [P, Q] in the low plane; zero where a tile reaches beyond them. */
static void lay_gradient(const task *t, const block *b, const desk *d, const float *dy)
{
    const size_t width = 2 * t->J;
    for (size_t r = 0; r < 2 * b->rows; r++) {
        float *row = d->low + r % 2 * d->plane + r / 2 * width;
        const size_t p = 2 * b->row + r;
        if (p < t->P)
            sh_convolution_copy(row, dy + p * t->Q, t->Q);
        else
            memset(row, 0, t->Q * sizeof *row);
        if (t->Q < width)
            row[t->Q] = 0;
    }
}

/* Z of a block. */
static void transform_gradient(const task *t, const block *b, const desk *d, const float *dy)
{
    const size_t tiles = b->rows * t->J;
    for (size_t o = 0; o < t->O; o++)
        for (size_t n = 0; n < b->images; n++) {
            lay_gradient(t, b, d, dy + place(t, b, n, t->O, o, t->P * t->Q));
            gradient_variants[sh_variant_best()](d, whole_chunks(tiles),
                                                 d->M + o * b->T + n * tiles);
        }
}

/* y of a block from its M, and a bias [groups O] unless NULL. */
static void transform_output(const task *t, const block *b, const desk *d, const float *bias,
                             float *y)
{
    const size_t tiles = b->rows * t->J, end = smaller(2 * (b->row + b->rows), t->P);
    for (size_t o = 0; o < t->O; o++)
        for (size_t n = 0; n < b->images; n++) {
            const float *low = d->low;
            float *plane = y + place(t, b, n, t->O, o, t->P * t->Q);
            output_variants[sh_variant_best()](d, d->M + o * b->T + n * tiles,
                                               bias == NULL ? 0.0f : bias[b->group * t->O + o],
                                               whole_chunks(tiles));
            for (size_t p = 2 * b->row; p < end; p++)
                sh_convolution_copy(plane + p * t->Q,
                                    low + p % 2 * d->plane + (p / 2 - b->row) * 2 * t->J, t->Q);
        }
}

/* The block that begins with this image and row. */
static block block_at(const task *t, size_t group, size_t image, size_t row)
{
    const size_t images = smaller(t->block_images, t->images - image);
    const size_t rows = smaller(t->block_rows, (t->P + 1) / 2 - row);
    return (block){group, image, row, images, rows, images * rows * t->J};
}

/* y from x; `turned`: w is [C, O, 3, 3] and turned round. */
static void convolve(const task *t, const sh_portable_call *call, bool turned)
{
    const float *x = call->in[0], *w = call->in[1];
    const float *bias = !turned && call->in_count > 2 ? call->in[2] : NULL;
    assert(call->scratch != NULL);
    const desk d = desk_of(t, call->scratch);
    for (size_t group = 0; group < t->groups; group++, w += t->O * t->C * 9) {
        transform_weights(t, &d, w, turned);
        for (size_t image = 0; image < t->images; image += t->block_images)
            for (size_t row = 0; row < (t->P + 1) / 2; row += t->block_rows) {
                const block b = block_at(t, group, image, row);
                transform_input(t, &b, &d, x);
                for (size_t k = 0; k < PLACES; k++)
                    cblas_sgemm(CblasRowMajor, turned ? CblasTrans : CblasNoTrans, CblasNoTrans,
                                (int)t->O, (int)b.T, (int)t->C, 1.0f, d.U + k * d.u_step,
                                (int)(turned ? t->O : t->C), d.V + k * d.v_step, (int)b.T, 0.0f,
                                d.M + k * d.m_step, (int)b.T);
                transform_output(t, &b, &d, bias, call->out[0]);
            }
    }
}

void sh_winograd_forward(const sh_convolution *g, const sh_portable_call *call)
{
    const task t = forward_task(g);
    convolve(&t, call, false);
}

void sh_winograd_grad_input(const sh_convolution *g, const sh_portable_call *call)
{
    const task t = backward_task(g);
    convolve(&t, call, true);
}

/* db [groups O] = sums of dy. */
static void grad_bias(const task *t, const float *dy, float *db)
{
    memset(db, 0, t->groups * t->O * sizeof *db);
    for (size_t n = 0; n < t->images; n++)
        for (size_t o = 0; o < t->groups * t->O; o++, dy += t->P * t->Q)
            db[o] += sh_convolution_sum(dy, t->P * t->Q);
}

void sh_winograd_grad_weight(const sh_convolution *g, const sh_portable_call *call)
{
    const task t = forward_task(g);
    float *dw = call->out[0];
    assert(call->scratch != NULL);
    const desk d = desk_of(&t, call->scratch);
    for (size_t group = 0; group < t.groups; group++, dw += t.O * t.C * 9) {
        for (size_t image = 0; image < t.images; image += t.block_images)
            for (size_t row = 0; row < (t.P + 1) / 2; row += t.block_rows) {
                const block b = block_at(&t, group, image, row);
                transform_input(&t, &b, &d, call->in[0]);
                transform_gradient(&t, &b, &d, call->in[1]);
                for (size_t k = 0; k < PLACES; k++)
                    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)t.O, (int)t.C,
                                (int)b.T, 1.0f, d.M + k * d.m_step, (int)b.T, d.V + k * d.v_step,
                                (int)b.T, image + row == 0 ? 0.0f : 1.0f, d.U + k * d.u_step,
                                (int)t.C);
            }
        finish_weights(&t, &d, dw);
    }
    if (call->out_count > 1)
        grad_bias(&t, call->in[1], call->out[1]);
}
