/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classic methods (Muller, "Elementary Functions: Algorithms and Implementation", chapters 5 and
 * 11): reduce the argument to a small range where a Taylor polynomial of fixed length has
 * converged, evaluate it by Horner's rule, undo the reduction.
 *
 *     exp      x = k ln 2 + r, |r| <= ln 2 / 2;             e^x = 2^k e^r
 *     log      x = 2^e m, sqrt(1/2) <= m <= sqrt(2);        log x = e ln 2 + 2 artanh((m-1)/(m+1))
 *     cos_pi   x = n + r, |r| <= 1/2;                       cos(pi x) = (-1)^n cos(pi r)
 *              and from |r| = 1/4 on, cos(pi r) = sin(pi (1/2 - |r|)), where nothing cancels
 *
 * ln 2 is split in two parts (Cody and Waite): the first has 33 bits, so its product with an
 * integer below 2^20 is exact. Operations round in the order written; the build forbids
 * contraction.
 */
#include "base/real.h"

#include <float.h>
#include <math.h>
#include <string.h>

#if FLT_EVAL_METHOD != 0 && FLT_EVAL_METHOD != 16
#error "double is evaluated in a wider type: on x86, compile with -msse2 -mfpmath=sse"
#endif

#define LN2_HIGH 0x1.62e42fefp-1
#define LN2_LOW 0x1.473de6af278edp-34 /* ln 2 - LN2_HIGH */
#define LOG2_E 0x1.71547652b82fep+0
#define PI 0x1.921fb54442d18p+1
#define SQRT_2 0x1.6a09e667f3bcdp+0

#define EXP_LARGEST 709.79 /* e^x overflows above this */
#define EXP_LEAST (-745.2) /* e^x is 0 below this */
#define EVEN_FROM 0x1p53   /* all larger doubles are even integers */

/* 2^k for -1022 <= k <= 1023. */
static double power_of_two(int k)
{
    const uint64_t bits = (uint64_t)(k + 1023) << 52;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double sh_real_exp(double x)
{
    if (isnan(x))
        return x;
    if (x > EXP_LARGEST)
        return INFINITY;
    if (x < EXP_LEAST)
        return 0;
    const int k = (int)(x * LOG2_E + (x < 0 ? -0.5 : 0.5));
    const double r = (x - k * LN2_HIGH) - k * LN2_LOW;
    double p = 1; /* (r/14)^14 / 14! is below 2^-57 */
    for (int n = 14; n > 0; n--)
        p = 1 + p * r / n;
    const int half = k / 2; /* 2^k itself may be out of range; only the last product can round */
    return p * power_of_two(half) * power_of_two(k - half);
}

/* x = m * 2^*exponent with sqrt(1/2) <= m <= sqrt(2); x is positive and finite. */
static double split(double x, int *exponent)
{
    uint64_t bits;
    int e = 0;
    if (x < DBL_MIN) {
        x *= 0x1p54;
        e = -54;
    }
    memcpy(&bits, &x, sizeof bits);
    e += (int)(bits >> 52) - 1023;
    bits = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1023) << 52;
    memcpy(&x, &bits, sizeof x);
    if (x > SQRT_2) {
        x /= 2;
        e++;
    }
    *exponent = e;
    return x;
}

double sh_real_log(double x)
{
    if (isnan(x) || x < 0)
        return NAN;
    if (x == 0)
        return -INFINITY;
    if (isinf(x))
        return x;
    int e;
    const double m = split(x, &e);
    const double s = (m - 1) / (m + 1), square = s * s; /* |s| < 0.1716 */
    double p = 1.0 / 23;                                /* s^24 / 25 is below 2^-64 */
    for (int n = 21; n > 1; n -= 2)
        p = 1.0 / n + p * square;
    return e * LN2_HIGH + (e * LN2_LOW + (2 * s + 2 * s * (p * square)));
}

double sh_real_cos_pi(double x)
{
    x = fabs(x);
    if (!isfinite(x))
        return NAN;
    if (x >= EVEN_FROM)
        return 1;
    uint64_t n = (uint64_t)x;
    double r = x - (double)n; /* exact, like everything up to the products with pi */
    if (r > 0.5) {
        n++;
        r = 1 - r;
    }
    double p = 1;
    if (r <= 0.25) {
        const double y = PI * r, square = y * y;
        for (int k = 18; k > 0; k -= 2)
            p = 1 - p * square / (k * (k - 1));
    } else {
        const double y = PI * (0.5 - r), square = y * y;
        for (int k = 17; k > 1; k -= 2)
            p = 1 - p * square / (k * (k - 1));
        p *= y;
    }
    return n % 2 == 0 ? p : -p;
}

double sh_real_power(double base, uint64_t exponent)
{
    double result = 1;
    for (; exponent > 0; exponent >>= 1) {
        if ((exponent & 1) != 0)
            result *= base;
        base *= base;
    }
    return result;
}
