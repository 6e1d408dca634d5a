/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices. A group makes a tile of 16 `each` elements both ways, each of its items
 * `each` times `each` of them: 1, 2 or 4, as it keeps the GPU busy. Tiles of both factors go
 * through group memory BLOCK deep; an element's chain runs through all of them in ascending order,
 * so blocks do not show. While one is multiplied, the next is on its way into registers. What is
 * beyond the end of a chain is never multiplied: a product with 0 would turn -0 to +0.
 *
 * A line of a tile has its elements along the chain side by side, and 4 more floats that keep lines
 * in different banks of the memory.
 */
#define PRODUCT_ITEMS 256
#define BLOCK 32
#define LINE (BLOCK + 4)
#define LINES_AT_ONCE (PRODUCT_ITEMS / BLOCK)

/* `count` elements of the chains, at most four, from k of the block on. */
#define MULTIPLY_STEP(count)                                                                       \
    {                                                                                              \
        float4 a_now[4], b_now[4];                                                                 \
        UP_TO (i, 4, each) {                                                                       \
            a_now[i] = *(GROUP_MEMORY const float4 *)&a_tile[(row + 16 * i) * LINE + k];           \
            b_now[i] = *(GROUP_MEMORY const float4 *)&b_tile[(column + 16 * i) * LINE + k];        \
        }                                                                                          \
        UP_TO (d, 4, count)                                                                        \
            UP_TO (i, 4, each)                                                                     \
                UP_TO (j, 4, each)                                                                 \
                    sum[i][j] = FMA(NTH(a_now[i], d), NTH(b_now[j], d), sum[i][j]);                \
    }

/* All of a block of `depth`. */
#define MULTIPLY_BLOCK(depth)                                                                      \
    {                                                                                              \
        for (uint k = 0; k + 4 <= (depth); k += 4)                                                 \
            MULTIPLY_STEP(4)                                                                       \
        for (uint k = (depth) / 4 * 4; k < (depth); k += 4)                                        \
            MULTIPLY_STEP((depth) % 4)                                                             \
    }

/* Groups: tiles along N, tiles along M, products. bias [N]. */
INLINE void multiply(const uint each, WORK, GLOBAL const float *a, GLOBAL const float *b,
                     GLOBAL const float *bias, GLOBAL float *c, GROUP_MEMORY float *a_tile,
                     GROUP_MEMORY float *b_tile)
{
    GLOBAL const sh_gpu_work *const w = works + number;
    const uint M = w->M, N = w->N, K = w->K, side = 16 * each;
    const uint grain = GROUP_Z / w->batch, which = GROUP_Z % w->batch;
    const uint top = GROUP_Y * side, left = GROUP_X * side;
    const uint row = ITEM / 16, column = ITEM % 16;
    const bool a_lies = w->a_column == 1, b_lies = w->b_row == 1; /* along the chain */
    float sum[4][4], a_next[8], b_next[8];
    UP_TO (i, 4, each)
        UP_TO (j, 4, each)
            sum[i][j] = 0.0f;
    a += grain * w->step[0] + which * M * K;
    b += grain * w->step[1] + which * K * N;
    bias += grain * w->step[2];
    c += GROUP_Z * M * N;
    for (uint first = 0; first < K + BLOCK; first += BLOCK) {
        UP_TO (i, 8, side / LINES_AT_ONCE) {
            const uint at = ITEM + i * PRODUCT_ITEMS;
            if (first > 0) {
                a_tile[(a_lies ? at / BLOCK : at % side) * LINE +
                       (a_lies ? at % BLOCK : at / side)] = a_next[i];
                b_tile[(b_lies ? at / BLOCK : at % side) * LINE +
                       (b_lies ? at % BLOCK : at / side)] = b_next[i];
            }
        }
        BARRIER();
        UP_TO (i, 8, side / LINES_AT_ONCE) {
            const uint at = ITEM + i * PRODUCT_ITEMS;
            const uint m = top + (a_lies ? at / BLOCK : at % side);
            const uint n = left + (b_lies ? at / BLOCK : at % side);
            const uint a_k = first + (a_lies ? at % BLOCK : at / side);
            const uint b_k = first + (b_lies ? at % BLOCK : at / side);
            a_next[i] = a_k < K && m < M ? a[m * w->a_row + a_k * w->a_column] : 0.0f;
            b_next[i] = b_k < K && n < N ? b[b_k * w->b_row + n * w->b_column] : 0.0f;
        }
        if (first > 0)
            MULTIPLY_BLOCK(least(BLOCK, K + BLOCK - first))
        BARRIER();
    }
    UP_TO (i, 4, each)
        UP_TO (j, 4, each) {
            const uint m = top + row + 16 * i, n = left + column + 16 * j;
            if (m < M && n < N)
                c[m * N + n] = w->has_bias ? sum[i][j] + bias[n] : sum[i][j];
        }
}

#define PRODUCT(side)                                                                              \
    KERNEL(product_##side)                                                                         \
    (WORK, GLOBAL const float *a, GLOBAL const float *b, GLOBAL const float *bias,                 \
     GLOBAL float *c)                                                                              \
    {                                                                                              \
        GROUP_MEMORY float a_tile[side * LINE] __attribute__((aligned(16)));                       \
        GROUP_MEMORY float b_tile[side * LINE] __attribute__((aligned(16)));                       \
        multiply(side / 16, works, number, a, b, bias, c, a_tile, b_tile);                         \
    }

PRODUCT(16)
PRODUCT(32)
PRODUCT(64)
