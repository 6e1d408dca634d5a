/* SPDX-License-Identifier: Apache-2.0 */
/* The mean of x [outer, R, inner] over R. */
#include <string.h>

#include "backend/portable/portable.h"

#define CHAINS 16

typedef struct extent {
    size_t outer, R, inner;
} extent;

static extent measure(const sh_attributes *a, const sh_shape *x)
{
    extent e = {1, 1, 1};
    for (size_t i = 0; i < x->rank; i++)
        *(i < a->axis ? &e.outer : i < a->axis + a->axes ? &e.R : &e.inner) *= x->dim[i];
    return e;
}

/* In several chains: faster, and it rounds less. */
static float sum_of(const float *x, size_t count)
{
    float chain[CHAINS] = {0}, sum = 0;
    size_t i = 0;
    for (; i + CHAINS <= count; i += CHAINS)
        for (size_t j = 0; j < CHAINS; j++)
            chain[j] += x[i + j];
    for (size_t j = 0; i + j < count; j++)
        chain[j] += x[i + j];
    for (size_t j = 0; j < CHAINS; j++)
        sum += chain[j];
    return sum;
}

static void mean(const sh_portable_call *call)
{
    const extent e = measure(call->attributes, &call->in_type[0].shape);
    const float *restrict x = call->in[0];
    float *restrict y = call->out[0];
    for (size_t o = 0; o < e.outer && e.inner == 1; o++)
        y[o] = sum_of(x + o * e.R, e.R) / (float)e.R;
    if (e.inner == 1)
        return;
    memset(y, 0, e.outer * e.inner * sizeof *y);
    for (size_t o = 0; o < e.outer; o++, y += e.inner) {
        for (size_t r = 0; r < e.R; r++, x += e.inner)
            for (size_t i = 0; i < e.inner; i++)
                y[i] += x[i];
        for (size_t i = 0; i < e.inner; i++)
            y[i] /= (float)e.R;
    }
}

const sh_portable_def sh_portable_mean = {.run = mean};

static void mean_grad(const sh_portable_call *call)
{
    const extent e = measure(call->attributes, &call->out_type[0].shape);
    const float *restrict dy = call->in[0];
    float *restrict dx = call->out[0];
    for (size_t o = 0; o < e.outer; o++, dy += e.inner)
        for (size_t r = 0; r < e.R; r++, dx += e.inner)
            for (size_t i = 0; i < e.inner; i++)
                dx[i] = dy[i] / (float)e.R;
}

const sh_portable_def sh_portable_mean_grad = {.run = mean_grad};
