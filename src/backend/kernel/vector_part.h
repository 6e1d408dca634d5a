/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and stores the first elements of a vector.
 *
 *     vec_store_part(y + i, vec_load_part(x + i, count - i), count - i);
 *
 * Threads: any.
 */
#ifndef SHOAL_BACKEND_KERNEL_VECTOR_PART_H
#define SHOAL_BACKEND_KERNEL_VECTOR_PART_H

#include "backend/kernel/vector.h"

#if VEC == 16
/* The asm keeps the mask in a register; GCC 12 would load it in each iteration. */
VEC_INLINE __mmask16 vec_part(size_t count)
{
    __mmask16 mask = (__mmask16)((1u << count) - 1);
    __asm__("" : "+Yk"(mask));
    return mask;
}
#endif

/* The first `count` elements, at most VEC; others are +0. */
VEC_INLINE vec vec_load_part(const float *from, size_t count)
{
#if VEC == 16
    return (vec)_mm512_maskz_loadu_ps(vec_part(count), from);
#elif VEC == 8
    const vec_int lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return (vec)_mm256_maskload_ps(from, (__m256i)(lane < (int32_t)count));
#else
    vec x = {0};
    for (size_t i = 0; i < VEC && i < count; i++)
        x[i] = from[i];
    return x;
#endif
}

VEC_INLINE void vec_store_part(float *to, vec x, size_t count)
{
#if VEC == 16
    _mm512_mask_storeu_ps(to, vec_part(count), (__m512)x);
#elif VEC == 8
    /* On AMD processors, a masked store takes a dozen cycles or more. */
    if (count >= VEC) {
        vec_store(to, x);
        return;
    }
    __m128 rest = _mm256_castps256_ps128((__m256)x);
    if (count & 4) {
        _mm_storeu_ps(to, rest);
        rest = _mm256_extractf128_ps((__m256)x, 1);
        to += 4;
    }
    if (count & 2) {
        _mm_storel_pi((__m64 *)to, rest);
        rest = _mm_movehl_ps(rest, rest);
        to += 2;
    }
    if (count & 1)
        _mm_store_ss(to, rest);
#else
    memcpy(to, &x, (count < VEC ? count : VEC) * sizeof *to);
#endif
}

#endif
