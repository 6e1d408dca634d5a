/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators. */
#define OF_ONE(name, expression)                                                                   \
    __kernel void gpu_##name(WORK, GLOBAL const float *in, GLOBAL float *out)                      \
    {                                                                                              \
        GRAIN_AND_ELEMENT                                                                          \
        const float x = in[grain * w->step[0] + element];                                          \
        out[at] = expression;                                                                      \
    }

OF_ONE(relu, x < 0.0f ? 0.0f : x)
OF_ONE(relu6, clamp6(x))
OF_ONE(leaky_relu, x > 0.0f ? x : x * w->number)
OF_ONE(sigmoid, sigmoid_of(x))
OF_ONE(tanh, tanh_of(x))
OF_ONE(silu, x *sigmoid_of(x))
OF_ONE(gelu, 0.5f * x * (1.0f + erf_of(x * 0x1.6a09e6p-1f)))
OF_ONE(hard_sigmoid, DIVIDE(clamp6(x + 3.0f), 6.0f))
OF_ONE(hard_swish, DIVIDE(x *clamp6(x + 3.0f), 6.0f))
OF_ONE(negate, -x)

INLINE float silu_slope(float x)
{
    const float s = sigmoid_of(x);
    return s * (1.0f + x * (1.0f - s));
}

INLINE float gelu_slope(float x)
{
    return 0.5f * (1.0f + erf_of(x * 0x1.6a09e6p-1f)) + x * 0x1.988454p-2f * exp_of(-0.5f * x * x);
}

#define OF_TWO(name, expression)                                                                   \
    __kernel void gpu_##name(WORK, GLOBAL const float *first, GLOBAL const float *second,          \
                             GLOBAL float *out)                                                    \
    {                                                                                              \
        GRAIN_AND_ELEMENT                                                                          \
        const float a = first[grain * w->step[0] + element];                                       \
        const float b = second[grain * w->step[1] + element];                                      \
        out[at] = expression;                                                                      \
    }

OF_TWO(add, a + b)
OF_TWO(subtract, a - b)
OF_TWO(multiply, a *b)
OF_TWO(relu_grad, b > 0.0f ? a : 0.0f)
OF_TWO(relu6_grad, b > 0.0f && b < 6.0f ? a : 0.0f)
OF_TWO(leaky_relu_grad, b > 0.0f ? a : a * w->number)
OF_TWO(sigmoid_grad, a *(1.0f - b) * b)
OF_TWO(tanh_grad, a *(1.0f - b * b))
OF_TWO(silu_grad, a *silu_slope(b))
OF_TWO(gelu_grad, a *gelu_slope(b))
OF_TWO(hard_sigmoid_grad, b > -3.0f && b < 3.0f ? DIVIDE(a, 6.0f) : 0.0f)
OF_TWO(hard_swish_grad, a *(b < -3.0f ? 0.0f : b <= 3.0f ? DIVIDE(b, 3.0f) + 0.5f : 1.0f))

KERNEL(relu_sum_grad)
(WORK, GLOBAL const float *y, GLOBAL const float *a, GLOBAL const float *b, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    const float kept = y[grain * w->step[0] + element];
    const float sum = a[grain * w->step[1] + element] + b[grain * w->step[2] + element];
    dx[at] = kept > 0.0f && (w->activation != 2 || kept < 6.0f) ? sum : 0.0f;
}

/* x [rows, inner] times b [rows]. */
KERNEL(scale)(WORK, GLOBAL const float *x, GLOBAL const float *b, GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    y[at] = x[grain * w->step[0] + element] * b[grain * w->step[1] + element / w->inner];
}

/* A grain's measured value times the grain's part of the batch. */
KERNEL(statistic)
(WORK, GLOBAL const float *measured, GLOBAL const float *weights, GLOBAL float *out)
{
    GRAIN_AND_ELEMENT
    float part = 0.0f;
    for (uint n = 0; n < w->samples; n++)
        part += weights[grain * w->step[1] + n];
    out[at] = measured[grain * w->step[0] + element] * (part * w->number);
}

/* Moves elements: element (i, j, ...) of the result comes from a_step of input 0. */
KERNEL(move)(WORK, GLOBAL const float *in, GLOBAL float *out)
{
    GRAIN_AND_ELEMENT
    uint left = element, from = grain * w->step[0] + w->offset;
    for (uint d = 0; d < w->rank; d++) {
        from += left % w->dim[d] * w->a_step[d];
        left /= w->dim[d];
    }
    out[at] = in[from];
}

/* The same with zeros around: by dimension, the input's `extent` elements begin at `before`. */
KERNEL(pad)(WORK, GLOBAL const float *in, GLOBAL float *out)
{
    GRAIN_AND_ELEMENT
    uint left = element, from = grain * w->step[0];
    bool inside = true;
    for (uint d = 0; d < w->rank; d++) {
        const uint place = left % w->dim[d] - w->before[d]; /* may wrap below zero */
        inside = inside && place < w->extent[d];
        from += place * w->a_step[d];
        left /= w->dim[d];
    }
    out[at] = inside ? in[from] : 0.0f;
}

/* Copies x [outer, K', inner] to y [outer, middle, inner], from `offset` of the middle on; K = K'
 * inner. */
KERNEL(join)(WORK, GLOBAL const float *x, GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    const uint outer = element / w->K, rest = element % w->K;
    y[(grain * w->outer + outer) * w->middle * w->inner + w->offset * w->inner + rest] =
        x[grain * w->step[0] + element];
}

