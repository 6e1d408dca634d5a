/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions and their gradients as products, without images of windows: what a tile of a factor
 * has is read from where it lies. A chain goes over window places, then channels. A place that lies
 * outside of the image is skipped, for which each item asks what it knows of its four positions.
 *
 * The gradient of the input is the same product from dy: the places run backwards, which visits
 * rows and columns of dy in ascending order, and with strides most places do not meet a position.
 */

/* The position of the other image that place (r, s) meets from `position` along one axis; false
 * where none. */
INLINE bool meets(const bool backward, uint position, uint place, uint stride, uint dilation,
                  uint padding, uint extent, uint *other)
{
    if (!backward) {
        *other = position * stride + place * dilation - padding; /* below zero wraps to above */
        return *other < extent;
    }
    const uint reach = position + padding - place * dilation;
    *other = reach / stride;
    return position + padding >= place * dilation && reach % stride == 0 && *other < extent;
}

#define CONVOLVE_STEP(k, where)                                                                    \
    {                                                                                              \
        float a_now[4], b_now[4];                                                                  \
        for (uint i = 0; i < 4; i++)                                                               \
            a_now[i] = a_tile[(k)*TILE + row + 16 * i];                                            \
        for (uint j = 0; j < 4; j++)                                                               \
            b_now[j] = b_tile[(k)*TILE + column + 16 * j];                                         \
        for (uint j = 0; j < 4; j++)                                                               \
            for (uint i = 0; i < 4; i++)                                                           \
                sum[i][j] = where ? FMA(a_now[i], b_now[j], sum[i][j]) : sum[i][j];                \
    }

/*
 * Groups: tiles of positions, tiles of channels, and groups of channels of each grain that is
 * computed apart. x is read: the image, or dy. y is written.
 */
INLINE void convolve(const bool backward, WORK, GLOBAL const float *x, GLOBAL const float *weights,
                     GLOBAL const float *bias, GLOBAL float *y, GROUP_MEMORY float *a_tile,
                     GROUP_MEMORY float *b_tile, GROUP_MEMORY uint *meeting)
{
    GLOBAL const sh_gpu_work *const w = works + number;
    const uint grain = GROUP_Z / w->groups, group = GROUP_Z % w->groups;
    const uint M = w->M, K = w->K;
    const uint height = backward ? w->image[0] : w->windows[0],
               width = backward ? w->image[1] : w->windows[1];
    const uint from_height = backward ? w->windows[0] : w->image[0];
    const uint from_width = backward ? w->windows[1] : w->image[1];
    const uint positions = height * width, area = from_height * from_width;
    const uint in_channels = w->groups * K, out_channels = w->groups * M;
    const uint top = GROUP_Y * TILE, left = GROUP_X * TILE;
    const uint row = ITEM / 16, column = ITEM % 16;
    float sum[4][4];
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++)
            sum[i][j] = 0.0f;

    const uint mine = left + ITEM % TILE; /* the position that this item reads for */
    const uint sample = mine / positions, line = mine % positions / width,
               place_in_line = mine % width;
    x += grain * w->step[0] + (sample * in_channels + group * K) * area;
    weights += grain * w->step[1] + group * (backward ? K : M) * w->w_out;
    bias += grain * w->step[2] + group * M;
    const uint places = w->taps[0] * w->taps[1];
    for (uint i = 0; i < places; i++) {
        const uint place = backward ? places - 1 - i : i;
        uint h, v;
        bool met = meets(backward, line, place / w->taps[1], w->stride[0], w->dilation[0],
                         w->padding[0], from_height, &h);
        met = meets(backward, place_in_line, place % w->taps[1], w->stride[1], w->dilation[1],
                    w->padding[1], from_width, &v) &&
              met && mine < w->N;
        GLOBAL const float *const pixel = x + (h * from_width + v);
        for (uint first = 0; first < K; first += DEPTH) {
            const uint depth = least(DEPTH, K - first);
            for (uint k = ITEM / TILE; k < DEPTH; k += PRODUCT_ITEMS / TILE) {
                const uint m = ITEM % TILE;
                b_tile[k * TILE + m] = met && k < depth ? pixel[(first + k) * area] : 0.0f;
                a_tile[k * TILE + m] = k < depth && top + m < M
                                           ? weights[place * w->w_place +
                                                     (first + k) * (backward ? w->w_out : w->w_in) +
                                                     (top + m) * (backward ? w->w_in : w->w_out)]
                                           : 0.0f;
            }
            if (ITEM < TILE)
                meeting[ITEM] = met;
            BARRIER();
            const bool m0 = meeting[column], m1 = meeting[column + 16], m2 = meeting[column + 32],
                       m3 = meeting[column + 48];
            const bool met_by[4] = {m0, m1, m2, m3};
            if (depth == DEPTH && m0 && m1 && m2 && m3) {
#pragma unroll
                for (uint k = 0; k < DEPTH; k++)
                    CONVOLVE_STEP(k, true)
            } else if (m0 || m1 || m2 || m3) {
                for (uint k = 0; k < depth; k++)
                    CONVOLVE_STEP(k, met_by[j])
            }
            BARRIER();
        }
    }
    y += grain * w->count;
    for (uint j = 0; j < 4; j++) {
        const uint position = left + column + 16 * j, n = position / positions,
                   at = position % positions;
        for (uint i = 0; i < 4; i++) {
            const uint m = top + row + 16 * i;
            if (m < M && position < w->N)
                y[(n * out_channels + group * M + m) * positions + at] =
                    w->has_bias ? sum[i][j] + bias[m] : sum[i][j];
        }
    }
}

