/* SPDX-License-Identifier: Apache-2.0 */
/* Sums, means and maxima over some dimensions (graph/op_reduce.c), in the order of x. */
#include <string.h>

#include "backend/lower/lowering.h"
#include "backend/lower/walk.h"
#include "graph/formulas.h"

static sh_walk walk_over(const sh_shape *x, const sh_shape *y)
{
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK];
    sh_strides(x_stride, x, false);
    sh_strides_repeated(y_stride, y, false, x);
    return sh_walk_over(x, false, x_stride, y_stride);
}

static float largest(size_t length, const float *x, float most)
{
    for (size_t i = 0; i < length; i++)
        most = x[i] > most ? x[i] : most;
    return most;
}

static void reduce(const sh_call *call)
{
    const bool sums = call->attributes->function != SH_REDUCE_LARGEST;
    const size_t count = sh_shape_count(&call->out_type[0].shape);
    float *y = call->out[0];
    for (size_t i = 0; i < count; i++)
        y[i] = sums ? 0 : -INFINITY;
    sh_walk w = walk_over(&call->in_type[0].shape, &call->out_type[0].shape);
    do {
        const float *restrict x = (const float *)call->in[0] + w.offset[0];
        float *restrict to = y + w.offset[1];
        if (w.step[1] == 0 && sums)
            *to += call->kernels->sum_above(w.length, 0, x);
        else if (w.step[1] == 0)
            *to = largest(w.length, x, *to);
        else
            for (size_t i = 0; i < w.length; i++)
                to[i] = sums ? to[i] + x[i] : x[i] > to[i] ? x[i] : to[i];
    } while (sh_walk_next(&w));
    const size_t each = count > 0 ? call->elements / count : 0;
    const float copies = (float)each;
    for (size_t i = 0; i < count && call->attributes->function == SH_REDUCE_MEAN; i++)
        y[i] /= copies;
}

const sh_lowering sh_lower_reduce = {.run = reduce};

/* A flag for each element of y: its gradient is assigned. */
static size_t flag_bytes(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)a;
    (void)out;
    return sh_shape_count(&in[2].shape);
}

static void reduce_grad(const sh_call *call)
{
    const float *dy = call->in[0], *y = call->in[2];
    unsigned char *given = call->scratch;
    memset(given, 0, sh_shape_count(&call->in_type[2].shape));
    sh_walk w = walk_over(&call->in_type[1].shape, &call->in_type[2].shape);
    do {
        const float *x = (const float *)call->in[1] + w.offset[0];
        float *dx = (float *)call->out[0] + w.offset[0];
        for (size_t i = 0, o = w.offset[1]; i < w.length; i++, o += w.step[1]) {
            const bool first = !given[o] && x[i] == y[o];
            dx[i] = first ? dy[o] : 0;
            given[o] |= first;
        }
    } while (sh_walk_next(&w));
}

const sh_lowering sh_lower_reduce_grad = {.run = reduce_grad, .scratch_bytes = flag_bytes};
