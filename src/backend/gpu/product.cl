/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of matrices. A group makes a tile of TILE x TILE elements, each item 4 x 4 of them.
 * Tiles of both factors go through group memory DEPTH deep; an element's chain runs through all of
 * them in ascending order, so blocks do not show. What is beyond the end of a chain is never
 * multiplied: a product with 0 would turn -0 to +0.
 */
#define TILE 64
#define DEPTH 16
#define PRODUCT_ITEMS 256

#define MULTIPLY_STEP(k)                                                                           \
    {                                                                                              \
        float a_now[4], b_now[4];                                                                  \
        for (uint i = 0; i < 4; i++)                                                               \
            a_now[i] = a_tile[(k)*TILE + row + 16 * i];                                            \
        for (uint j = 0; j < 4; j++)                                                               \
            b_now[j] = b_tile[(k)*TILE + column + 16 * j];                                         \
        for (uint i = 0; i < 4; i++)                                                               \
            for (uint j = 0; j < 4; j++)                                                           \
                sum[i][j] = FMA(a_now[i], b_now[j], sum[i][j]);                                    \
    }

/* Groups: tiles along N, tiles along M, products. bias [N]. */
KERNEL(product)
(WORK, GLOBAL const float *a, GLOBAL const float *b, GLOBAL const float *bias, GLOBAL float *c)
{
    GROUP_MEMORY float a_tile[DEPTH * TILE], b_tile[DEPTH * TILE];
    GLOBAL const sh_gpu_work *const w = works + number;
    const uint M = w->M, N = w->N, K = w->K;
    const uint grain = GROUP_Z / w->batch, which = GROUP_Z % w->batch;
    const uint top = GROUP_Y * TILE, left = GROUP_X * TILE;
    const uint row = ITEM / 16, column = ITEM % 16;
    const bool a_lies = w->a_column == 1, b_lies = w->b_row == 1;
    float sum[4][4];
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++)
            sum[i][j] = 0.0f;
    a += grain * w->step[0] + which * M * K;
    b += grain * w->step[1] + which * K * N;
    bias += grain * w->step[2];
    c += GROUP_Z * M * N;
    for (uint first = 0; first < K; first += DEPTH) {
        const uint depth = least(DEPTH, K - first);
        for (uint i = ITEM; i < DEPTH * TILE; i += PRODUCT_ITEMS) { /* side by side in memory */
            const uint k = a_lies ? i % DEPTH : i / TILE, m = a_lies ? i / DEPTH : i % TILE;
            a_tile[k * TILE + m] = k < depth && top + m < M
                                       ? a[(top + m) * w->a_row + (first + k) * w->a_column]
                                       : 0.0f;
        }
        for (uint i = ITEM; i < DEPTH * TILE; i += PRODUCT_ITEMS) {
            const uint k = b_lies ? i % DEPTH : i / TILE, n = b_lies ? i / DEPTH : i % TILE;
            b_tile[k * TILE + n] = k < depth && left + n < N
                                       ? b[(first + k) * w->b_row + (left + n) * w->b_column]
                                       : 0.0f;
        }
        BARRIER();
        if (depth == DEPTH) {
#pragma unroll
            for (uint k = 0; k < DEPTH; k++)
                MULTIPLY_STEP(k)
        } else {
            for (uint k = 0; k < depth; k++)
                MULTIPLY_STEP(k)
        }
        BARRIER();
    }
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++) {
            const uint m = top + row + 16 * i, n = left + column + 16 * j;
            if (m < M && n < N)
                c[m * N + n] = w->has_bias ? sum[i][j] + bias[n] : sum[i][j];
        }
}
