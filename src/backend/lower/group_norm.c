/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisation within samples (graph/op_group_norm.c has the formulas): x [N, G, D, P], where D P
 * elements share a mean and G D weights w [G, D] each scale P elements. A layer norm has G = 1 and
 * P = 1. Sums in double.
 */
#include <math.h>
#include <string.h>

#include "backend/lower/lowering.h"

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

/* Mean and 1 / sqrt(variance + epsilon) of n elements. */
static void measure(const float *x, size_t n, float epsilon, float *mean, float *inverse)
{
    double sum = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        sum += (double)x[i];
    sum /= (double)n;
    for (size_t i = 0; i < n; i++) {
        const double off = (double)x[i] - sum;
        squares += off * off;
    }
    *mean = (float)sum;
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
        measure(x, n, call->attributes->number, &mean, &inverse);
        for (size_t d = 0; d < e.D; d++)
            for (size_t i = d * e.P; i < (d + 1) * e.P; i++)
                y[i] = (x[i] - mean) * inverse * w[first + d] + b[first + d];
    }
}

/* One group of one sample: adds to dw and db of its D weights and gives dx. */
static void backward_group(const extent *e, const float *dy, const float *x, const float *w,
                           float epsilon, float *dx, float *dw, float *db)
{
    const size_t n = e->D * e->P;
    float mean, inverse;
    double sum = 0, product = 0;
    measure(x, n, epsilon, &mean, &inverse);
    for (size_t d = 0; d < e->D; d++) {
        double of_dy = 0, of_product = 0;
        for (size_t i = d * e->P; i < (d + 1) * e->P; i++) {
            of_dy += (double)dy[i];
            of_product += (double)(dy[i] * ((x[i] - mean) * inverse));
        }
        db[d] += (float)of_dy;
        dw[d] += (float)of_product;
        sum += of_dy * (double)w[d];
        product += of_product * (double)w[d];
    }
    const float sum_part = (float)(sum / (double)n), product_part = (float)(product / (double)n);
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
        backward_group(&e, dy, x, w + first, call->attributes->number, dx, dw + first, db + first);
    }
}

const sh_lowering sh_lower_layer_norm = {.run = forward};
const sh_lowering sh_lower_layer_norm_grad = {.run = backward};
const sh_lowering sh_lower_group_norm = {.run = forward};
const sh_lowering sh_lower_group_norm_grad = {.run = backward};
