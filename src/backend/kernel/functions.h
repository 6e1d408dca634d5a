/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elementary functions of each element of a vector. They use only integers and operations that IEEE
 * 754 defines exactly, so all variants give the same bits. docs/arithmetic.md has the formulas;
 * scripts/function_coefficients.py makes the coefficients.
 *
 *                   error at most   where
 *     vec_exp       0.90 ulp        e^x; +infinity from 88.72284 on, +0 below -103.97208, 1 for +-0
 *     vec_log       0.89 ulp        x > 0; -infinity for +-0, NaN below 0, +infinity for itself
 *     vec_tanh      1.37 ulp        odd, -0 for -0, +-1 from about 9.01 on
 *     vec_erf       1.04 ulp        odd, -0 for -0, +-1 from about 3.92 on
 *
 * Errors are over all floats, compared with double precision. Denormal results are equally exact.
 * Every NaN gives the NaN 0x7fc00000.
 *
 * Threads: any.
 */
#ifndef SHOAL_BACKEND_KERNEL_FUNCTIONS_H
#define SHOAL_BACKEND_KERNEL_FUNCTIONS_H

#include <math.h>

#include "backend/kernel/vector.h"

typedef uint32_t vec_bits __attribute__((vector_size(VEC * 4)));

/* Not inlined: a call costs little here. */
#define VEC_FUNCTION static __attribute__((noinline, unused))

#define VEC_NAN 0x7fc00000u
#define VEC_SIGN 0x80000000u
#define VEC_LN2_HIGH 0x1.62e43p-1f
#define VEC_LN2_LOW (-0x1.05c61p-29f)

VEC_INLINE vec_bits vec_all_bits(uint32_t bits)
{
    return (vec_bits){0} + bits;
}

VEC_INLINE vec vec_keep_nan(vec x, vec y)
{
    return vec_choose(x == x, y, (vec)vec_all_bits(VEC_NAN));
}

VEC_INLINE vec vec_abs(vec x)
{
    return (vec)((vec_bits)x & ~VEC_SIGN);
}

/* y >= 0 with the sign of x. */
VEC_INLINE vec vec_sign_of(vec x, vec y)
{
    return (vec)((vec_bits)y | ((vec_bits)x & VEC_SIGN));
}

VEC_INLINE vec vec_polynomial(vec x, const float *c, const size_t degree)
{
    vec sum = vec_all(c[degree]);
#pragma GCC unroll 16
    for (size_t n = degree; n-- > 0;)
        sum = vec_fma(sum, x, vec_all(c[n]));
    return sum;
}

/*
 * e^x = 2^k e^r, where x = k ln 2 + r and |r| is at most about ln 2 / 2. Adding 1.5 2^23 rounds
 * x / ln 2 to the integer k, in the last bits of that sum. A float cannot hold every 2^k, so the
 * code multiplies by two powers of two; only the second product can round. Beyond the limits of x
 * the result is infinite or 0.
 */
VEC_FUNCTION vec vec_exp(vec x)
{
    static const float c[] = {0x1p+0f,        0x1p+0f,        0x1.fffffcp-2f, 0x1.555492p-3f,
                              0x1.5558f2p-5f, 0x1.123a0ap-7f, 0x1.6a23f8p-10f};
    const vec magic = vec_all(0x1.8p+23f);
    vec limited = vec_choose(x < 89.0f, x, vec_all(89.0f));
    limited = vec_choose(limited > -104.0f, limited, vec_all(-104.0f));
    const vec shifted = vec_fma(limited, vec_all(0x1.715476p+0f), magic);
    const vec k = shifted - magic;
    const vec_int power = (vec_int)shifted - (vec_int)magic, half = power >> 1;
    const vec r = vec_fma(k, vec_all(-VEC_LN2_LOW), vec_fma(k, vec_all(-VEC_LN2_HIGH), limited));
    const vec first = (vec)((half + 127) << 23), second = (vec)((power - half + 127) << 23);
    return vec_keep_nan(x, vec_polynomial(r, c, 6) * first * second);
}

