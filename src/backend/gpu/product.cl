/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products. A group makes a tile of 16 `each` by 16 `each` elements, an item `each` by
 * `each` (1, 2 or 4, whatever keeps the GPU busy). Tiles of both factors pass through group memory
 * in blocks of the chains, longer ones for small tiles, so that an item always loads eight elements
 * of each factor while the previous block is multiplied. Chains run through all blocks in ascending
 * order. Elements beyond the end of a chain are never multiplied: a product with 0 would turn -0 to
 * +0.
 *
 * A line of a tile is along the chain. 4 more floats put lines in different memory banks.
 */
#define PRODUCT_ITEMS 256
#define BLOCK(side) (2048 / (side))
#define LINE(side) (BLOCK(side) + 4)
#define LINES_AT_ONCE(side) (PRODUCT_ITEMS / BLOCK(side))

/*
 * The place of an item in a tile of `rows` by `across` items. Each warp of 32 is a block of 8 by 4,
 * so it reads few different words.
 */
INLINE uint row_of_item(const uint rows, const uint across)
{
    const uint high = rows < 8 ? rows : 8, wide = 32 / high;
    return ITEM / 32 / (across / wide) * high + ITEM % 32 / wide;
}
INLINE uint column_of_item(const uint rows, const uint across)
{
    const uint wide = rows < 8 ? 32 / rows : 4;
    return ITEM / 32 % (across / wide) * wide + ITEM % wide;
}

/* `count` <= 4 elements of the chains, from `at` of the block on. */
#define MULTIPLY_STEP(at, count)                                                                   \
    {                                                                                              \
        float4 a_now[4], b_now[4];                                                                 \
        UP_TO (i, 4, each) {                                                                       \
            a_now[i] = *(GROUP_MEMORY const float4 *)&a_tile[(row + 16 * i) * line + (at)];        \
            b_now[i] = *(GROUP_MEMORY const float4 *)&b_tile[(column + 16 * i) * line + (at)];     \
        }                                                                                          \
        UP_TO (d, 4, count)                                                                        \
            UP_TO (i, 4, each)                                                                     \
                UP_TO (j, 4, each)                                                                 \
                    sum[i][j] = FMA(NTH(a_now[i], d), NTH(b_now[j], d), sum[i][j]);                \
    }

/* Elements of a block that are multiplied between two checks. */
#define STRETCH(each) ((each) == 4 ? 8 : 16)

/* The first `depth` elements of a block. */
#define MULTIPLY_BLOCK(depth)                                                                      \
    {                                                                                              \
        uint k = 0;                                                                                \
        for (; k + STRETCH(each) <= (depth); k += STRETCH(each))                                   \
            UP_TO (part, 4, STRETCH(each) / 4)                                                     \
                MULTIPLY_STEP(k + 4 * part, 4)                                                     \
        for (; k + 4 <= (depth); k += 4)                                                           \
            MULTIPLY_STEP(k, 4)                                                                    \
        if (k < (depth))                                                                           \
            MULTIPLY_STEP(k, (depth)-k)                                                            \
    }

/* Groups: tiles along N, tiles along M, products. bias [N]. */
INLINE void multiply(const uint each, const sh_gpu_work *w, GLOBAL const float *a,
                     GLOBAL const float *b, GLOBAL const float *bias, GLOBAL float *c,
                     GROUP_MEMORY float *a_tile, GROUP_MEMORY float *b_tile)
{
    const uint M = w->M, N = w->N, K = w->K;
    const uint side = 16 * each, block = BLOCK(side), line = LINE(side);
    const uint grain = GROUP_Z / w->batch, which = GROUP_Z % w->batch;
    const uint top = GROUP_Y * side, left = GROUP_X * side;
    const uint row = row_of_item(16, 16), column = column_of_item(16, 16);
    const bool a_lies = w->a_column == 1, b_lies = w->b_row == 1; /* along the chain */
    float sum[4][4], a_next[8], b_next[8];
    UP_TO (i, 4, each)
        UP_TO (j, 4, each)
            sum[i][j] = 0.0f;
    a += grain * w->step[0] + which * M * K;
    b += grain * w->step[1] + which * K * N;
    bias += grain * w->step[2];
    c += GROUP_Z * M * N;
    for (uint first = 0; first < K + block; first += block) {
        UP_TO (i, 8, 8) {
            const uint at = ITEM + i * PRODUCT_ITEMS;
            if (first > 0) {
                a_tile[(a_lies ? at / block : at % side) * line +
                       (a_lies ? at % block : at / side)] = a_next[i];
                b_tile[(b_lies ? at / block : at % side) * line +
                       (b_lies ? at % block : at / side)] = b_next[i];
            }
        }
        BARRIER();
        UP_TO (i, 8, 8) {
            const uint at = ITEM + i * PRODUCT_ITEMS;
            const uint m = top + (a_lies ? at / block : at % side);
            const uint n = left + (b_lies ? at / block : at % side);
            const uint a_k = first + (a_lies ? at % block : at / side);
            const uint b_k = first + (b_lies ? at % block : at / side);
            a_next[i] = a_k < K && m < M ? a[m * w->a_row + a_k * w->a_column] : 0.0f;
            b_next[i] = b_k < K && n < N ? b[b_k * w->b_row + n * w->b_column] : 0.0f;
        }
        if (first > 0)
            MULTIPLY_BLOCK(least(block, K + block - first))
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
        GROUP_MEMORY float a_tile[side * LINE(side)] __attribute__((aligned(16)));                 \
        GROUP_MEMORY float b_tile[side * LINE(side)] __attribute__((aligned(16)));                 \
        multiply(side / 16, &work, a, b, bias, c, a_tile, b_tile);                                 \
    }

PRODUCT(16)
PRODUCT(32)
PRODUCT(64)
