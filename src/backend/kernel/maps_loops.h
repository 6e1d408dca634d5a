/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernels of kernel/maps.h, for the variant that includes this. Activations are loops over
 * whole vectors; the rest is copied to a padded buffer.
 */
#include "backend/kernel/functions.h"
#include "backend/kernel/maps.h"
#include "backend/kernel/vector_part.h"

#define PARTS 16
#define ROW (PARTS / VEC)

/* ---- activations ----------------------------------------------------------------------------- */

VEC_INLINE vec clamp6(vec x)
{
    const vec above = vec_choose(x < 0.0f, vec_all(0.0f), x); /* keeps NaN */
    return vec_choose(above > 6.0f, vec_all(6.0f), above);
}

VEC_INLINE vec sigmoid(vec x)
{
    return 1.0f / (1.0f + vec_exp(-x));
}

VEC_INLINE vec silu_slope(vec x)
{
    const vec s = sigmoid(x);
    return s * (1.0f + x * (1.0f - s));
}

#define INVERSE_SQRT_2 0x1.6a09e6p-1f
#define INVERSE_SQRT_TAU 0x1.988454p-2f

VEC_INLINE vec gelu(vec x)
{
    return 0.5f * x * (1.0f + vec_erf(x * INVERSE_SQRT_2));
}

VEC_INLINE vec gelu_slope(vec x)
{
    return 0.5f * (1.0f + vec_erf(x * INVERSE_SQRT_2)) +
           x * INVERSE_SQRT_TAU * vec_exp(-0.5f * x * x);
}

#define FORWARD(op, expression)                                                                    \
    case SH_OP_##op:                                                                               \
        for (size_t i = 0; i < count; i += VEC) {                                                  \
            const vec x = vec_load(in + i);                                                        \
            vec_store(out + i, expression);                                                        \
        }                                                                                          \
        return;

static void activate_whole(sh_op op, float number, size_t count, const float *in, float *out)
{
    const vec zero = vec_all(0.0f);
    switch (op) {
        FORWARD(relu, vec_choose(x < 0.0f, zero, x)) /* keeps NaN */
        FORWARD(relu6, clamp6(x))
        FORWARD(leaky_relu, vec_choose(x > 0.0f, x, x * number))
        FORWARD(sigmoid, sigmoid(x))
        FORWARD(tanh, vec_tanh(x))
        FORWARD(silu, x * sigmoid(x))
        FORWARD(gelu, gelu(x))
        FORWARD(hard_sigmoid, clamp6(x + 3.0f) / 6.0f)
        FORWARD(hard_swish, x * clamp6(x + 3.0f) / 6.0f)
    default:
        return;
    }
}

#define BACKWARD(op, expression)                                                                   \
    case SH_OP_##op:                                                                               \
        for (size_t i = 0; i < count; i += VEC) {                                                  \
            const vec d = vec_load(dy + i), v = vec_load(kept + i);                                \
            vec_store(dx + i, expression);                                                         \
        }                                                                                          \
        return;

static void activate_grad_whole(sh_op op, float number, size_t count, const float *dy,
                                const float *kept, float *dx)
{
    const vec zero = vec_all(0.0f), one = vec_all(1.0f);
    switch (op) {
        BACKWARD(relu, vec_choose(v > 0.0f, d, zero))
        BACKWARD(relu6, vec_choose((v > 0.0f) & (v < 6.0f), d, zero))
        BACKWARD(leaky_relu, vec_choose(v > 0.0f, d, d * number))
        BACKWARD(sigmoid, d * (one - v) * v)
        BACKWARD(tanh, d * (one - v * v))
        BACKWARD(silu, d * silu_slope(v))
        BACKWARD(gelu, d * gelu_slope(v))
        BACKWARD(hard_sigmoid, vec_choose((v > -3.0f) & (v < 3.0f), d / 6.0f, zero))
        BACKWARD(hard_swish,
                 d * vec_choose(v < -3.0f, zero, vec_choose(v <= 3.0f, v / 3.0f + 0.5f, one)))
    default:
        return;
    }
}

static void activate(sh_op op, float number, size_t count, const float *x, float *y)
{
    const size_t left = count % VEC, whole = count - left;
    float rest[VEC];
    activate_whole(op, number, whole, x, y);
    if (left == 0)
        return;
    vec_store(rest, vec_load_part(x + whole, left));
    activate_whole(op, number, VEC, rest, rest);
    vec_store_part(y + whole, vec_load(rest), left);
}

static void activate_grad(sh_op op, float number, size_t count, const float *dy, const float *kept,
                          float *dx)
{
    const size_t left = count % VEC, whole = count - left;
    float rest[2][VEC];
    activate_grad_whole(op, number, whole, dy, kept, dx);
    if (left == 0)
        return;
    vec_store(rest[0], vec_load_part(dy + whole, left));
    vec_store(rest[1], vec_load_part(kept + whole, left));
    activate_grad_whole(op, number, VEC, rest[0], rest[1], rest[0]);
    vec_store_part(dx + whole, vec_load(rest[0]), left);
}

