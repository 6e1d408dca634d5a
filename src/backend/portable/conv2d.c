/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution by im2col: for one group, the windows of the input become the columns of a matrix
 *
 *     columns [K, J], K = C R S (products of an output), J output positions
 *
 * so that y [O, J] = w [O, K] columns, dw [O, K] = dy [O, J] columns^T, dcolumns = w^T dy
 * (Chellapilla, Puri, Simard 2006). C and O count channels of one group.
 *
 * The matrix is made and used in blocks that stay in the cache and keep scratch memory small: rows
 * of one image where images are large, several images where they are small. Several images lie side
 * by side in a block, [O, J], but one after the other in y: they pass through a tile. Nothing is
 * made at all where the input is its own matrix, that is for kernels of 1x1.
 *
 * Columns are copied from a padded image, whole rows of it at a time, in eights where they are
 * multiples of that, because most rows are too short for calls.
 */
#include <cblas.h>
#include <string.h>

#include "backend/portable/convolution.h"
#include "base/variant.h"

#define BLOCK_ELEMENTS ((size_t)32 << 10) /* of columns: a quarter of a cache of 512 KB */
#define FEW_POSITIONS 64                  /* a product with fewer columns than this is slow */

/* That of a call of conv2d or one of its gradients. */
static sh_convolution convolution_of(const sh_portable_call *call)
{
    const sh_attributes *a = call->attributes;
    const sh_type *x = &call->in_type[0], *w = &call->in_type[1], *y = &call->out_type[0];
    if (call->op == SH_OP_conv2d_grad_input) {
        x = &call->out_type[0];
        y = &call->in_type[0];
    } else if (call->op == SH_OP_conv2d_grad_weight) {
        w = &call->out_type[0];
        y = &call->in_type[1];
    }
    const size_t *in = x->shape.dim, *kernel = w->shape.dim, *out = y->shape.dim;
    return (sh_convolution){
        .a = a,
        .images = in[0],
        .groups = a->groups,
        .C = kernel[1],
        .H = in[2],
        .W = in[3],
        .O = kernel[0] / a->groups,
        .R = kernel[2],
        .S = kernel[3],
        .P = out[2],
        .Q = out[3],
        .K = kernel[1] * kernel[2] * kernel[3],
        .Y = (out[2] - 1) * a->stride[0] + (kernel[2] - 1) * a->dilation[0] + 1,
        .X = (out[3] - 1) * a->stride[1] + (kernel[3] - 1) * a->dilation[1] + 1,
    };
}

/* How much of an extent lies within `padded` positions that begin with `padding` empty ones. */
static size_t covered(size_t extent, size_t padding, size_t padded)
{
    const size_t room = padded > padding ? padded - padding : 0;
    return extent < room ? extent : room;
}

void sh_convolution_pad(const sh_convolution *g, size_t planes, const float *x, float *padded)
{
    const size_t rows = covered(g->H, g->a->padding[0], g->Y);
    const size_t columns = covered(g->W, g->a->padding[1], g->X);
    padded += g->a->padding[0] * g->X + g->a->padding[1];
    for (size_t i = 0; i < planes; i++, x += g->H * g->W, padded += g->Y * g->X)
        for (size_t h = 0; h < rows; h++)
            sh_convolution_copy(padded + h * g->X, x + h * g->W, columns);
}

void sh_convolution_crop(const sh_convolution *g, size_t planes, const float *padded, float *x)
{
    const size_t rows = covered(g->H, g->a->padding[0], g->Y);
    const size_t columns = covered(g->W, g->a->padding[1], g->X);
    if (rows < g->H || columns < g->W)
        memset(x, 0, planes * g->H * g->W * sizeof *x);
    padded += g->a->padding[0] * g->X + g->a->padding[1];
    for (size_t i = 0; i < planes; i++, x += g->H * g->W, padded += g->Y * g->X)
        for (size_t h = 0; h < rows; h++)
            sh_convolution_copy(x + h * g->W, padded + h * g->X, columns);
}

/* In chains, so that vectors can carry them. */
float sh_convolution_sum(const float *values, size_t count)
{
    float chains[16] = {0}, sum = 0;
    size_t i = 0;
    for (; i + 16 <= count; i += 16)
        for (size_t j = 0; j < 16; j++)
            chains[j] += values[i + j];
    for (; i < count; i++)
        chains[0] += values[i];
    for (size_t j = 0; j < 16; j++)
        sum += chains[j];
    return sum;
}

bool sh_convolution_is_depthwise(const sh_convolution *g)
{
    return g->groups > 1 && g->C == 1;
}

