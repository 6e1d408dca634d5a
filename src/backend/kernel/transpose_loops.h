/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel of kernel/transpose.h, for the variant that includes this. Squares of VEC by VEC
 * elements are transposed in registers. Each round exchanges blocks of half the size across the
 * diagonal.
 */
#include "backend/kernel/transpose.h"
#include "backend/kernel/vector.h"

/* For rows a and b, `half` apart: the source of element i of the new a, and of the new b, as an
 * index into a and b together. */
#define OF_UPPER(i, half) (((i) & (half)) == 0 ? (i) : VEC + (i) - (half))
#define OF_LOWER(i, half) (((i) & (half)) == 0 ? (i) + (half) : VEC + (i))

#if VEC == 16
#define EACH(of, half)                                                                             \
    of(0, half), of(1, half), of(2, half), of(3, half), of(4, half), of(5, half), of(6, half),     \
        of(7, half), of(8, half), of(9, half), of(10, half), of(11, half), of(12, half),           \
        of(13, half), of(14, half), of(15, half)
#elif VEC == 8
#define EACH(of, half)                                                                             \
    of(0, half), of(1, half), of(2, half), of(3, half), of(4, half), of(5, half), of(6, half),     \
        of(7, half)
#elif VEC == 4
#define EACH(of, half) of(0, half), of(1, half), of(2, half), of(3, half)
#endif

#define EXCHANGE(half)                                                                             \
    _Pragma("GCC unroll 16") for (size_t i = 0; i < VEC; i++) if ((i & (half)) == 0)               \
    {                                                                                              \
        const vec upper = row[i], lower = row[i + (half)];                                         \
        row[i] = __builtin_shufflevector(upper, lower, EACH(OF_UPPER, half));                      \
        row[i + (half)] = __builtin_shufflevector(upper, lower, EACH(OF_LOWER, half));             \
    }

static void transpose_square(const float *from, size_t from_row, float *to, size_t to_row)
{
    vec row[VEC];
#pragma GCC unroll 16
    for (size_t i = 0; i < VEC; i++)
        row[i] = vec_load(from + i * from_row);
#if VEC > 8
    EXCHANGE(8)
#endif
#if VEC > 4
    EXCHANGE(4)
#endif
#if VEC > 1
    EXCHANGE(2)
    EXCHANGE(1)
#endif
#pragma GCC unroll 16
    for (size_t i = 0; i < VEC; i++)
        vec_store(to + i * to_row, row[i]);
}

static void transpose_rest(size_t rows, size_t columns, const float *from, size_t from_row,
                           float *to, size_t to_row)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c++)
            to[c * to_row + r] = from[r * from_row + c];
}

static void transpose(size_t rows, size_t columns, const float *from, size_t from_row, float *to,
                      size_t to_row)
{
    const size_t whole = columns - columns % VEC;
    size_t r = 0;
    for (; r + VEC <= rows; r += VEC) {
        for (size_t c = 0; c < whole; c += VEC)
            transpose_square(from + r * from_row + c, from_row, to + c * to_row + r, to_row);
        transpose_rest(VEC, columns - whole, from + r * from_row + whole, from_row,
                       to + whole * to_row + r, to_row);
    }
    transpose_rest(rows - r, columns, from + r * from_row, from_row, to + r, to_row);
}
