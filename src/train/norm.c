/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A square has up to 62 bits. The lower and upper halves of the squares are summed separately. This
 * needs no carries, so it vectorises, and 2^32 halves fit a word.
 */
#include "train/norm.h"

#define HALF_BITS 32
#define LOWER_HALF (((uint64_t)1 << HALF_BITS) - 1)

static inline SH_INLINE void squares_body(sh_squares *squares, const int32_t *integers,
                                          size_t count)
{
    uint64_t low = 0, high = 0;
    for (size_t i = 0; i < count; i++) {
        const uint32_t sign = 0u - (uint32_t)(integers[i] < 0);
        const uint32_t magnitude = ((uint32_t)integers[i] ^ sign) - sign;
        const uint64_t square = (uint64_t)magnitude * magnitude;
        low += square & LOWER_HALF;
        high += square >> HALF_BITS;
    }
    squares->low += low;
    squares->high += high;
}

#define SQUARES_VARIANT(name, target)                                                              \
    static target void squares_##name(sh_squares *squares, const int32_t *integers, size_t count)  \
    {                                                                                              \
        squares_body(squares, integers, count);                                                    \
    }
SH_VARIANT_MAP(SQUARES_VARIANT)

sh_squares_kernel *const sh_squares_kernels[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(squares)};

void sh_squares_add(sh_squares *squares, const int32_t *integers, size_t count)
{
    sh_squares_kernels[sh_variant_chosen()](squares, integers, count);
}

void sh_squares_merge(sh_squares *squares, const sh_squares *other)
{
    squares->low += other->low;
    squares->high += other->high;
}

double sh_squares_value(const sh_squares *squares, float scale)
{
    const uint64_t high = squares->high + (squares->low >> HALF_BITS);
    const double sum = (double)high * 0x1p32 + (double)(squares->low & LOWER_HALF);
    return sum * (double)scale * (double)scale;
}

/* No addition waits for the previous one. Each square is exact. */
double sh_norm_squares(const float *values, size_t count)
{
    enum { WAYS = 8 };
    double sums[WAYS] = {0}, total = 0;
    for (size_t i = 0; i < count; i++)
        sums[i % WAYS] += (double)values[i] * (double)values[i];
    for (int way = 0; way < WAYS; way++)
        total += sums[way];
    return total;
}

double sh_norm_clip(double norm, double most)
{
    const double factor = most / (norm + 1e-6);
    return factor < 1 ? factor : 1;
}
