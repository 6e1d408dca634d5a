/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vectors of one variant. The kernels are written once, in terms of these; each variant's file
 * is compiled for its instruction set and includes them.
 *
 *     vec sum = vec_all(0.0f);
 *     for (size_t i = 0; i + VEC <= count; i += VEC)
 *         sum = vec_fma(vec_load(x + i), vec_load(y + i), sum);
 *
 * A vec is a vector of the compiler's: + - * / and comparisons work on each element, are rounded
 * once (-ffp-contract=off) and mean the same on every processor. vec_fma is rounded once, too, so
 * that a chain of them has the same bits however wide vectors are.
 *
 *     AVX-512   16 floats
 *     AVX2       8, where the processor also has FMA
 *     NEON       4, of 64-bit Arm: that of 32-bit Arm takes denormal numbers for 0
 *     plain      4 as the compiler makes them; vec_fma is fmaf(), or without such an instruction
 *                its emulation in double precision
 *
 * Threads: any.
 */
#ifndef SHOAL_BACKEND_KERNEL_VECTOR_H
#define SHOAL_BACKEND_KERNEL_VECTOR_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/variant.h"

#if defined(__AVX512F__)
#include <immintrin.h>
#define VEC 16
#elif defined(__AVX2__) && defined(__FMA__)
#include <immintrin.h>
#define VEC 8
#elif defined(__aarch64__)
#include <arm_neon.h>
#define VEC 4
#else
#include <math.h>
#define VEC 4
#endif

typedef float vec __attribute__((vector_size(VEC * 4)));
typedef int32_t vec_int __attribute__((vector_size(VEC * 4)));
typedef float vec_anywhere __attribute__((vector_size(VEC * 4), aligned(4), may_alias));

#define VEC_INLINE static inline SH_INLINE

VEC_INLINE vec vec_load(const float *from)
{
    return *(const vec_anywhere *)from;
}

VEC_INLINE void vec_store(float *to, vec x)
{
    *(vec_anywhere *)to = x;
}

/* The same number in each element. */
VEC_INLINE vec vec_all(float x)
{
#if defined(__AVX512F__)
    return (vec)_mm512_set1_ps(x);
#elif VEC == 8
    return (vec)_mm256_set1_ps(x);
#else
    return (vec){x, x, x, x};
#endif
}

#if defined(__AVX512F__)
/* Of the first `count` elements; in a register, where gcc 12 would load it anew in each turn. */
VEC_INLINE __mmask16 vec_part(size_t count)
{
    __mmask16 mask = (__mmask16)((1u << count) - 1);
    __asm__("" : "+Yk"(mask));
    return mask;
}
#endif

/* The first `count` elements, at most VEC; the others are +0. */
VEC_INLINE vec vec_load_part(const float *from, size_t count)
{
#if defined(__AVX512F__)
    return (vec)_mm512_maskz_loadu_ps(vec_part(count), from);
#elif VEC == 8
    const vec_int lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return (vec)_mm256_maskload_ps(from, (__m256i)(lane < (int32_t)count));
#else
    vec x = {0};
    memcpy(&x, from, count * sizeof *from);
    return x;
#endif
}

VEC_INLINE void vec_store_part(float *to, vec x, size_t count)
{
#if defined(__AVX512F__)
    _mm512_mask_storeu_ps(to, vec_part(count), (__m512)x);
#elif VEC == 8
    const vec_int lane = {0, 1, 2, 3, 4, 5, 6, 7};
    _mm256_maskstore_ps(to, (__m256i)(lane < (int32_t)count), (__m256)x);
#else
    memcpy(to, &x, count * sizeof *to);
#endif
}

#if VEC == 4 && !defined(__aarch64__) && !defined(FP_FAST_FMAF)
#define VEC_EMULATES
#include "backend/kernel/emulation.h"
#else
/* a * b + c, rounded once. */
VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
#if defined(__AVX512F__)
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VEC == 8
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    for (size_t i = 0; i < VEC; i++)
        c[i] = fmaf(a[i], b[i], c[i]);
    return c;
#endif
}
#endif

/* a where the mask is -1, b where it is 0. */
VEC_INLINE vec vec_choose(vec_int mask, vec a, vec b)
{
    return (vec)((mask & (vec_int)a) | (~mask & (vec_int)b));
}

#endif