/* Which positions the columns of a block stand for: `rows` rows of `images` images. */
typedef struct block {
    size_t images, rows;
    size_t J; /* columns */
} block;

static block block_of(const sh_convolution *g, size_t images, size_t rows)
{
    return (block){images, rows, images * rows * g->Q};
}

static size_t at_least_one(size_t count, size_t most)
{
    return count < 1 ? 1 : count < most ? count : most;
}

/* The largest block; those at the end of an image or of the grain are smaller. */
static block largest_block(const sh_convolution *g)
{
    const size_t positions = g->P * g->Q;
    if (positions < FEW_POSITIONS)
        return block_of(g, at_least_one(FEW_POSITIONS / positions, g->images), g->P);
    return block_of(g, 1, at_least_one(BLOCK_ELEMENTS / (g->K * g->Q), g->P));
}

/* Is an image, as it is, the matrix of its columns? */
static bool is_own_matrix(const sh_convolution *g)
{
    return g->R * g->S == 1 && g->P == g->H && g->Q == g->W && g->a->stride[0] == 1 &&
           g->a->stride[1] == 1;
}

static inline SH_INLINE void copy_row(float *restrict to, const float *restrict from, size_t count,
                                      size_t stride)
{
    if (stride == 1)
        sh_convolution_copy(to, from, count);
    else if (stride == 2)
        for (size_t i = 0; i < count; i++)
            to[i] = from[i * 2];
    else
        for (size_t i = 0; i < count; i++)
            to[i] = from[i * stride];
}

static inline SH_INLINE void add_row(const float *restrict from, float *restrict to, size_t count,
                                     size_t stride)
{
    if (stride != 1)
        for (size_t i = 0; i < count; i++)
            to[i * stride] += from[i];
    else if (count % 8 != 0)
        for (size_t i = 0; i < count; i++)
            to[i] += from[i];
    else
        for (size_t i = 0; i < count; i += 8)
            for (size_t j = 0; j < 8; j++)
                to[i + j] += from[i + j];
}

/*
 * Between an image, padded [C, Y, X] from the block's first row on, and its columns [K, J], from
 * its first one on: copied to the columns, or added back to where they came from.
 */
static inline SH_INLINE void move(const sh_convolution *g, const block *b, float *padded,
                                  float *columns, bool back)
{
    const sh_attributes *a = g->a;
    const size_t step = a->stride[0] * g->X;
    for (size_t c = 0; c < g->C; c++)
        for (size_t r = 0; r < g->R; r++)
            for (size_t s = 0; s < g->S; s++, columns += b->J) {
                float *image = padded + (c * g->Y + r * a->dilation[0]) * g->X + s * a->dilation[1];
                for (size_t p = 0; p < b->rows; p++)
                    if (back)
                        add_row(columns + p * g->Q, image + p * step, g->Q, a->stride[1]);
                    else
                        copy_row(columns + p * g->Q, image + p * step, g->Q, a->stride[1]);
            }
}

static inline SH_INLINE void move_body(const sh_convolution *g, const block *b, float *padded,
                                       float *columns, bool back)
{
    if (back)
        move(g, b, padded, columns, true);
    else
        move(g, b, padded, columns, false);
}
SH_VARIANTS(move,
            (const sh_convolution *g, const block *b, float *padded, float *columns, bool back),
            (g, b, padded, columns, back));

/* Scratch memory of an operator, and where its operands lie in the block at work. */
typedef struct workspace {
    float *padded;  /* [C, Y, X]; none where an image is its own matrix */
    float *columns; /* [K, J] */
    float *tile;    /* [O, J] of y or dy; only where a block has several images */
} workspace;

/* Elements of each part, rounded up to whole lines of a cache. */
static size_t whole_lines(size_t elements)
{
    return (elements + 15) / 16 * 16;
}

static size_t padded_elements(const sh_convolution *g)
{
    return is_own_matrix(g) ? 0 : whole_lines(g->C * g->Y * g->X);
}

static size_t scratch_bytes(const sh_portable_call *call)
{
    const sh_convolution g = convolution_of(call);
    if (sh_convolution_is_depthwise(&g))
        return sh_depthwise_scratch(&g);
    if (sh_convolution_is_winograd(&g))
        return sh_winograd_scratch(&g);
    const block b = largest_block(&g);
    if (is_own_matrix(&g) && b.images == 1)
        return 0;
    return (padded_elements(&g) + whole_lines(g.K * b.J) + (b.images > 1 ? g.O * b.J : 0)) *
           sizeof(float);
}