/* x = 2^e (1 + f) with 2/3 <= 1 + f < 4/3; log x = e ln 2 + log(1 + f). */
VEC_FUNCTION vec vec_log(vec x)
{
    static const float c[] = {-0x1p-1f,        0x1.5554fap-2f,  -0x1.ffff94p-3f,
                              0x1.99d5e4p-3f,  -0x1.557d6cp-3f, 0x1.1e78e8p-3f,
                              -0x1.f6e5c4p-4f, 0x1.203b1ep-3f,  -0x1.fe18bcp-4f};
    const vec_bits two_thirds = vec_all_bits(0x3f2aaaabu);
    const vec_int small = x < 0x1p-126f;
    const vec_bits bits = (vec_bits)vec_choose(small, x * 0x1p+23f, x);
    const vec_int power = (vec_int)(bits - two_thirds) >> 23;
    const vec f = (vec)(bits - ((vec_bits)power << 23)) - 1.0f;
    const vec e = __builtin_convertvector(power + (small & -23), vec);
    const vec square = f * f;
    const vec rest = vec_fma(square, vec_polynomial(f, c, 8), e * vec_all(VEC_LN2_LOW));
    vec y = vec_fma(e, vec_all(VEC_LN2_HIGH), f + rest);
    y = vec_choose(x < INFINITY, y, x);
    y = vec_choose(x == 0.0f, vec_all(-INFINITY), y);
    y = vec_choose(x < 0.0f, (vec)vec_all_bits(VEC_NAN), y);
    return vec_keep_nan(x, y);
}

/* a + a^3 P(a^2) for a = |x| < 0.625, else 1 - 2 / (e^2a + 1). */
VEC_FUNCTION vec vec_tanh(vec x)
{
    static const float c[] = {-0x1.555532p-2f, 0x1.110726p-3f, -0x1.b83c5ap-5f, 0x1.52269ep-6f,
                              -0x1.75e1dcp-8f};
    const vec a = vec_abs(x), square = a * a;
    const vec near = vec_fma(a * square, vec_polynomial(square, c, 4), a);
    const vec far = 1.0f - 2.0f / (vec_exp(a + a) + 1.0f);
    return vec_keep_nan(x, vec_sign_of(x, vec_choose(a < 0.625f, near, far)));
}

/* a + a P(a^2) for a = |x| < 1, else 1 - Q(a - 2.5); 1 from 3.92 on. */
VEC_FUNCTION vec vec_erf(vec x)
{
    static const float p[] = {0x1.06eba8p-3f, -0x1.81273ep-2f,  0x1.ce2cf8p-4f, -0x1.b7f90cp-6f,
                              0x1.5405bp-8f,  -0x1.a3f6f8p-11f, 0x1.496a1cp-14f};
    static const float q[] = {0x1.aab86cp-12f, -0x1.1d82eep-9f,  0x1.64e392p-8f,   -0x1.119e7ep-7f,
                              0x1.1a8b5ap-7f,  -0x1.90dd04p-8f,  0x1.6eb1e6p-9f,   -0x1.1d5e64p-11f,
                              -0x1.0f747p-12f, 0x1.0970eep-12f,  -0x1.53b57p-14f,  -0x1.fcac78p-18f,
                              0x1.0715e8p-16f, -0x1.d85608p-19f, -0x1.db0dd8p-21f, 0x1.80f162p-22f};
    const vec a = vec_abs(x);
    const vec near = vec_fma(a, vec_polynomial(a * a, p, 6), a);
    const vec t = vec_choose(a < 3.92f, a, vec_all(3.92f)) - 2.5f;
    const vec far = vec_choose(a < 3.92f, 1.0f - vec_polynomial(t, q, 15), vec_all(1.0f));
    return vec_keep_nan(x, vec_sign_of(x, vec_choose(a < 1.0f, near, far)));
}

#endif
