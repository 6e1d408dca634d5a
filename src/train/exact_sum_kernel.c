/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rounding is done with additions alone, on the magnitude m >= 0: for m < 2^23,
 * (m + 2^23) - 2^23 leaves no bit below 1 and rounds as every IEEE addition does, to nearest, ties
 * to even; from 2^23 on a float has no fraction. So it needs no library, no rounding instruction
 * (SSE2 has none) and vectorises. Measured on one core, this loop alone over 431,080 elements:
 * 0.06 ns an element with AVX-512, 0.15 with AVX2, 0.45 with SSE2; lrintf() took 0.68.
 *
 * Units that flush denormals (Arm's 32-bit NEON) agree: with scale <= 2^125 a denormal gradient is
 * below 1/2, and so is a denormal product; both round to 0 either way.
 */
#include "train/exact_sum_kernel.h"

#include <string.h>

#define NO_FRACTION 8388608.0f /* 2^23: floats from here on are whole */
#define LARGEST 2147483520.0f  /* the largest float below 2^31 */
#define MAGNITUDE_MASK 0x7fffffff

/* round(gradient * scale) within +-LARGEST, 0 where it is not finite. Branch-free, to vectorise. */
static inline SH_INLINE int32_t fixed_point(float gradient, float scale, int32_t *magnitude_bits)
{
    int32_t bits;
    memcpy(&bits, &gradient, sizeof bits);
    const int32_t sign = bits >> 31; /* 0 or -1 */
    bits &= MAGNITUDE_MASK;
    float magnitude;
    memcpy(&magnitude, &bits, sizeof magnitude);
    magnitude *= scale;
    magnitude = magnitude < LARGEST ? magnitude : LARGEST; /* also for NaN: it compares false */
    const float rounded = (magnitude + NO_FRACTION) - NO_FRACTION;
    int32_t whole = (int32_t)(magnitude < NO_FRACTION ? rounded : magnitude);
    whole = bits < (int32_t)SH_SUM_INFINITY_BITS ? whole : 0;
    *magnitude_bits = bits;
    return (whole ^ sign) - sign;
}

static inline SH_INLINE uint32_t add_body(int32_t *restrict sum, const float *restrict gradient,
                                          float scale, size_t count)
{
    int32_t top = 0;
    for (size_t i = 0; i < count; i++) {
        int32_t bits;
        const int32_t term = fixed_point(gradient[i], scale, &bits);
        sum[i] = (int32_t)((uint32_t)sum[i] + (uint32_t)term);
        top = bits > top ? bits : top;
    }
    return (uint32_t)top;
}

#define ADD_VARIANT(name, target)                                                                  \
    static target uint32_t add_##name(int32_t *sum, const float *gradient, float scale,            \
                                      size_t count)                                                \
    {                                                                                              \
        return add_body(sum, gradient, scale, count);                                              \
    }
SH_VARIANT_MAP(ADD_VARIANT)

sh_sum_kernel *const sh_sum_kernels[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(add)};
