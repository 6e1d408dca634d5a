/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution by im2col: for one image and one group, the input's windows become the columns of a
 * matrix
 *
 *     columns [K, P], K = C R S (a weight's products), P = output positions
 *
 * so that y [O, P] = w [O, K] columns, dw [O, K] = dy [O, P] columns^T, dcolumns = w^T dy
 * (Chellapilla, Puri, Simard 2006). C and O count channels of one group.
 */
#include <cblas.h>
#include <string.h>

#include "backend/portable/portable.h"

typedef struct geometry {
    const sh_attributes *a;
    size_t images, groups;
    size_t C, H, W; /* input channels of a group, height, width */
    size_t O, R, S; /* output channels of a group, kernel height and width */
    size_t P, Q;    /* output height and width */
} geometry;

static geometry measure(const sh_attributes *a, const sh_type *x, const sh_type *w,
                        const sh_type *y)
{
    return (geometry){
        .a = a,
        .images = x->shape.dim[0],
        .groups = a->groups,
        .C = w->shape.dim[1],
        .H = x->shape.dim[2],
        .W = x->shape.dim[3],
        .O = w->shape.dim[0] / a->groups,
        .R = w->shape.dim[2],
        .S = w->shape.dim[3],
        .P = y->shape.dim[2],
        .Q = y->shape.dim[3],
    };
}

static size_t columns_bytes(const geometry *g)
{
    return g->C * g->R * g->S * g->P * g->Q * sizeof(float);
}

/* Position in the padded input of output row p under kernel row r; outside the input if >= extent.
 */
static size_t source(size_t p, size_t r, size_t stride, size_t dilation, size_t padding)
{
    return p * stride + r * dilation - padding; /* wraps below zero, so one comparison finds both */
}

/* columns [C R S, P Q] of x [C, H, W]. */
static void im2col(const geometry *g, const float *x, float *columns)
{
    const sh_attributes *a = g->a;
    for (size_t c = 0; c < g->C; c++)
        for (size_t r = 0; r < g->R; r++)
            for (size_t s = 0; s < g->S; s++)
                for (size_t p = 0; p < g->P; p++) {
                    const size_t h = source(p, r, a->stride[0], a->dilation[0], a->padding[0]);
                    const float *row = x + (c * g->H + h) * g->W;
                    for (size_t q = 0; q < g->Q; q++) {
                        const size_t w = source(q, s, a->stride[1], a->dilation[1], a->padding[1]);
                        *columns++ = h < g->H && w < g->W ? row[w] : 0.0f;
                    }
                }
}

/* Adds columns back to where they came from; the reverse of im2col. */
static void col2im(const geometry *g, const float *columns, float *x)
{
    const sh_attributes *a = g->a;
    for (size_t c = 0; c < g->C; c++)
        for (size_t r = 0; r < g->R; r++)
            for (size_t s = 0; s < g->S; s++)
                for (size_t p = 0; p < g->P; p++) {
                    const size_t h = source(p, r, a->stride[0], a->dilation[0], a->padding[0]);
                    for (size_t q = 0; q < g->Q; q++, columns++) {
                        const size_t w = source(q, s, a->stride[1], a->dilation[1], a->padding[1]);
                        if (h < g->H && w < g->W)
                            x[(c * g->H + h) * g->W + w] += *columns;
                    }
                }
}

/* C [m, n] = beta C + op(A) op(B); all row-major and without gaps. */
static void multiply(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, size_t m, size_t n, size_t k,
                     const float *A, const float *B, float beta, float *C)
{
    cblas_sgemm(CblasRowMajor, ta, tb, (int)m, (int)n, (int)k, 1.0f, A,
                (int)(ta == CblasNoTrans ? k : m), B, (int)(tb == CblasNoTrans ? n : k), beta, C,
                (int)n);
}

static void forward(const sh_portable_call *call)
{
    const geometry g =
        measure(call->attributes, &call->in_type[0], &call->in_type[1], &call->out_type[0]);
    const float *x = call->in[0], *w = call->in[1], *b = call->in_count > 2 ? call->in[2] : NULL;
    float *y = call->out[0], *columns = call->scratch;
    const size_t K = g.C * g.R * g.S, positions = g.P * g.Q;
    for (size_t n = 0; n < g.images; n++)
        for (size_t group = 0; group < g.groups; group++) {
            im2col(&g, x, columns);
            for (size_t o = 0; o < g.O && b != NULL; o++)
                for (size_t i = 0; i < positions; i++)
                    y[o * positions + i] = b[group * g.O + o];
            multiply(CblasNoTrans, CblasNoTrans, g.O, positions, K, w + group * g.O * K, columns,
                     b != NULL ? 1.0f : 0.0f, y);
            x += g.C * g.H * g.W;
            y += g.O * positions;
        }
}

static size_t forward_scratch(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    const geometry g = measure(a, &in[0], &in[1], &out[0]);
    return columns_bytes(&g);
}

const sh_portable_def sh_portable_conv2d = {.run = forward, .scratch_bytes = forward_scratch};

static void grad_input(const sh_portable_call *call)
{
    const geometry g =
        measure(call->attributes, &call->out_type[0], &call->in_type[1], &call->in_type[0]);
    const float *dy = call->in[0], *w = call->in[1];
    float *dx = call->out[0], *columns = call->scratch;
    const size_t K = g.C * g.R * g.S, positions = g.P * g.Q;
    memset(dx, 0, sh_type_bytes(&call->out_type[0]));
    for (size_t n = 0; n < g.images; n++)
        for (size_t group = 0; group < g.groups; group++) {
            multiply(CblasTrans, CblasNoTrans, K, positions, g.O, w + group * g.O * K, dy, 0.0f,
                     columns);
            col2im(&g, columns, dx);
            dx += g.C * g.H * g.W;
            dy += g.O * positions;
        }
}

static size_t grad_input_scratch(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    const geometry g = measure(a, &out[0], &in[1], &in[0]);
    return columns_bytes(&g);
}

const sh_portable_def sh_portable_conv2d_grad_input = {
    .run = grad_input,
    .scratch_bytes = grad_input_scratch,
};

static void grad_weight(const sh_portable_call *call)
{
    const geometry g =
        measure(call->attributes, &call->in_type[0], &call->out_type[0], &call->in_type[1]);
    const float *x = call->in[0], *dy = call->in[1];
    float *dw = call->out[0], *db = call->out_count > 1 ? call->out[1] : NULL;
    float *columns = call->scratch;
    const size_t K = g.C * g.R * g.S, positions = g.P * g.Q;
    memset(dw, 0, sh_type_bytes(&call->out_type[0]));
    if (db != NULL)
        memset(db, 0, sh_type_bytes(&call->out_type[1]));
    for (size_t n = 0; n < g.images; n++)
        for (size_t group = 0; group < g.groups; group++) {
            im2col(&g, x, columns);
            multiply(CblasNoTrans, CblasTrans, g.O, K, positions, dy, columns, 1.0f,
                     dw + group * g.O * K);
            for (size_t o = 0; o < g.O && db != NULL; o++) {
                float sum = 0.0f;
                for (size_t i = 0; i < positions; i++)
                    sum += dy[o * positions + i];
                db[group * g.O + o] += sum;
            }
            x += g.C * g.H * g.W;
            dy += g.O * positions;
        }
}

static size_t grad_weight_scratch(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    const geometry g = measure(a, &in[0], &out[0], &in[1]);
    return columns_bytes(&g);
}

const sh_portable_def sh_portable_conv2d_grad_weight = {
    .run = grad_weight,
    .scratch_bytes = grad_weight_scratch,
};