/* The parts of `scratch`, the edges of the padded image zeroed. */
static workspace divide(const sh_convolution *g, float *scratch)
{
    const block b = largest_block(g);
    memset(scratch, 0, padded_elements(g) * sizeof *scratch);
    return (workspace){
        .padded = scratch,
        .columns = scratch + padded_elements(g),
        .tile = scratch + padded_elements(g) + whole_lines(g->K * b.J),
    };
}

/* Copies `count` floats of each of `rows` rows. */
static void copy_rows(size_t rows, size_t count, float *to, size_t to_step, const float *from,
                      size_t from_step)
{
    for (size_t i = 0; i < rows; i++)
        sh_convolution_copy(to + i * to_step, from + i * from_step, count);
}

/* A matrix in memory: its first element, and elements from row to row. */
typedef struct matrix {
    float *data;
    size_t step;
} matrix;

/*
 * Calls `work` on each block of each group: `image` is the first one of it, `row` its first row.
 */
typedef void block_work(const sh_convolution *g, const sh_portable_call *call, const workspace *w,
                        const block *b, size_t group, size_t image, size_t row);

static void for_blocks(const sh_convolution *g, const sh_portable_call *call, block_work *work)
{
    const block most = largest_block(g);
    const workspace w = divide(g, call->scratch);
    for (size_t n = 0; n < g->images; n += most.images)
        for (size_t group = 0; group < g->groups; group++)
            for (size_t p = 0; p < g->P; p += most.rows) {
                const block b = block_of(g, at_least_one(most.images, g->images - n),
                                         at_least_one(most.rows, g->P - p));
                work(g, call, &w, &b, group, n, p);
            }
}

/* Image n's channels of a group, of `channels` each. */
static size_t place(const sh_convolution *g, size_t n, size_t group, size_t channels, size_t plane)
{
    return (n * g->groups + group) * channels * plane;
}

/* The columns of a block; made where they have to be. */
static matrix columns_of(const sh_convolution *g, const workspace *w, const block *b,
                         const float *x, size_t group, size_t image, size_t row)
{
    const size_t plane = g->H * g->W;
    if (is_own_matrix(g) && b->images == 1)
        return (matrix){(float *)x + place(g, image, group, g->C, plane) + row * g->Q, plane};
    for (size_t i = 0; i < b->images; i++) {
        const float *from = x + place(g, image + i, group, g->C, plane);
        float *columns = w->columns + i * g->P * g->Q;
        if (is_own_matrix(g)) {
            copy_rows(g->C, plane, columns, b->J, from, plane);
            continue;
        }
        if (row == 0)
            sh_convolution_pad(g, g->C, from, w->padded);
        move_variants[sh_variant_best()](g, b, w->padded + row * g->a->stride[0] * g->X, columns,
                                         false);
    }
    return (matrix){w->columns, b->J};
}

/* Where y's or dy's part of a block is worked on: in place, or in the tile. */
static matrix outputs_of(const sh_convolution *g, const workspace *w, const block *b, float *y,
                         size_t group, size_t image, size_t row)
{
    const size_t plane = g->P * g->Q;
    if (b->images > 1)
        return (matrix){w->tile, b->J};
    return (matrix){y + place(g, image, group, g->O, plane) + row * g->Q, plane};
}

static matrix gathered_outputs(const sh_convolution *g, const workspace *w, const block *b,
                               const float *dy, size_t group, size_t image, size_t row)
{
    const size_t plane = g->P * g->Q;
    for (size_t i = 0; i < b->images && b->images > 1; i++)
        copy_rows(g->O, plane, w->tile + i * plane, b->J,
                  dy + place(g, image + i, group, g->O, plane), plane);
    return outputs_of(g, w, b, (float *)dy, group, image, row);
}

/* c [m, n] = beta c + op(a) op(b), row-major. */
static void multiply(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, size_t m, size_t n, size_t k, matrix a,
                     matrix b, float beta, matrix c)
{
    cblas_sgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, 1.0f, a.data, (int)a.step, b.data,
                (int)b.step, beta, c.data, (int)c.step);
}

static void forward_block(const sh_convolution *g, const sh_portable_call *call, const workspace *w,
                          const block *b, size_t group, size_t image, size_t row)
{
    float *weights = (float *)call->in[1] + group * g->O * g->K, *y = call->out[0];
    const float *bias = call->in_count > 2 ? (const float *)call->in[2] + group * g->O : NULL;
    const size_t plane = g->P * g->Q;
    const matrix columns = columns_of(g, w, b, call->in[0], group, image, row);
    const matrix out = outputs_of(g, w, b, y, group, image, row);
    for (size_t o = 0; o < g->O && bias != NULL; o++)
        for (size_t j = 0; j < b->J; j++)
            out.data[o * out.step + j] = bias[o];
    multiply(CblasNoTrans, CblasNoTrans, g->O, b->J, g->K, (matrix){weights, g->K}, columns,
             bias != NULL ? 1.0f : 0.0f, out);
    for (size_t i = 0; i < b->images && b->images > 1; i++)
        copy_rows(g->O, plane, y + place(g, image + i, group, g->O, plane), plane,
                  w->tile + i * plane, b->J);
}

