/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/portable/portable.h"

static void relu(const sh_portable_call *call)
{
    const float *restrict x = call->in[0];
    float *restrict y = call->out[0];
    for (size_t i = 0; i < call->elements; i++)
        y[i] = x[i] < 0.0f ? 0.0f : x[i]; /* so that NaN stays NaN */
}

const sh_portable_def sh_portable_relu = {.run = relu, .any_layout = true};

static void relu_grad(const sh_portable_call *call)
{
    const float *restrict dy = call->in[0], *restrict y = call->in[1];
    float *restrict dx = call->out[0];
    for (size_t i = 0; i < call->elements; i++) {
        const float gradient = dy[i]; /* loaded always: a choice instead of a branch */
        dx[i] = y[i] > 0.0f ? gradient : 0.0f;
    }
}

const sh_portable_def sh_portable_relu_grad = {.run = relu_grad, .any_layout = true};

static void relu6(const sh_portable_call *call)
{
    const float *restrict x = call->in[0];
    float *restrict y = call->out[0];
    for (size_t i = 0; i < call->elements; i++) {
        const float above = x[i] < 0.0f ? 0.0f : x[i];
        y[i] = above > 6.0f ? 6.0f : above;
    }
}

const sh_portable_def sh_portable_relu6 = {.run = relu6, .any_layout = true};

static void relu6_grad(const sh_portable_call *call)
{
    const float *restrict dy = call->in[0], *restrict y = call->in[1];
    float *restrict dx = call->out[0];
    for (size_t i = 0; i < call->elements; i++) {
        const float gradient = dy[i];
        dx[i] = y[i] > 0.0f && y[i] < 6.0f ? gradient : 0.0f;
    }
}

const sh_portable_def sh_portable_relu6_grad = {.run = relu6_grad, .any_layout = true};

static void add(const sh_portable_call *call)
{
    const float *restrict a = call->in[0], *restrict b = call->in[1];
    float *restrict y = call->out[0];
    for (size_t i = 0; i < call->elements; i++)
        y[i] = a[i] + b[i];
}

const sh_portable_def sh_portable_add = {.run = add, .any_layout = true};