static void map(sh_function f, size_t count, const float *x, float *y)
{
    for (size_t i = 0; i < count; i += VEC) {
        const size_t left = count - i < VEC ? count - i : VEC;
        vec now = vec_load_part(x + i, left);
        switch (f) {
        case SH_EXP:
            now = vec_exp(now);
            break;
        case SH_LOG:
            now = vec_log(now);
            break;
        case SH_TANH:
            now = vec_tanh(now);
            break;
        case SH_ERF:
            now = vec_erf(now);
            break;
        }
        vec_store_part(y + i, now, left);
    }
}

/* ---- sums ------------------------------------------------------------------------------------ */

static float largest(size_t count, const float *x)
{
    vec most = vec_all(x[0]);
    size_t i = 0;
    for (; i + VEC <= count; i += VEC) {
        const vec now = vec_load(x + i);
        most = vec_choose(now > most, now, most);
    }
    float all = most[0];
    for (size_t j = 1; j < VEC; j++)
        all = most[j] > all ? most[j] : all;
    for (; i < count; i++)
        all = x[i] > all ? x[i] : all;
    return all;
}

VEC_INLINE float combine(const vec part[ROW])
{
    float sum[PARTS];
    for (size_t v = 0; v < ROW; v++)
        vec_store(sum + v * VEC, part[v]);
    for (size_t n = PARTS / 2; n > 0; n /= 2)
        for (size_t p = 0; p < n; p++)
            sum[p] += sum[p + n];
    return sum[0];
}

typedef enum terms { EXP, ABOVE, PRODUCTS } terms;

/* Missing elements add +0, which changes nothing, because no part is ever -0. */
VEC_INLINE vec add_terms(const terms kind, vec part, size_t left, float shift, const float *a,
                         const float *b, float *y)
{
    const bool whole = left >= VEC;
    const vec from = whole ? vec_load(a) : vec_load_part(a, left);
    if (kind == PRODUCTS)
        return vec_fma(from, whole ? vec_load(b) : vec_load_part(b, left), part);
    vec term = from - shift;
    if (kind == EXP)
        term = vec_exp(term);
    if (y != NULL && whole)
        vec_store(y, term);
    else if (y != NULL)
        vec_store_part(y, term, left);
    if (!whole) {
        float kept[VEC];
        vec_store(kept, term);
        term = vec_load_part(kept, left);
    }
    return part + term;
}

VEC_INLINE float add_up(const terms kind, size_t count, float shift, const float *a, const float *b,
                        float *y)
{
    vec part[ROW] = {0};
    for (size_t i = 0; i < count; i += PARTS)
#pragma GCC unroll 4
        for (size_t v = 0; v < ROW; v++) {
            const size_t at = i + v * VEC;
            if (at < count)
                part[v] = add_terms(kind, part[v], count - at, shift, a + at,
                                    b == NULL ? b : b + at, y == NULL ? y : y + at);
        }
    return combine(part);
}

static float exp_sum(size_t count, float shift, const float *x, float *y)
{
    return add_up(EXP, count, shift, x, NULL, y);
}

static float sum_above(size_t count, float shift, const float *x)
{
    return add_up(ABOVE, count, shift, x, NULL, NULL);
}

static float dot(size_t count, const float *a, const float *b)
{
    return add_up(PRODUCTS, count, 0, a, b, NULL);
}

VEC_INLINE double wide_term(const sh_wide kind, double a, double b, double center)
{
    switch (kind) {
    case SH_WIDE_SQUARES:
        return (a - center) * (a - center);
    case SH_WIDE_PRODUCTS:
        return a * (b - center);
    case SH_WIDE_DISTANCE:
        return (a - b) * (a - b);
    default:
        return a;
    }
}

VEC_INLINE void wide_rows(const sh_wide kind, double part[PARTS], size_t count, const float *a,
                          const float *b, double center)
{
    for (size_t i = 0; i + PARTS <= count; i += PARTS)
        for (size_t p = 0; p < PARTS; p++)
            part[p] += wide_term(kind, (double)a[i + p], b == NULL ? 0 : (double)b[i + p], center);
}

static double wide_sum(sh_wide kind, size_t count, const float *a, const float *b, double center)
{
    double part[PARTS] = {0};
    switch (kind) {
    case SH_WIDE_SUM:
        wide_rows(SH_WIDE_SUM, part, count, a, NULL, center);
        break;
    case SH_WIDE_SQUARES:
        wide_rows(SH_WIDE_SQUARES, part, count, a, NULL, center);
        break;
    case SH_WIDE_PRODUCTS:
        wide_rows(SH_WIDE_PRODUCTS, part, count, a, b, center);
        break;
    case SH_WIDE_DISTANCE:
        wide_rows(SH_WIDE_DISTANCE, part, count, a, b, center);
        break;
    }
    for (size_t i = count - count % PARTS; i < count; i++)
        part[i % PARTS] += wide_term(kind, (double)a[i], b == NULL ? 0 : (double)b[i], center);
    for (size_t n = PARTS / 2; n > 0; n /= 2)
        for (size_t p = 0; p < n; p++)
            part[p] += part[p + n];
    return part[0];
}