static void forward(const sh_portable_call *call)
{
    const sh_convolution g = convolution_of(call);
    if (sh_convolution_is_depthwise(&g))
        sh_depthwise_forward(&g, call);
    else if (sh_convolution_is_winograd(&g))
        sh_winograd_forward(&g, call);
    else
        for_blocks(&g, call, forward_block);
}

const sh_portable_def sh_portable_conv2d = {.run = forward, .scratch_bytes = scratch_bytes};

/* From the gradients of a block's columns to those of its images. */
static void add_columns(const sh_convolution *g, const workspace *w, const block *b, float *dx,
                        size_t group, size_t image, size_t row)
{
    const size_t plane = g->H * g->W;
    for (size_t i = 0; i < b->images; i++) {
        float *to = dx + place(g, image + i, group, g->C, plane);
        float *columns = w->columns + i * g->P * g->Q;
        if (is_own_matrix(g)) {
            copy_rows(g->C, plane, to, plane, columns, b->J);
            continue;
        }
        if (row == 0)
            memset(w->padded, 0, padded_elements(g) * sizeof *w->padded);
        move_variants[sh_variant_best()](g, b, w->padded + row * g->a->stride[0] * g->X, columns,
                                         true);
        if (row + b->rows == g->P)
            sh_convolution_crop(g, g->C, w->padded, to);
    }
}

static void grad_input_block(const sh_convolution *g, const sh_portable_call *call,
                             const workspace *w, const block *b, size_t group, size_t image,
                             size_t row)
{
    float *weights = (float *)call->in[1] + group * g->O * g->K, *dx = call->out[0];
    const bool direct = is_own_matrix(g) && b->images == 1;
    const matrix out = gathered_outputs(g, w, b, call->in[0], group, image, row);
    const matrix columns =
        direct ? columns_of(g, w, b, dx, group, image, row) : (matrix){w->columns, b->J};
    multiply(CblasTrans, CblasNoTrans, g->K, b->J, g->O, (matrix){weights, g->K}, out, 0.0f,
             columns);
    if (!direct)
        add_columns(g, w, b, dx, group, image, row);
}

static void grad_input(const sh_portable_call *call)
{
    const sh_convolution g = convolution_of(call);
    if (sh_convolution_is_depthwise(&g))
        sh_depthwise_grad_input(&g, call);
    else if (sh_convolution_is_winograd(&g))
        sh_winograd_grad_input(&g, call);
    else
        for_blocks(&g, call, grad_input_block);
}

const sh_portable_def sh_portable_conv2d_grad_input = {.run = grad_input,
                                                       .scratch_bytes = scratch_bytes};

static void grad_weight_block(const sh_convolution *g, const sh_portable_call *call,
                              const workspace *w, const block *b, size_t group, size_t image,
                              size_t row)
{
    float *dw = (float *)call->out[0] + group * g->O * g->K;
    float *db = call->out_count > 1 ? (float *)call->out[1] + group * g->O : NULL;
    const bool first = image == 0 && row == 0;
    const matrix columns = columns_of(g, w, b, call->in[0], group, image, row);
    const matrix out = gathered_outputs(g, w, b, call->in[1], group, image, row);
    multiply(CblasNoTrans, CblasTrans, g->O, g->K, b->J, out, columns, first ? 0.0f : 1.0f,
             (matrix){dw, g->K});
    for (size_t o = 0; o < g->O && db != NULL; o++)
        db[o] = (first ? 0.0f : db[o]) + sh_convolution_sum(out.data + o * out.step, b->J);
}

static void grad_weight(const sh_portable_call *call)
{
    const sh_convolution g = convolution_of(call);
    if (sh_convolution_is_depthwise(&g))
        sh_depthwise_grad_weight(&g, call);
    else if (sh_convolution_is_winograd(&g))
        sh_winograd_grad_weight(&g, call);
    else
        for_blocks(&g, call, grad_weight_block);
}

const sh_portable_def sh_portable_conv2d_grad_weight = {.run = grad_weight,
                                                        .scratch_bytes = scratch_bytes};