/* Dropout of x [samples, channels, inner] (backend/dropout_mask.h): keys [samples, 2], scale numbers[0]. */
KERNEL(dropout)(WORK, GLOBAL const float *x, GLOBAL const uint *keys, GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    const uint each = w->channels * w->inner, sample = element / each, place = element % each;
    const uint order =
        place % w->inner * w->channels + place / w->inner; /* channels are fastest */
    keys += grain * w->step[1] + 2 * sample;
    uint k0 = keys[0], k1 = keys[1];
    uint c0 = order / 64 * 16 + order % 16, c1 = w->layer, c2 = 0, c3 = 0;
    for (uint round = 0; round < 10; round++, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u) {
        const ulong p0 = (ulong)0xD2511F53u * c0, p1 = (ulong)0xCD9E8D57u * c2;
        c0 = (uint)(p1 >> 32) ^ c1 ^ k0;
        c2 = (uint)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint)p1;
        c3 = (uint)p0;
    }
    const uint which = order % 64 / 16, word = which == 0   ? c0
                                               : which == 1 ? c1
                                               : which == 2 ? c2
                                                            : c3;
    y[at] = x[grain * w->step[0] + element] * (word >= w->threshold ? w->numbers[0] : 0.0f);
}

/* unary and its slope: functions of graph/formulas.h, defined in docs/arithmetic.md. */
static float power_of(float x, float p)
{
    const float most = p < 0.0f ? -p : p;
    if (most == 0.5f)
        return p > 0.0f ? SQRT(x) : DIVIDE(1.0f, SQRT(x));
    if (!(most <= 64.0f) || most != (float)(int)most)
        return exp_of(p * log_of(x));
    float y = 1.0f;
    for (int n = (int)most; n > 0; n /= 2, x = x * x)
        if (n % 2 != 0)
            y = y * x;
    return p < 0.0f ? DIVIDE(1.0f, y) : y;
}

INLINE float softplus_of(float x)
{
    return (x < 0.0f ? 0.0f : x) + log_of(1.0f + exp_of(-magnitude(x)));
}

INLINE float line_of(const sh_gpu_work *w, float x)
{
    return x * w->numbers[0] + w->numbers[1];
}

KERNEL(unary)(WORK, GLOBAL const float *in, GLOBAL float *out)
{
    GRAIN_AND_ELEMENT
    const float x = in[grain * w->step[0] + element], a = w->numbers[0], b = w->numbers[1];
    float y;
    switch (w->function) {
    case SH_UNARY_EXP:
        y = exp_of(x);
        break;
    case SH_UNARY_LOG:
        y = log_of(x);
        break;
    case SH_UNARY_SQRT:
        y = SQRT(x);
        break;
    case SH_UNARY_RECIPROCAL:
        y = DIVIDE(1.0f, x);
        break;
    case SH_UNARY_ABS:
        y = magnitude(x);
        break;
    case SH_UNARY_SOFTPLUS:
        y = softplus_of(x);
        break;
    case SH_UNARY_ELU:
        y = x > 0.0f ? x : a * (exp_of(x) - 1.0f);
        break;
    case SH_UNARY_MISH:
        y = x * tanh_of(softplus_of(x));
        break;
    case SH_UNARY_ERF:
        y = erf_of(x);
        break;
    case SH_UNARY_POWER:
        y = power_of(x, a);
        break;
    case SH_UNARY_CLIP:
        y = x < a ? a : x > b ? b : x;
        break;
    case SH_UNARY_HARD_SIGMOID:
        y = line_of(w, x);
        y = y < 0.0f ? 0.0f : y > 1.0f ? 1.0f : y;
        break;
    default:
        y = line_of(w, x);
    }
    out[at] = y;
}

KERNEL(unary_grad)(WORK, GLOBAL const float *dy, GLOBAL const float *in, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    const float x = in[grain * w->step[1] + element], a = w->numbers[0], b = w->numbers[1];
    float slope, y;
    switch (w->function) {
    case SH_UNARY_EXP:
        slope = exp_of(x);
        break;
    case SH_UNARY_LOG:
        slope = DIVIDE(1.0f, x);
        break;
    case SH_UNARY_SQRT:
        slope = DIVIDE(0.5f, SQRT(x));
        break;
    case SH_UNARY_RECIPROCAL:
        slope = DIVIDE(-1.0f, x * x);
        break;
    case SH_UNARY_ABS:
        slope = x > 0.0f ? 1.0f : x < 0.0f ? -1.0f : 0.0f;
        break;
    case SH_UNARY_SOFTPLUS:
        slope = sigmoid_of(x);
        break;
    case SH_UNARY_ELU:
        slope = x > 0.0f ? 1.0f : a * exp_of(x);
        break;
    case SH_UNARY_MISH:
        y = tanh_of(softplus_of(x));
        slope = y + x * (sigmoid_of(x) * (1.0f - y * y));
        break;
    case SH_UNARY_ERF:
        slope = 0x1.20dd76p+0f * exp_of(-(x * x));
        break;
    case SH_UNARY_POWER:
        slope = a * power_of(x, a - 1.0f);
        break;
    case SH_UNARY_CLIP:
        slope = x >= a && x <= b ? 1.0f : 0.0f;
        break;
    case SH_UNARY_HARD_SIGMOID:
        y = line_of(w, x);
        slope = y > 0.0f && y < 1.0f ? a : 0.0f;
        break;
    default:
        slope = a;
    }
    dx[at] = dy[grain * w->step[0] + element] * slope;
}
