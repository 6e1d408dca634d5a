/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one number (graph/formulas.h), for the variant that includes this. One loop is
 * enough: most functions take longer than the choice.
 */
#include "backend/kernel/functions.h"
#include "backend/kernel/maps.h"
#include "backend/kernel/vector_part.h"
#include "graph/formulas.h"

#define TWO_BY_ROOT_PI 0x1.20dd76p+0f

VEC_INLINE vec vec_sqrt(vec x)
{
    for (size_t i = 0; i < VEC; i++)
        x[i] = sqrtf(x[i]);
    return x;
}

VEC_FUNCTION vec unary_power(vec x, float p)
{
    const float most = p < 0 ? -p : p;
    if (most == 0.5f)
        return p > 0 ? vec_sqrt(x) : 1.0f / vec_sqrt(x);
    if (!(most <= 64) || most != (float)(int)most)
        return vec_exp(p * vec_log(x));
    vec y = vec_all(1.0f);
    for (int n = (int)most; n > 0; n /= 2, x = x * x)
        if (n % 2 != 0)
            y = y * x;
    return p < 0 ? 1.0f / y : y;
}

VEC_FUNCTION vec unary_softplus(vec x)
{
    return vec_choose(x < 0.0f, vec_all(0.0f), x) + vec_log(1.0f + vec_exp(-vec_abs(x)));
}

VEC_INLINE vec unary_line(vec x, const float number[2])
{
    return x * number[0] + number[1];
}

VEC_FUNCTION vec unary_value(sh_unary function, const float number[2], vec x)
{
    const vec zero = vec_all(0.0f), low = vec_all(number[0]), high = vec_all(number[1]);
    switch (function) {
    case SH_UNARY_EXP:
        return vec_exp(x);
    case SH_UNARY_LOG:
        return vec_log(x);
    case SH_UNARY_SQRT:
        return vec_sqrt(x);
    case SH_UNARY_RECIPROCAL:
        return 1.0f / x;
    case SH_UNARY_ABS:
        return vec_abs(x);
    case SH_UNARY_SOFTPLUS:
        return unary_softplus(x);
    case SH_UNARY_ELU:
        return vec_choose(x > 0.0f, x, number[0] * (vec_exp(x) - 1.0f));
    case SH_UNARY_MISH:
        return x * vec_tanh(unary_softplus(x));
    case SH_UNARY_ERF:
        return vec_erf(x);
    case SH_UNARY_POWER:
        return unary_power(x, number[0]);
    case SH_UNARY_CLIP:
        return vec_choose(x < low, low, vec_choose(x > high, high, x));
    case SH_UNARY_HARD_SIGMOID:
        x = unary_line(x, number);
        return vec_choose(x < 0.0f, zero, vec_choose(x > 1.0f, vec_all(1.0f), x));
    default:
        return unary_line(x, number);
    }
}

VEC_FUNCTION vec unary_slope(sh_unary function, const float number[2], vec x)
{
    const vec zero = vec_all(0.0f), one = vec_all(1.0f);
    vec y;
    switch (function) {
    case SH_UNARY_EXP:
        return vec_exp(x);
    case SH_UNARY_LOG:
        return 1.0f / x;
    case SH_UNARY_SQRT:
        return 0.5f / vec_sqrt(x);
    case SH_UNARY_RECIPROCAL:
        return -1.0f / (x * x);
    case SH_UNARY_ABS:
        return vec_choose(x > 0.0f, one, vec_choose(x < 0.0f, -one, zero));
    case SH_UNARY_SOFTPLUS:
        return sigmoid(x);
    case SH_UNARY_ELU:
        return vec_choose(x > 0.0f, one, number[0] * vec_exp(x));
    case SH_UNARY_MISH:
        y = vec_tanh(unary_softplus(x));
        return y + x * (sigmoid(x) * (1.0f - y * y));
    case SH_UNARY_ERF:
        return TWO_BY_ROOT_PI * vec_exp(-(x * x));
    case SH_UNARY_POWER:
        return number[0] * unary_power(x, number[0] - 1.0f);
    case SH_UNARY_CLIP:
        return vec_choose((x >= number[0]) & (x <= number[1]), one, zero);
    case SH_UNARY_HARD_SIGMOID:
        y = unary_line(x, number);
        return vec_choose((y > 0.0f) & (y < 1.0f), vec_all(number[0]), zero);
    default:
        return vec_all(number[0]);
    }
}

static void unary(sh_unary function, const float number[2], size_t count, const float *dy,
                  const float *x, float *y)
{
    for (size_t i = 0; i < count; i += VEC) {
        const size_t left = count - i;
        const vec at = left < VEC ? vec_load_part(x + i, left) : vec_load(x + i);
        vec result;
        if (dy == NULL)
            result = unary_value(function, number, at);
        else
            result = (left < VEC ? vec_load_part(dy + i, left) : vec_load(dy + i)) *
                     unary_slope(function, number, at);
        if (left < VEC)
            vec_store_part(y + i, result, left);
        else
            vec_store(y + i, result);
    }
}