KERNEL(conv2d)
(WORK, GLOBAL const float *x, GLOBAL const float *weights, GLOBAL const float *bias,
 GLOBAL float *y)
{
    GROUP_MEMORY float a_tile[DEPTH * TILE], b_tile[DEPTH * TILE];
    GROUP_MEMORY uint meeting[TILE];
    convolve(false, works, number, x, weights, bias, y, a_tile, b_tile, meeting);
}

KERNEL(conv2d_grad_input)
(WORK, GLOBAL const float *dy, GLOBAL const float *weights, GLOBAL const float *bias,
 GLOBAL float *dx)
{
    GROUP_MEMORY float a_tile[DEPTH * TILE], b_tile[DEPTH * TILE];
    GROUP_MEMORY uint meeting[TILE];
    convolve(true, works, number, dy, weights, bias, dx, a_tile, b_tile, meeting);
}

/*
 * dw [outputs, channels of a group * places] of a grain: chains over positions of dy, samples
 * first. Rows of the image that lie outside are skipped, columns count as 0. Groups: tiles of
 * columns of dw, tiles of rows, groups of channels of each grain.
 */
#define WEIGHT_TILE 32
#define WEIGHT_ITEMS 64

#define WEIGHT_STEP(k, where)                                                                      \
    {                                                                                              \
        float a_now[4], b_now[4];                                                                  \
        for (uint i = 0; i < 4; i++)                                                               \
            a_now[i] = a_tile[(row + 8 * i) * (DEPTH + 1) + (k)];                                  \
        for (uint j = 0; j < 4; j++)                                                               \
            b_now[j] = b_tile[(column + 8 * j) * (DEPTH + 1) + (k)];                               \
        for (uint j = 0; j < 4; j++)                                                               \
            for (uint i = 0; i < 4; i++)                                                           \
                sum[i][j] = where ? FMA(a_now[i], b_now[j], sum[i][j]) : sum[i][j];                \
    }

