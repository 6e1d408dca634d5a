/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisation within samples (graph/op_group_norm.c): x [N, G, D, P]. D P elements share a mean;
 * weights w [G, D] each scale P elements. A layer norm has G = 1 and P = 1. Sums are in double.
 */
#include <math.h>
#include <string.h>

#include "backend/lower/lowering.h"

#define PARTS 16

typedef struct extent {
    size_t N, G, D, P;
} extent;

static extent measure_input(const sh_call *call)
{
    const sh_shape *x = &call->in_type[0].shape;
    if (call->op == SH_OP_layer_norm || call->op == SH_OP_layer_norm_grad) {
        const size_t K = x->dim[x->rank - 1];
        return (extent){sh_shape_count(x) / K, 1, K, 1};
    }
    const size_t N = x->dim[0], C = x->dim[1], G = call->attributes->groups;
    return (extent){N, G, C / G, sh_shape_count(x) / (N * C)};
}

static void measure(const sh_kernels *kernels, const float *x, size_t n, float epsilon, float *mean,
                    float *inverse)
{
    const double center = kernels->wide_sum(SH_WIDE_SUM, n, x, NULL, 0) / (double)n;
    const double squares = kernels->wide_sum(SH_WIDE_SQUARES, n, x, NULL, center);
    *mean = (float)center;
    *inverse = (float)(1.0 / sqrt(squares / (double)n + (double)epsilon));
}

static void forward(const sh_call *call)
{
    const extent e = measure_input(call);
    const size_t n = e.D * e.P;
    const float *x = call->in[0];
    float *y = call->out[0];
    for (size_t row = 0; row < e.N * e.G; row++, x += n, y += n) {
        const float *w = call->in[1], *b = call->in[2];
        const size_t first = row % e.G * e.D;
        float mean, inverse;
        measure(call->kernels, x, n, call->attributes->number, &mean, &inverse);
        for (size_t d = 0; d < e.D; d++)
            for (size_t i = d * e.P; i < (d + 1) * e.P; i++)
                y[i] = (x[i] - mean) * inverse * w[first + d] + b[first + d];
    }
}

static void sum_weight(const sh_kernels *kernels, size_t P, const float *dy, const float *x,
                       float mean, double sums[2])
{
    if (P == 1) {
        sums[0] = (double)*dy;
        sums[1] = (double)*dy * ((double)*x - (double)mean);
    } else {
        sums[0] = kernels->wide_sum(SH_WIDE_SUM, P, dy, NULL, 0);
        sums[1] = kernels->wide_sum(SH_WIDE_PRODUCTS, P, dy, x, (double)mean);
    }
}

/* Computes dx of one group of one sample, and adds to dw and db. */
static void backward_group(const sh_kernels *kernels, const extent *e, const float *dy,
                           const float *x, const float *w, float epsilon, float *dx, float *dw,
                           float *db)
{
    const size_t n = e->D * e->P;
    float mean, inverse;
    double part[2][PARTS] = {{0}}, sums[2];
    measure(kernels, x, n, epsilon, &mean, &inverse);
    for (size_t d = 0; d < e->D; d++) {
        sum_weight(kernels, e->P, dy + d * e->P, x + d * e->P, mean, sums);
        const double product = sums[1] * (double)inverse;
        db[d] += (float)sums[0];
        dw[d] += (float)product;
        part[0][d % PARTS] += sums[0] * (double)w[d];
        part[1][d % PARTS] += product * (double)w[d];
    }
    for (size_t half = PARTS / 2; half > 0; half /= 2)
        for (size_t p = 0; p < half; p++) {
            part[0][p] += part[0][p + half];
            part[1][p] += part[1][p + half];
        }
    const float sum_part = (float)(part[0][0] / (double)n);
    const float product_part = (float)(part[1][0] / (double)n);
    for (size_t d = 0; d < e->D; d++)
        for (size_t i = d * e->P; i < (d + 1) * e->P; i++)
            dx[i] = inverse * (dy[i] * w[d] - sum_part - (x[i] - mean) * inverse * product_part);
}

static void backward(const sh_call *call)
{
    const extent e = measure_input(call);
    const size_t n = e.D * e.P;
    const float *dy = call->in[0], *x = call->in[1], *w = call->in[2];
    float *dx = call->out[0], *dw = call->out[1], *db = call->out[2];
    memset(dw, 0, e.G * e.D * sizeof *dw);
    memset(db, 0, e.G * e.D * sizeof *db);
    for (size_t row = 0; row < e.N * e.G; row++, dy += n, x += n, dx += n) {
        const size_t first = row % e.G * e.D;
        backward_group(call->kernels, &e, dy, x, w + first, call->attributes->number, dx,
                       dw + first, db + first);
    }
}

const sh_lowering sh_lower_layer_norm = {.run = forward};
const sh_lowering sh_lower_layer_norm_grad = {.run = backward};
const sh_lowering sh_lower_group_norm = {.run = forward};
const sh_lowering sh_lower_group_norm_grad = {.run = backward};
