/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys of adjacent places must not be a linear function of the place: three such keys times
 * (1, -2, 1) add up to 0, and a wrong update can cause such differences. Therefore a key is a
 * multiple of an odd constant, XORed with its upper bits. A product of 64 by 32 bits is two
 * products of 32 by 32 bits, which every instruction set has for vectors.
 */
#include "train/weight_check.h"

#include <string.h>

#define KEY_STEP UINT64_C(0x9e3779b97f4a7c15) /* 2^64 / golden ratio */

static inline SH_INLINE uint64_t check_body(const void *words, size_t first, size_t count)
{
    const unsigned char *bytes = words;
    uint64_t low = 0, high = 0, step = (uint64_t)first * KEY_STEP;
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, bytes + i * sizeof bits, sizeof bits);
        step += KEY_STEP; /* (first + i + 1) * KEY_STEP; vectors add faster than they multiply */
        const uint64_t key = (step ^ step >> 31) | 1;
        low += (uint64_t)(uint32_t)key * bits;
        high += (key >> 32) * bits;
    }
    return low + (high << 32);
}

#define CHECK_VARIANT(name, target)                                                                \
    static target uint64_t check_##name(const void *words, size_t first, size_t count)             \
    {                                                                                              \
        return check_body(words, first, count);                                                    \
    }
SH_VARIANT_MAP(CHECK_VARIANT)

sh_weight_check_kernel *const sh_weight_check_kernels[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(check)};

uint64_t sh_weight_check(const void *words, size_t first, size_t count)
{
    return sh_weight_check_kernels[sh_variant_chosen()](words, first, count);
}
