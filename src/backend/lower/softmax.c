/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax of x [outer, K, inner] along K, and its logarithm. Subtracts the largest element, which
 * avoids overflow. */
#include "backend/lower/lowering.h"
#include "backend/lower/walk.h"

static size_t scratch_bytes(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    const sh_sides e = sh_around(a->axis, &in[0].shape);
    (void)out;
    return e.inner == 1 ? 0 : 2 * e.K * sizeof(float);
}

static const float *gather(float *row, const float *from, const sh_sides *e)
{
    if (e->inner == 1)
        return from;
    for (size_t k = 0; k < e->K; k++)
        row[k] = from[k * e->inner];
    return row;
}

static void scatter(float *to, const float *row, const sh_sides *e)
{
    for (size_t k = 0; k < e->K && row != to; k++)
        to[k * e->inner] = row[k];
}

static void softmax(const sh_call *call)
{
    const sh_sides e = sh_around(call->attributes->axis, &call->in_type[0].shape);
    for (size_t i = 0; i < e.outer * e.inner; i++) {
        const size_t first = i / e.inner * e.K * e.inner + i % e.inner;
        float *const to = (float *)call->out[0] + first;
        float *const y = e.inner == 1 ? to : call->scratch;
        const float *const x = gather(y, (const float *)call->in[0] + first, &e);
        const float sum = call->kernels->exp_sum(e.K, call->kernels->largest(e.K, x), x, y);
        for (size_t k = 0; k < e.K; k++)
            y[k] /= sum;
        scatter(to, y, &e);
    }
}

const sh_lowering sh_lower_softmax = {.run = softmax, .scratch_bytes = scratch_bytes};

static void softmax_grad(const sh_call *call)
{
    const sh_sides e = sh_around(call->attributes->axis, &call->in_type[0].shape);
    float *const rows = call->scratch;
    for (size_t i = 0; i < e.outer * e.inner; i++) {
        const size_t first = i / e.inner * e.K * e.inner + i % e.inner;
        float *const to = (float *)call->out[0] + first;
        float *const dx = e.inner == 1 ? to : rows;
        const float *const dy = gather(dx, (const float *)call->in[0] + first, &e);
        const float *const y = gather(rows + e.K, (const float *)call->in[1] + first, &e);
        const float sum = call->kernels->dot(e.K, dy, y);
        for (size_t k = 0; k < e.K; k++)
            dx[k] = y[k] * (dy[k] - sum);
        scatter(to, dx, &e);
    }
}

const sh_lowering sh_lower_softmax_grad = {.run = softmax_grad, .scratch_bytes = scratch_bytes};

static void log_softmax(const sh_call *call)
{
    const sh_sides e = sh_around(call->attributes->axis, &call->in_type[0].shape);
    for (size_t i = 0; i < e.outer * e.inner; i++) {
        const size_t first = i / e.inner * e.K * e.inner + i % e.inner;
        float *const to = (float *)call->out[0] + first;
        float *const y = e.inner == 1 ? to : call->scratch;
        const float *const x = gather(y, (const float *)call->in[0] + first, &e);
        const float largest = call->kernels->largest(e.K, x);
        float log_of_sum = call->kernels->exp_sum(e.K, largest, x, NULL);
        call->kernels->map(SH_LOG, 1, &log_of_sum, &log_of_sum);
        for (size_t k = 0; k < e.K; k++)
            y[k] = x[k] - largest - log_of_sum;
        scatter(to, y, &e);
    }
}

const sh_lowering sh_lower_log_softmax = {.run = log_softmax, .scratch_bytes = scratch_bytes};

static void log_softmax_grad(const sh_call *call)
{
    const sh_sides e = sh_around(call->attributes->axis, &call->in_type[0].shape);
    float *const rows = call->scratch;
    for (size_t i = 0; i < e.outer * e.inner; i++) {
        const size_t first = i / e.inner * e.K * e.inner + i % e.inner;
        float *const to = (float *)call->out[0] + first;
        float *const dx = e.inner == 1 ? to : rows, *const exp_y = e.inner == 1 ? to : rows + e.K;
        const float *const dy = gather(dx, (const float *)call->in[0] + first, &e);
        const float *const y = gather(exp_y, (const float *)call->in[1] + first, &e);
        const float sum = call->kernels->sum_above(e.K, 0, dy);
        call->kernels->exp_sum(e.K, 0, y, exp_y);
        for (size_t k = 0; k < e.K; k++)
            dx[k] = dy[k] - exp_y[k] * sum;
        scatter(to, dx, &e);
    }
}

const sh_lowering sh_lower_log_softmax_grad = {.run = log_softmax_grad,
                                               .scratch_bytes = scratch_bytes};
