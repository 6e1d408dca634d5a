/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax of x [outer, K, inner] along K, shifted by the largest: no overflow. */
#include <math.h>

#include "backend/lower/lowering.h"

typedef struct extent {
    size_t outer, K, inner;
} extent;

static extent measure(const sh_attributes *a, const sh_shape *x)
{
    extent e = {1, x->dim[a->axis], 1};
    for (size_t i = 0; i < x->rank; i++)
        if (i != a->axis)
            *(i < a->axis ? &e.outer : &e.inner) *= x->dim[i];
    return e;
}

static void softmax_row(const float *x, float *y, size_t K, size_t step)
{
    float largest = x[0], sum = 0.0f;
    for (size_t k = 1; k < K; k++)
        largest = x[k * step] > largest ? x[k * step] : largest;
    for (size_t k = 0; k < K; k++)
        sum += y[k * step] = expf(x[k * step] - largest);
    for (size_t k = 0; k < K; k++)
        y[k * step] /= sum;
}

static void softmax(const sh_call *call)
{
    const extent e = measure(call->attributes, &call->in_type[0].shape);
    const float *x = call->in[0];
    float *y = call->out[0];
    for (size_t o = 0; o < e.outer; o++, x += e.K * e.inner, y += e.K * e.inner)
        for (size_t i = 0; i < e.inner; i++)
            softmax_row(x + i, y + i, e.K, e.inner);
}

const sh_lowering sh_lower_softmax = {.run = softmax};

static void grad_row(const float *dy, const float *y, float *dx, size_t K, size_t step)
{
    float sum = 0.0f;
    for (size_t k = 0; k < K; k++)
        sum += dy[k * step] * y[k * step];
    for (size_t k = 0; k < K; k++)
        dx[k * step] = y[k * step] * (dy[k * step] - sum);
}

static void softmax_grad(const sh_call *call)
{
    const extent e = measure(call->attributes, &call->in_type[0].shape);
    const size_t block = e.K * e.inner;
    const float *dy = call->in[0], *y = call->in[1];
    float *dx = call->out[0];
    for (size_t o = 0; o < e.outer; o++, dy += block, y += block, dx += block)
        for (size_t i = 0; i < e.inner; i++)
            grad_row(dy + i, y + i, dx + i, e.K, e.inner);
}

const sh_lowering sh_lower_softmax_grad = {.run = softmax_grad};
