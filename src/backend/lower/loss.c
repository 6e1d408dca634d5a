/* SPDX-License-Identifier: Apache-2.0 */
/* What training ends in: logits [N, K], labels [N]. Softmax is shifted by the largest logit: no
 * overflow. */
#include <math.h>
#include <stdint.h>

#include "backend/lower/lowering.h"

/* The largest logit, and log(sum(exp(logit - largest))). */
static float log_sum(const float *logits, size_t K, float *largest)
{
    float sum = 0.0f;
    *largest = logits[0];
    for (size_t k = 1; k < K; k++)
        if (logits[k] > *largest)
            *largest = logits[k];
    for (size_t k = 0; k < K; k++)
        sum += expf(logits[k] - *largest);
    return logf(sum);
}

/* The mean over the classes of logit - largest. */
static float mean_below(const float *logits, size_t K, float largest)
{
    float sum = 0.0f;
    for (size_t k = 0; k < K; k++)
        sum += logits[k] - largest;
    return sum / (float)K;
}

static void cross_entropy(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0], K = call->in_type[0].shape.dim[1];
    const float *logits = call->in[0];
    const int32_t *labels = call->in[1];
    float *loss = call->out[0];
    const float smoothing = call->attributes->number;
    for (size_t n = 0; n < N; n++, logits += K) {
        float largest;
        const float log_of_sum = log_sum(logits, K, &largest);
        float expected = logits[labels[n]] - largest; /* under the label's distribution */
        if (smoothing > 0)
            expected = (1.0f - smoothing) * expected + smoothing * mean_below(logits, K, largest);
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
        float largest;
        const float log_of_sum = log_sum(logits, K, &largest);
        for (size_t k = 0; k < K; k++) {
            const float softmax = expf(logits[k] - largest - log_of_sum);
            const float label = (int32_t)k == labels[n] ? on_label : 0.0f;
            dlogits[k] = dloss[n] * (softmax - label - everywhere);
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

/* Prediction and target [N, P]. */
static void mse(const sh_call *call)
{
    const size_t N = call->in_type[0].shape.dim[0];
    const size_t P = sh_shape_count(&call->in_type[0].shape) / N;
    const float *prediction = call->in[0], *target = call->in[1];
    float *loss = call->out[0];
    for (size_t n = 0; n < N; n++, prediction += P, target += P) {
        double sum = 0;
        for (size_t i = 0; i < P; i++) {
            const double off = (double)prediction[i] - (double)target[i];
            sum += off * off;
        }
        loss[n] = (float)(sum / (double)P);
    }
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
