/* SPDX-License-Identifier: Apache-2.0 */
/* Activations (graph/op_activation.c). */
#include <math.h>

#include "backend/lower/lowering.h"

#define INVERSE_SQRT_2 0x1.6a09e6p-1f   /* 1 / sqrt(2) */
#define INVERSE_SQRT_TAU 0x1.988454p-2f /* 1 / sqrt(2 pi) */

/*
 * y from x, and dx from d = dy and v, which is x or y. Both are loaded always, so that a condition
 * is a choice instead of a branch.
 */
#define ACTIVATION(op, forward, backward)                                                          \
    static void op##_forward(const sh_call *call)                                                  \
    {                                                                                              \
        const float *in = call->in[0], number = call->attributes->number;                          \
        float *y = call->out[0];                                                                   \
        (void)number;                                                                              \
        SH_EACH_ELEMENT (i, call->elements) {                                                      \
            const float x = in[i];                                                                 \
            y[i] = forward;                                                                        \
        }                                                                                          \
    }                                                                                              \
    const sh_lowering sh_lower_##op = {.run = op##_forward, .layout = SH_LAYOUT_OF_FIRST};         \
    static void op##_backward(const sh_call *call)                                                 \
    {                                                                                              \
        const float *dy = call->in[0], *kept = call->in[1];                                        \
        const float number = call->attributes->number;                                             \
        float *dx = call->out[0];                                                                  \
        (void)number;                                                                              \
        SH_EACH_ELEMENT (i, call->elements) {                                                      \
            const float d = dy[i], v = kept[i];                                                    \
            dx[i] = backward;                                                                      \
        }                                                                                          \
    }                                                                                              \
    const sh_lowering sh_lower_##op##_grad = {.run = op##_backward, .layout = SH_LAYOUT_OF_FIRST};

static float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}

static float clamp6(float x)
{
    const float above = x < 0.0f ? 0.0f : x; /* keeps NaN */
    return above > 6.0f ? 6.0f : above;
}

static float silu_slope(float x)
{
    const float s = sigmoid(x);
    return s * (1.0f + x * (1.0f - s));
}

static float gelu_slope(float x)
{
    return 0.5f * (1.0f + erff(x * INVERSE_SQRT_2)) + x * INVERSE_SQRT_TAU * expf(-0.5f * x * x);
}

static float hard_swish_slope(float x)
{
    return x < -3.0f ? 0.0f : x <= 3.0f ? x / 3.0f + 0.5f : 1.0f;
}

ACTIVATION(relu, x<0.0f ? 0.0f : x, v> 0.0f ? d : 0.0f) /* NaN stays NaN */
ACTIVATION(relu6, clamp6(x), v > 0.0f && v < 6.0f ? d : 0.0f)
ACTIVATION(leaky_relu, x > 0.0f ? x : x * number, v > 0.0f ? d : d * number)
ACTIVATION(sigmoid, sigmoid(x), d *(1.0f - v) * v)
ACTIVATION(tanh, tanhf(x), d *(1.0f - v * v))
ACTIVATION(silu, x *sigmoid(x), d *silu_slope(v))
ACTIVATION(gelu, 0.5f * x * (1.0f + erff(x * INVERSE_SQRT_2)), d *gelu_slope(v))
ACTIVATION(hard_sigmoid, clamp6(x + 3.0f) / 6.0f, v > -3.0f && v < 3.0f ? d / 6.0f : 0.0f)
ACTIVATION(hard_swish, x *clamp6(x + 3.0f) / 6.0f, d *hard_swish_slope(v))
