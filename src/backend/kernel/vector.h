/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The vectors of one variant. Kernels are written once in these terms; each variant's file includes
 * them, compiled for its instruction set.
 *
 * Operators of the compiler's vectors work on each element and round once (-ffp-contract=off), as
 * does vec_fma, so a chain has the same bits for any vector width.
 *
 *     AVX-512   16 floats
 *     AVX2       8, with FMA
 *     NEON       4, 64-bit Arm only: on 32-bit Arm it flushes denormal numbers to 0
 *     VFPv4      1, 32-bit Arm
 *     plain      4, by the compiler; requested by VEC_EMULATES
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
#elif defined(__aarch64__) && !defined(VEC_EMULATES)
#include <arm_neon.h>
#define VEC 4
#define VEC_NEON
#elif defined(__arm__) && defined(__ARM_FEATURE_FMA)
#include <math.h>
#define VEC 1
#else
#define VEC_EMULATES
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

VEC_INLINE vec vec_all(float x)
{
#if VEC == 16
    return (vec)_mm512_set1_ps(x);
#elif VEC == 8
    return (vec)_mm256_set1_ps(x);
#elif VEC == 4
    return (vec){x, x, x, x};
#else
    return (vec){x};
#endif
}

/* A vector that is kept between iterations: the compiler keeps vectors of one in memory. */
#if VEC == 1
typedef float vec_held;
#define vec_hold(x) ((x)[0])
#define vec_of(held) vec_all(held)
#else
typedef vec vec_held;
#define vec_hold(x) (x)
#define vec_of(held) (held)
#endif

#if defined(VEC_EMULATES)
#include "backend/kernel/emulation.h"
#else
VEC_INLINE vec vec_fma(vec a, vec b, vec c)
{
#if VEC == 16
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VEC == 8
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(VEC_NEON)
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return (vec){fmaf(a[0], b[0], c[0])};
#endif
}
#endif

/* a where the mask is -1, b where it is 0. */
VEC_INLINE vec vec_choose(vec_int mask, vec a, vec b)
{
    return (vec)((mask & (vec_int)a) | (~mask & (vec_int)b));
}

#endif