KERNEL(conv2d_grad_weight)(WORK, GLOBAL const float *x, GLOBAL const float *dy, GLOBAL float *dw)
{
    GROUP_MEMORY float a_tile[WEIGHT_TILE * (DEPTH + 1)], b_tile[WEIGHT_TILE * (DEPTH + 1)];
    GROUP_MEMORY uint rows_of[DEPTH]; /* the row of dy of each position of a block */
    GLOBAL const sh_gpu_work *const w = works + number;
    const uint grain = GROUP_Z / w->groups, group = GROUP_Z % w->groups;
    const uint M = w->M, N = w->N, K = w->K, places = w->taps[0] * w->taps[1],
               in_channels = N / places;
    const uint positions = w->windows[0] * w->windows[1], area = w->image[0] * w->image[1];
    const uint top = GROUP_Y * WEIGHT_TILE, left = GROUP_X * WEIGHT_TILE;
    const uint row = ITEM / 8, column = ITEM % 8;
    float sum[4][4];
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++)
            sum[i][j] = 0.0f;
    x += grain * w->step[0];
    dy += grain * w->step[1];

    uint row_of[4]; /* of the window, of this item's columns, and those that it reads for */
    for (uint j = 0; j < 4; j++)
        row_of[j] = (left + column + 8 * j) % places / w->taps[1] * w->dilation[0] - w->padding[0];
    uint read_row[8], read_column[8], read_channel[8];
    for (uint i = 0; i < 8; i++) {
        const uint n = left + ITEM / DEPTH + 4 * i;
        read_row[i] = n % places / w->taps[1] * w->dilation[0] - w->padding[0];
        read_column[i] = n % w->taps[1] * w->dilation[1] - w->padding[1];
        read_channel[i] = n / places;
    }
    for (uint first = 0; first < K; first += DEPTH) {
        const uint depth = least(DEPTH, K - first), k = ITEM % DEPTH;
        const uint at = first + k, sample = at / positions, p = at % positions / w->windows[1],
                   q = at % w->windows[1];
        for (uint i = 0; i < 8; i++) {
            const uint m = ITEM / DEPTH + 4 * i;
            a_tile[m * (DEPTH + 1) + k] =
                k < depth && top + m < M
                    ? dy[(sample * w->outputs + group * M + top + m) * positions + at % positions]
                    : 0.0f;
            const uint h = p * w->stride[0] + read_row[i], v = q * w->stride[1] + read_column[i];
            b_tile[m * (DEPTH + 1) + k] =
                k < depth && left + m < N && h < w->image[0] && v < w->image[1]
                    ? x[(sample * w->channels + group * in_channels + read_channel[i]) * area +
                        h * w->image[1] + v]
                    : 0.0f;
        }
        if (ITEM < DEPTH)
            rows_of[ITEM] = p * w->stride[0];
        BARRIER();
        /* Are all rows of the block inside of the image for all places? */
        const uint last = first + depth - 1;
        const uint p_first =
            first / positions == last / positions ? first % positions / w->windows[1] : 0;
        const uint p_last = first / positions == last / positions ? last % positions / w->windows[1]
                                                                  : w->windows[0] - 1;
        const bool all =
            p_first * w->stride[0] >= w->padding[0] &&
            p_last * w->stride[0] + (w->taps[0] - 1) * w->dilation[0] < w->image[0] + w->padding[0];
        if (all && depth == DEPTH) {
#pragma unroll
            for (uint d = 0; d < DEPTH; d++)
                WEIGHT_STEP(d, true)
        } else {
            for (uint d = 0; d < depth; d++)
                WEIGHT_STEP(d, rows_of[d] + row_of[j] < w->image[0])
        }
        BARRIER();
    }
    dw += grain * w->count + group * M * N;
    for (uint i = 0; i < 4; i++)
        for (uint j = 0; j < 4; j++) {
            const uint m = top + row + 8 * i, n = left + column + 8 * j;
            if (m < M && n < N)
                dw[m * N + n] = sum[i][j];
        }
}

