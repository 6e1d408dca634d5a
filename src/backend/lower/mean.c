/* SPDX-License-Identifier: Apache-2.0 */
/* The mean of x [outer, R, inner] over R. */
#include <string.h>

#include "backend/lower/lowering.h"

typedef struct extent {
    size_t outer, R, inner;
} extent;

static bool is_of_images(const sh_attributes *a, const sh_shape *x)
{
    return x->rank == 4 && a->axis == 2 && a->axes == 2;
}

static bool channels_last(const sh_compiler *compiler, const sh_node *node)
{
    const sh_value_id x = node->op == SH_OP_mean ? node->in[0] : node->out[0];
    return is_of_images(&node->attributes, &sh_graph_type(sh_compiler_graph(compiler), x)->shape);
}

static extent measure(const sh_attributes *a, const sh_shape *x)
{
    extent e = {1, 1, 1};
    if (is_of_images(a, x))
        return (extent){x->dim[0], x->dim[2] * x->dim[3], x->dim[1]};
    for (size_t i = 0; i < x->rank; i++)
        *(i < a->axis ? &e.outer : i < a->axis + a->axes ? &e.R : &e.inner) *= x->dim[i];
    return e;
}

static void mean(const sh_call *call)
{
    const extent e = measure(call->attributes, &call->in_type[0].shape);
    const float *restrict x = call->in[0];
    float *restrict y = call->out[0];
    for (size_t o = 0; o < e.outer && e.inner == 1; o++)
        y[o] = call->kernels->sum_above(e.R, 0, x + o * e.R) / (float)e.R;
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

const sh_lowering sh_lower_mean = {.run = mean, .channels_last = channels_last};

static void mean_grad(const sh_call *call)
{
    const extent e = measure(call->attributes, &call->out_type[0].shape);
    const float *restrict dy = call->in[0];
    float *restrict dx = call->out[0];
    for (size_t o = 0; o < e.outer; o++, dy += e.inner)
        for (size_t r = 0; r < e.R; r++, dx += e.inner)
            for (size_t i = 0; i < e.inner; i++)
                dx[i] = dy[i] / (float)e.R;
}

const sh_lowering sh_lower_mean_grad = {.run = mean_grad, .channels_last = channels_last};
