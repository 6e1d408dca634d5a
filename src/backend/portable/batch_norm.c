/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation (graph/op_norm.c has the formulas). x [N, C, P], P positions; sums in double.
 */
#include <math.h>

#include "backend/portable/portable.h"

typedef struct extent {
    size_t N, C, P;
} extent;

static extent measure(const sh_type *x)
{
    const size_t N = x->shape.dim[0], C = x->shape.dim[1];
    return (extent){N, C, sh_shape_count(&x->shape) / (N * C)};
}

static void moments(const sh_portable_call *call)
{
    const extent e = measure(&call->in_type[0]);
    const float *x = call->in[0];
    float *mean = call->out[0], *variance = call->out[1];
    const double count = (double)(e.N * e.P);
    for (size_t c = 0; c < e.C; c++) {
        double sum = 0, squares = 0;
        for (size_t n = 0; n < e.N; n++)
            for (size_t p = 0; p < e.P; p++)
                sum += (double)x[(n * e.C + c) * e.P + p];
        sum /= count;
        for (size_t n = 0; n < e.N; n++)
            for (size_t p = 0; p < e.P; p++) {
                const double off = (double)x[(n * e.C + c) * e.P + p] - sum;
                squares += off * off;
            }
        mean[c] = (float)sum;
        variance[c] = (float)(squares / count);
    }
}

const sh_portable_def sh_portable_moments = {.run = moments};

static float activate(sh_activation activation, float y)
{
    if (activation == SH_ACTIVATION_NONE)
        return y;
    y = y < 0 ? 0 : y; /* keeps NaN */
    return activation == SH_ACTIVATION_RELU6 && y > 6 ? 6 : y;
}

/* Does the activation hand the gradient through at this result of its? */
static bool passes(sh_activation activation, float y)
{
    return activation == SH_ACTIVATION_NONE ||
           (y > 0 && (activation == SH_ACTIVATION_RELU || y < 6));
}

static void forward(const sh_portable_call *call)
{
    const extent e = measure(&call->in_type[0]);
    const sh_activation activation = call->attributes->activation;
    const float *x = call->in[0], *mean = call->in[1], *variance = call->in[2];
    const float *w = call->in[3], *b = call->in[4];
    const float *residual = call->in_count > 5 ? call->in[5] : NULL;
    float *y = call->out[0];
    for (size_t n = 0; n < e.N; n++)
        for (size_t c = 0; c < e.C; c++) {
            const float scale = w[c] / sqrtf(variance[c] + call->attributes->number);
            const float shift = b[c] - mean[c] * scale;
            const size_t first = (n * e.C + c) * e.P;
            SH_EACH_ELEMENT (p, e.P) {
                const size_t i = first + p;
                const float normal = x[i] * scale + shift;
                y[i] = activate(activation, residual == NULL ? normal : normal + residual[i]);
            }
        }
}

const sh_portable_def sh_portable_batch_norm = {.run = forward};

static void grad_channel(const sh_portable_call *call, const extent *e, size_t c)
{
    const sh_attributes *a = call->attributes;
    const float *dy = call->in[0], *x = call->in[1];
    const float *w = call->in[4], *b = call->in[5];
    float *dx = call->out[0], *dw = call->out[1], *db = call->out[2];
    const float mean = ((const float *)call->in[2])[c];
    const float inverse = 1.0f / sqrtf(((const float *)call->in[3])[c] + a->number);
    const float scale = w[c] / sqrtf(((const float *)call->in[3])[c] + a->number);
    const float shift = b[c] - mean * scale;
    double sum = 0, product = 0;
    for (size_t n = 0; n < e->N; n++)
        for (size_t i = (n * e->C + c) * e->P, end = i + e->P; i < end; i++)
            if (passes(a->activation, x[i] * scale + shift)) {
                sum += (double)dy[i];
                product += (double)(dy[i] * ((x[i] - mean) * inverse));
            }
    db[c] = (float)sum;
    dw[c] = (float)product;
    const double count = (double)(e->N * e->P);
    const float sum_part = a->training ? (float)(sum / count) : 0.0f;
    const float product_part = a->training ? (float)(product / count) : 0.0f;
    for (size_t n = 0; n < e->N; n++) {
        const size_t first = (n * e->C + c) * e->P;
        SH_EACH_ELEMENT (p, e->P) {
            const size_t i = first + p;
            const float d = passes(a->activation, x[i] * scale + shift) ? dy[i] : 0.0f;
            dx[i] = scale * (d - sum_part - (x[i] - mean) * inverse * product_part);
        }
    }
}

static void backward(const sh_portable_call *call)
{
    const extent e = measure(&call->in_type[0]);
    for (size_t c = 0; c < e.C; c++)
        grad_channel(call, &e, c);
}

const sh_portable_def sh_portable_batch_norm_grad = {.run = backward};

static void statistic(const sh_portable_call *call)
{
    const float *in = call->in[0], *weights = call->in[1];
    float *out = call->out[0], part = 0;
    for (size_t n = 0; n < call->in_type[1].shape.dim[0]; n++)
        part += weights[n];
    for (size_t c = 0; c < call->in_type[0].shape.dim[0]; c++)
        out[c] = in[c] * (part * call->attributes->number);
}

const sh_portable_def sh_portable_statistic = {.run = statistic};