/* Depthwise: an item an element; rows and columns that lie outside are skipped. */
INLINE void convolve_depthwise(const bool backward, WORK, GLOBAL const float *x,
                               GLOBAL const float *weights, GLOBAL const float *bias,
                               GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    const uint height = backward ? w->image[0] : w->windows[0],
               width = backward ? w->image[1] : w->windows[1];
    const uint from_height = backward ? w->windows[0] : w->image[0];
    const uint from_width = backward ? w->windows[1] : w->image[1];
    const uint plane = element / (height * width), channel = plane % w->channels;
    const uint line = element % (height * width) / width, place_in_line = element % width;
    const uint places = w->taps[0] * w->taps[1];
    x += grain * w->step[0] + plane * from_height * from_width;
    weights += grain * w->step[1] + channel * places;
    float sum = 0.0f;
    for (uint i = 0; i < places; i++) {
        const uint place = backward ? places - 1 - i : i;
        uint h, v;
        const bool met = meets(backward, line, place / w->taps[1], w->stride[0], w->dilation[0],
                               w->padding[0], from_height, &h);
        if (meets(backward, place_in_line, place % w->taps[1], w->stride[1], w->dilation[1],
                  w->padding[1], from_width, &v) &&
            met)
            sum = FMA(x[h * from_width + v], weights[place], sum);
    }
    y[at] = w->has_bias ? sum + bias[grain * w->step[2] + channel] : sum;
}

KERNEL(depthwise)
(WORK, GLOBAL const float *x, GLOBAL const float *weights, GLOBAL const float *bias,
 GLOBAL float *y)
{
    convolve_depthwise(false, works, number, x, weights, bias, y);
}

KERNEL(depthwise_grad_input)
(WORK, GLOBAL const float *dy, GLOBAL const float *weights, GLOBAL const float *bias,
 GLOBAL float *dx)
{
    convolve_depthwise(true, works, number, dy, weights, bias, dx);
}

KERNEL(depthwise_grad_weight)(WORK, GLOBAL const float *x, GLOBAL const float *dy, GLOBAL float *dw)
{
    GRAIN_AND_ELEMENT
    const uint places = w->taps[0] * w->taps[1], channel = element / places;
    const uint r = element % places / w->taps[1], s = element % w->taps[1];
    const uint area = w->image[0] * w->image[1], positions = w->windows[0] * w->windows[1];
    x += grain * w->step[0] + channel * area;
    dy += grain * w->step[1] + channel * positions;
    float sum = 0.0f;
    for (uint n = 0; n < w->samples; n++, x += w->channels * area, dy += w->channels * positions)
        for (uint p = 0; p < w->windows[0]; p++) {
            const uint h = p * w->stride[0] + r * w->dilation[0] - w->padding[0];
            for (uint q = 0; q < w->windows[1] && h < w->image[0]; q++) {
                const uint v = q * w->stride[1] + s * w->dilation[1] - w->padding[1];
                if (v < w->image[1])
                    sum = FMA(x[h * w->image[1] + v], dy[p * w->windows[1] + q], sum);
            }
        }
    dw[at] = sum;
}

/* The sum of each channel of dy [samples, channels, inner], in chains. A group a channel of a
 * grain. */
#define SUM_ITEMS 64

KERNEL(bias_grad)(WORK, GLOBAL const float *dy, GLOBAL float *db)
{
    GROUP_MEMORY float chain[256];
    GLOBAL const sh_gpu_work *const w = works + number;
    const uint grain = GROUP_X / w->count, channel = GROUP_X % w->count;
    const uint rows = w->samples * w->inner;
    dy += grain * w->step[0] + channel * w->inner;
    for (uint t = ITEM; t < w->chains; t += SUM_ITEMS) {
        float sum = 0.0f;
        for (uint i = t; i < rows; i += w->chains)
            sum += dy[i / w->inner * w->count * w->inner + i % w->inner];
        chain[t] = sum;
    }
    BARRIER();
    if (ITEM > 0)
        return;
    float sum = chain[0];
    for (uint t = 1; t < w->chains; t++)
        sum += chain[t];
    db[GROUP_X] = sum;
}
