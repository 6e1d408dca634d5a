/* SPDX-License-Identifier: Apache-2.0 */
/* Logits [N, K], labels [N]. Subtracts the largest logit, which avoids overflow. */
#include <stdint.h>

#include "backend/lower/lowering.h"

static void cross_entropy(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0], K = call->in_type[0].shape.dim[1];
    const sh_kernels *const kernels = call->kernels;
    const float *logits = call->in[0];
    const int32_t *labels = call->in[1];
    float *loss = call->out[0];
    const float smoothing = call->attributes->number;
    for (size_t n = 0; n < N; n++, logits += K) {
        const float largest = kernels->largest(K, logits);
        float log_of_sum = kernels->exp_sum(K, largest, logits, NULL);
        kernels->map(SH_LOG, 1, &log_of_sum, &log_of_sum);
        float expected = logits[labels[n]] - largest;
        if (smoothing > 0) {
            const float mean = kernels->sum_above(K, largest, logits) / (float)K;
            expected = (1.0f - smoothing) * expected + smoothing * mean;
        }
        loss[n] = log_of_sum - expected;
    }
}

const sh_lowering sh_lower_cross_entropy = {.run = cross_entropy};

static void cross_entropy_grad(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0], K = call->in_type[0].shape.dim[1];
    const float *logits = call->in[0], *dloss = call->in[2];
    const int32_t *labels = call->in[1];
    float *dlogits = call->out[0];
    const float everywhere = call->attributes->number / (float)K;
    const float on_label = 1.0f - call->attributes->number;
    for (size_t n = 0; n < N; n++, logits += K, dlogits += K) {
        const float largest = call->kernels->largest(K, logits);
        const float sum = call->kernels->exp_sum(K, largest, logits, dlogits);
        for (size_t k = 0; k < K; k++) {
            const float label = (int32_t)k == labels[n] ? on_label : 0.0f;
            dlogits[k] = dloss[n] * (dlogits[k] / sum - label - everywhere);
        }
    }
}

const sh_lowering sh_lower_cross_entropy_grad = {.run = cross_entropy_grad};

static void argmax(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0], K = call->in_type[0].shape.dim[1];
    const float *logits = call->in[0];
    int32_t *index = call->out[0];
    for (size_t n = 0; n < N; n++, logits += K) {
        size_t best = 0;
        for (size_t k = 1; k < K; k++)
            if (logits[k] > logits[best])
                best = k;
        index[n] = (int32_t)best;
    }
}

const sh_lowering sh_lower_argmax = {.run = argmax};

/*
 * The loss of logit x and target t is max(x, 0) - x t + log(1 + e^-|x|), which avoids overflow.
 * Terms are summed in blocks, and the blocks in order.
 */
#define TERMS 256

static void binary_cross_entropy(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0];
    const size_t K = sh_shape_count(&call->in_type[0].shape) / N;
    const float *logits = call->in[0], *target = call->in[1];
    float *loss = call->out[0], terms[TERMS];
    for (size_t n = 0; n < N; n++, logits += K, target += K) {
        float sum = 0;
        for (size_t first = 0; first < K; first += TERMS) {
            const size_t count = K - first < TERMS ? K - first : TERMS;
            const float *x = logits + first, *t = target + first;
            for (size_t i = 0; i < count; i++)
                terms[i] = x[i] < 0 ? x[i] : -x[i];
            call->kernels->map(SH_EXP, count, terms, terms);
            for (size_t i = 0; i < count; i++)
                terms[i] = 1.0f + terms[i];
            call->kernels->map(SH_LOG, count, terms, terms);
            for (size_t i = 0; i < count; i++) {
                const float product = x[i] * t[i];
                const float above = x[i] < 0 ? 0.0f : x[i];
                terms[i] = (above - product) + terms[i];
            }
            sum += call->kernels->sum_above(count, 0, terms);
        }
        loss[n] = sum / (float)K;
    }
}

const sh_lowering sh_lower_binary_cross_entropy = {.run = binary_cross_entropy};

static void binary_cross_entropy_grad(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0];
    const size_t K = sh_shape_count(&call->in_type[0].shape) / N;
    const float *logits = call->in[0], *target = call->in[1], *dloss = call->in[2];
    float *d = call->out[0];
    call->kernels->activate(SH_OP_sigmoid, 0, N * K, logits, d);
    for (size_t n = 0; n < N; n++, target += K, d += K)
        for (size_t k = 0; k < K; k++)
            d[k] = dloss[n] * ((d[k] - target[k]) / (float)K);
}

const sh_lowering sh_lower_binary_cross_entropy_grad = {.run = binary_cross_entropy_grad};

/* Prediction and target [N, P]. */
static void mse(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0];
    const size_t P = sh_shape_count(&call->in_type[0].shape) / N;
    const float *prediction = call->in[0], *target = call->in[1];
    float *loss = call->out[0];
    for (size_t n = 0; n < N; n++, prediction += P, target += P)
        loss[n] = (float)(call->kernels->wide_sum(SH_WIDE_DISTANCE, P, prediction, target, 0) /
                          (double)P);
}

const sh_lowering sh_lower_mse = {.run = mse};

static void mse_grad(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0];
    const size_t P = sh_shape_count(&call->in_type[0].shape) / N;
    const float *prediction = call->in[0], *target = call->in[1], *dloss = call->in[2];
    float *d = call->out[0];
    for (size_t n = 0; n < N; n++, prediction += P, target += P, d += P)
        for (size_t i = 0; i < P; i++)
            d[i] = 2.0f / (float)P * (prediction[i] - target[i]) * dloss[n];
}

const sh_lowering sh_lower_mse_grad = {.run = mse_grad};
