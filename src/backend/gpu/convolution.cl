/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions and their gradients as products, without images of windows: what a tile of a factor
 * has is read from where it lies. A chain goes over window places, then channels.
 *
 * A place that lies outside of the image is to be skipped. In tiles it has zeros, and a product
 * with 0 leaves a sum as it is but in two cases: -0 becomes +0, and a factor that is not finite
 * makes a NaN. A sum that is not 0 does not remember the sign of a 0 before it. So where a result
 * is 0 or NaN and a place was outside, the element is computed once more, exactly. Of the zeros
 * only those need it that may have been -0. A sum becomes -0 only where a product has bits below
 * 2^-149, which no float has: one of at least 2^-100 ends above 2^-148.
 * So each group knows the smallest of each factor that are not 0.
 *
 * The gradient of the input is the same product from dy: the places run backwards, which visits
 * rows and columns of dy in ascending order, and with strides most places meet no position.
 */
#define CHANNELS 8 /* of a block */

#define HARMLESS 0x1p-100f

/* The smaller of `least_bits` and the magnitude of x, as bits less 1: a 0 is the largest of all. */
INLINE uint smaller(uint least_bits, float x)
{
    return least(least_bits, (AS_UINT(x) & 0x7fffffffu) - 1);
}

/* Of all items; smallest [2] was filled with ones. Tells whether a zero may hide a -0. */
INLINE bool may_hide_signs(GROUP_MEMORY uint *smallest, uint a, uint b)
{
    lower_in_group(&smallest[0], a);
    lower_in_group(&smallest[1], b);
    BARRIER();
    return smallest[0] != 0xffffffffu && smallest[1] != 0xffffffffu &&
           !(AS_FLOAT(smallest[0] + 1) * AS_FLOAT(smallest[1] + 1) >= HARMLESS);
}

/* Is an element computed once more, of which a place was outside? */
INLINE bool is_doubtful(float made, bool may_hide)
{
    return made != made || (may_hide && made == 0.0f);
}

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
    *other = stride == 1 ? reach : reach / stride;
    return position + padding >= place * dilation && *other * stride == reach && *other < extent;
}

/* Both axes: an element of the other image, from (line, column) of this one. */
INLINE bool meets_pixel(const bool backward, GLOBAL const sh_gpu_work *w, uint line, uint column,
                        uint place, uint *pixel)
{
    const uint height = backward ? w->windows[0] : w->image[0];
    const uint width = backward ? w->windows[1] : w->image[1];
    uint h, v;
    const bool met = meets(backward, line, place / w->taps[1], w->stride[0], w->dilation[0],
                           w->padding[0], height, &h);
    const bool both = meets(backward, column, place % w->taps[1], w->stride[1], w->dilation[1],
                            w->padding[1], width, &v) &&
                      met;
    *pixel = h * width + v;
    return both;
}

/* One element, as it is defined. x [K, area], weights of its output channel. */
INLINE float convolve_exactly(const bool backward, GLOBAL const sh_gpu_work *w,
                              GLOBAL const float *x, GLOBAL const float *weights, uint line,
                              uint column)
{
    const uint places = w->taps[0] * w->taps[1], per_channel = backward ? w->w_out : w->w_in;
    const uint area = backward ? w->windows[0] * w->windows[1] : w->image[0] * w->image[1];
    float sum = 0.0f;
    for (uint i = 0; i < places; i++) {
        const uint place = backward ? places - 1 - i : i;
        uint pixel;
        if (meets_pixel(backward, w, line, column, place, &pixel))
            for (uint k = 0; k < w->K; k++)
                sum = FMA(weights[place * w->w_place + k * per_channel], x[k * area + pixel], sum);
    }
    return sum;
}

/* One channel of the block at k. */
#define CONVOLVE_STEP(k)                                                                           \
    {                                                                                              \
        float4 a_now[2], b_now[2];                                                                 \
        UP_TO (i, 2, em / 4)                                                                       \
            a_now[i] =                                                                             \
                *(GROUP_MEMORY const float4 *)&a_now_tile[(k)*a_line + row * 4 + i * (tm / 2)];    \
        UP_TO (j, 2, en / 4)                                                                       \
            b_now[j] =                                                                             \
                *(GROUP_MEMORY const float4 *)&b_now_tile[(k)*tn + column * 4 + j * (tn / 2)];     \
        UP_TO (i, 8, em)                                                                           \
            UP_TO (j, 8, en)                                                                       \
                sum[i][j] = FMA(NTH(a_now[i / 4], i % 4), NTH(b_now[j / 4], j % 4), sum[i][j]);    \
    }

/*
 * A tile has tm channels and 256 / (tm / em) * en positions, an item em and en of them: of 8, the
 * second four lie half a tile further. Groups: tiles of positions, tiles of channels, and groups of
 * channels of each grain that is computed apart. x is read: the image, or dy. y is written.
 */
INLINE void convolve(const uint tm, const uint em, const uint en, const bool backward, WORK,
                     GLOBAL const float *x, GLOBAL const float *weights, GLOBAL const float *bias,
                     GLOBAL float *y, GROUP_MEMORY float *a_tile, GROUP_MEMORY float *b_tile,
                     GROUP_MEMORY uint *partial, GROUP_MEMORY uint *smallest)
{
    GLOBAL const sh_gpu_work *const w = works + number;
    const uint grain = GROUP_Z / w->groups, group = GROUP_Z % w->groups;
    const uint M = w->M, K = w->K, N = w->N;
    const uint across = PRODUCT_ITEMS / (tm / em), tn = across * en, a_line = tm + 4;
    const uint width = backward ? w->image[1] : w->windows[1];
    const uint positions = width * (backward ? w->image[0] : w->windows[0]);
    const uint area = backward ? w->windows[0] * w->windows[1] : w->image[0] * w->image[1];
    const uint in_channels = w->groups * K, out_channels = w->groups * M;
    const uint top = GROUP_Y * tm, left = GROUP_X * tn;
    const uint row = ITEM / across, column = ITEM % across;
    const uint per_in = backward ? w->w_out : w->w_in, per_out = backward ? w->w_in : w->w_out;
    const uint share = PRODUCT_ITEMS / tn, my_channels = CHANNELS / share;
    const uint my_first = ITEM / tn * my_channels;
    float sum[8][8], a_next[4], b_next[8];
    uint a_smallest = 0xffffffffu, b_smallest = 0xffffffffu;
    if (ITEM < 2)
        smallest[ITEM] = 0xffffffffu;
    UP_TO (i, 8, em)
        UP_TO (j, 8, en)
            sum[i][j] = 0.0f;

    const uint mine = left + ITEM % tn; /* the position that this item reads for */
    const uint sample = mine / positions, line = mine % positions / width;
    const uint in_line = mine % width;
    x += grain * w->step[0] + group * K * area;
    weights += grain * w->step[1] + group * (backward ? K : M) * w->w_out;
    bias += grain * w->step[2] + group * M;
    y += grain * w->count;
    GLOBAL const float *const image = x + sample * in_channels * area;
    const uint places = w->taps[0] * w->taps[1];
    uint place = 0, first = 0, pixel = 0, depth = 0, now_depth = 0;
    bool met = false, missed = false;
    for (uint step = 0; place < places || now_depth > 0; step++) {
        GROUP_MEMORY float *const a_now_tile = a_tile + (step & 1) * CHANNELS * a_line;
        GROUP_MEMORY float *const b_now_tile = b_tile + (step & 1) * CHANNELS * tn;
        if (step > 0) {
            UP_TO (i, 4, (tm * CHANNELS + PRODUCT_ITEMS - 1) / PRODUCT_ITEMS) {
                const uint at = ITEM + i * PRODUCT_ITEMS;
                const uint k = backward ? at / tm : at % CHANNELS;
                const uint m = backward ? at % tm : at / CHANNELS;
                if (at < tm * CHANNELS)
                    a_now_tile[k * a_line + m] = a_next[i];
            }
            UP_TO (i, 8, my_channels)
                b_now_tile[(my_first + i) * tn + ITEM % tn] = b_next[i];
        }
        BARRIER();
        if (place < places) {
            const uint which = backward ? places - 1 - place : place;
            if (first == 0) {
                met = meets_pixel(backward, w, line, in_line, which, &pixel) && mine < N;
                missed = missed || !met;
            }
            depth = least(CHANNELS, K - first);
            UP_TO (i, 4, (tm * CHANNELS + PRODUCT_ITEMS - 1) / PRODUCT_ITEMS) {
                const uint at = ITEM + i * PRODUCT_ITEMS;
                const uint k = backward ? at / tm : at % CHANNELS;
                const uint m = backward ? at % tm : at / CHANNELS;
                a_next[i] =
                    k < depth && top + m < M && m < tm
                        ? weights[which * w->w_place + (first + k) * per_in + (top + m) * per_out]
                        : 0.0f;
                a_smallest = smaller(a_smallest, a_next[i]);
            }
            UP_TO (i, 8, my_channels) {
                b_next[i] = met && my_first + i < depth
                                ? image[(first + my_first + i) * area + pixel]
                                : 0.0f;
                b_smallest = smaller(b_smallest, b_next[i]);
            }
            first += CHANNELS;
            if (first >= K) {
                first = 0;
                place++;
            }
        } else
            depth = 0;
        if (now_depth == CHANNELS) {
#pragma unroll
            for (uint k = 0; k < CHANNELS; k++)
                CONVOLVE_STEP(k)
        } else {
            for (uint k = 0; k < now_depth; k++)
                CONVOLVE_STEP(k)
        }
        now_depth = depth;
    }
    if (ITEM < tn)
        partial[ITEM] = missed;
    const bool may_hide = may_hide_signs(smallest, a_smallest, b_smallest);
    ulong again = 0; /* which elements are computed once more */
    UP_TO (j, 8, en) {
        const uint in_tile = column * 4 + j % 4 + j / 4 * (tn / 2), position = left + in_tile;
        const uint n = position / positions, at = position % positions;
        const bool exact = partial[in_tile] == 0;
        UP_TO (i, 8, em) {
            const uint m = top + row * 4 + i % 4 + i / 4 * (tm / 2);
            if (m < M && position < N) {
                const float made = sum[i][j];
                again |= (ulong)(!exact && is_doubtful(made, may_hide)) << (8 * i + j);
                y[(n * out_channels + group * M + m) * positions + at] =
                    w->has_bias ? made + bias[m] : made;
            }
        }
    }
    for (uint which = 0; again != 0; which++, again >>= 1) {
        const uint i = which / 8, j = which % 8;
        const uint m = top + row * 4 + i % 4 + i / 4 * (tm / 2);
        const uint position = left + column * 4 + j % 4 + j / 4 * (tn / 2);
        const uint n = position / positions, at = position % positions;
        if ((again & 1) == 0)
            continue;
        const float made = convolve_exactly(backward, w, x + n * in_channels * area,
                                            weights + m * per_out, at / width, at % width);
        y[(n * out_channels + group * M + m) * positions + at] =
            w->has_bias ? made + bias[m] : made;
    }
}

/* `name` says how many channels and positions a tile has. */
#define CONVOLUTION(name, tm, em, en)                                                              \
    KERNEL(conv2d_##name)                                                                          \
    (WORK, GLOBAL const float *x, GLOBAL const float *weights, GLOBAL const float *bias,           \
     GLOBAL float *y)                                                                              \
    {                                                                                              \
        CONVOLUTION_MEMORY(tm, em, en)                                                             \
        convolve(tm, em, en, false, works, number, x, weights, bias, y, a_tile, b_tile, partial,   \
                 smallest);                                                                        \
    }                                                                                              \
    KERNEL(conv2d_grad_input_##name)                                                               \
    (WORK, GLOBAL const float *dy, GLOBAL const float *weights, GLOBAL const float *bias,          \
     GLOBAL float *dx)                                                                             \
    {                                                                                              \
        CONVOLUTION_MEMORY(tm, em, en)                                                             \
        convolve(tm, em, en, true, works, number, dy, weights, bias, dx, a_tile, b_tile, partial,  \
                 smallest);                                                                        \
    }
#define CONVOLUTION_MEMORY(tm, em, en)                                                             \
    GROUP_MEMORY float a_tile[2 * CHANNELS * (tm + 4)] __attribute__((aligned(16)));               \
    GROUP_MEMORY float b_tile[2 * CHANNELS * PRODUCT_ITEMS / (tm / em) * en]                       \
        __attribute__((aligned(16)));                                                              \
    GROUP_MEMORY uint partial[PRODUCT_ITEMS / (tm / em) * en], smallest[2];

CONVOLUTION(16x256, 16, 4, 4)
CONVOLUTION(32x256, 32, 8, 4)
CONVOLUTION(64x256, 64, 8, 8)
CONVOLUTION(128x128, 128, 8, 8)
CONVOLUTION(64x64, 64, 4, 4)

/*
 * dw [outputs, channels of a group * places] of a grain: chains over positions of dy, samples
 * first. Rows of the image that lie outside are skipped, as above: what is 0 or NaN is computed
 * once more. Columns that lie outside count as 0. Groups: tiles of columns of dw, tiles of rows,
 * groups of channels of each grain.
 *
 * Tiles are those of product.cl: chains are long and few, so small ones are often the best.
 */

/* What a column of dw reads: its channel's image, and where the window lies from place 0. */
typedef struct weight_column {
    uint image, row, column;
} weight_column;

/* One element, as it is defined: dy [samples, outputs, positions] of its channel, x likewise. */
INLINE float grad_weight_exactly(GLOBAL const sh_gpu_work *w, GLOBAL const float *x,
                                 GLOBAL const float *dy, uint row, uint column)
{
    const uint area = w->image[0] * w->image[1], positions = w->windows[0] * w->windows[1];
    float sum = 0.0f;
    for (uint n = 0; n < w->samples; n++)
        for (uint p = 0; p < w->windows[0]; p++) {
            const uint h = p * w->stride[0] + row;
            for (uint q = 0; q < w->windows[1] && h < w->image[0]; q++) {
                const uint v = q * w->stride[1] + column;
                const float value =
                    v < w->image[1] ? x[n * w->channels * area + h * w->image[1] + v] : 0.0f;
                sum = FMA(dy[n * w->outputs * positions + p * w->windows[1] + q], value, sum);
            }
        }
    return sum;
}

INLINE void grad_weight(const uint each, WORK, GLOBAL const float *x, GLOBAL const float *dy,
                        GLOBAL float *dw, GROUP_MEMORY float *a_tile, GROUP_MEMORY float *b_tile,
                        GROUP_MEMORY weight_column *columns, GROUP_MEMORY uint *smallest)
{
    GLOBAL const sh_gpu_work *const w = works + number;
    const uint grain = GROUP_Z / w->groups, group = GROUP_Z % w->groups, side = 16 * each;
    const uint M = w->M, N = w->N, K = w->K, places = w->taps[0] * w->taps[1];
    const uint positions = w->windows[0] * w->windows[1], width = w->windows[1];
    const uint area = w->image[0] * w->image[1], high = w->image[0], wide = w->image[1];
    const uint top = GROUP_Y * side, left = GROUP_X * side;
    const uint row = ITEM / 16, column = ITEM % 16;
    const uint my_position = ITEM % BLOCK, my_line = ITEM / BLOCK;
    float sum[4][4], a_next[8], b_next[8];
    uint a_smallest = 0xffffffffu, b_smallest = 0xffffffffu;
    if (ITEM < 2)
        smallest[ITEM] = 0xffffffffu;
    UP_TO (i, 4, each)
        UP_TO (j, 4, each)
            sum[i][j] = 0.0f;
    x += grain * w->step[0] + group * (N / places) * area;
    dy += grain * w->step[1] + (group * M + top) * positions;
    for (uint n = ITEM; n < side; n += PRODUCT_ITEMS) {
        const uint place = (left + n) % places;
        columns[n].image = (left + n) / places * area;
        columns[n].row = place / w->taps[1] * w->dilation[0] - w->padding[0];
        columns[n].column = place % w->taps[1] * w->dilation[1] - w->padding[1];
    }
    BARRIER();
    for (uint first = 0; first < K + BLOCK; first += BLOCK) {
        if (first > 0) {
            UP_TO (i, 8, side / LINES_AT_ONCE) {
                a_tile[(my_line + LINES_AT_ONCE * i) * LINE + my_position] = a_next[i];
                b_tile[(my_line + LINES_AT_ONCE * i) * LINE + my_position] = b_next[i];
            }
        }
        BARRIER();
        if (first < K) {
            const uint at = first + my_position, sample = at / positions;
            const uint position = at - sample * positions, p = position / width;
            const uint h = p * w->stride[0], v = (position - p * width) * w->stride[1];
            GLOBAL const float *const from = dy + sample * w->outputs * positions + position;
            GLOBAL const float *const image = x + sample * w->channels * area;
            UP_TO (i, 8, side / LINES_AT_ONCE) {
                const uint line = my_line + LINES_AT_ONCE * i;
                const uint r = h + columns[line].row, c = v + columns[line].column;
                a_next[i] = at < K && top + line < M ? from[line * positions] : 0.0f;
                b_next[i] = at < K && left + line < N && r < high && c < wide
                                ? image[columns[line].image + r * wide + c]
                                : 0.0f;
                a_smallest = smaller(a_smallest, a_next[i]);
                b_smallest = smaller(b_smallest, b_next[i]);
            }
        }
        if (first > 0)
            MULTIPLY_BLOCK(least(BLOCK, K + BLOCK - first))
        BARRIER();
    }
    dw += grain * w->count + group * M * N;
    const bool may_hide = may_hide_signs(smallest, a_smallest, b_smallest);
    uint again = 0;
    UP_TO (i, 4, each)
        UP_TO (j, 4, each) {
            const uint m = top + row + 16 * i, n = left + column + 16 * j;
            if (m < M && n < N) {
                again |= (uint)(w->padded && is_doubtful(sum[i][j], may_hide)) << (4 * i + j);
                dw[m * N + n] = sum[i][j];
            }
        }
    for (uint which = 0; again != 0; which++, again >>= 1) {
        const uint m = row + 16 * (which / 4), n = column + 16 * (which % 4);
        if ((again & 1) != 0)
            dw[(top + m) * N + left + n] = grad_weight_exactly(
                w, x + columns[n].image, dy + m * positions, columns[n].row, columns[n].column);
    }
}

#define GRAD_WEIGHT(side)                                                                          \
    KERNEL(conv2d_grad_weight_##side)                                                              \
    (WORK, GLOBAL const float *x, GLOBAL const float *dy, GLOBAL float *dw)                        \
    {                                                                                              \
        GROUP_MEMORY float a_tile[side * LINE] __attribute__((aligned(16)));                       \
        GROUP_MEMORY float b_tile[side * LINE] __attribute__((aligned(16)));                       \
        GROUP_MEMORY weight_column columns[side];                                                  \
        GROUP_MEMORY uint smallest[2];                                                             \
        grad_weight(side / 16, works, number, x, dy, dw, a_tile, b_tile, columns, smallest);       \
    }

GRAD_WEIGHT(16)
GRAD_WEIGHT(32)
GRAD_WEIGHT(64)

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

KERNEL(depthwise_grad_weight)
(WORK, GLOBAL const float *x, GLOBAL const float *dy, GLOBAL float *dw)
{
    GRAIN_AND_ELEMENT
    const uint places = w->taps[0] * w->taps[1], channel = element / places;
    const uint r = element % places / w->taps[1], s = element % w->taps[1];
    const uint high = w->image[0], wide = w->image[1], width = w->windows[1];
    const uint area = high * wide, positions = w->windows[0] * width, step = w->stride[1];
    const uint down = r * w->dilation[0] - w->padding[0],
               right = s * w->dilation[1] - w->padding[1];
    x += grain * w->step[0] + channel * area;
    dy += grain * w->step[1] + channel * positions;
    const uint all = w->samples * positions;
    uint p = 0, q = 0;
    float sum = 0.0f;
    for (uint first = 0; first < all; first += 16) { /* sixteen loads are on their way at once */
        float a[16], b[16];
        uint inside = 0;
        UP_TO (d, 16, 16) {
            const uint h = p * w->stride[0] + down, v = q * step + right;
            const bool met = first + d < all && h < high && v < wide;
            a[d] = met ? x[h * wide + v] : 0.0f;
            b[d] = met ? dy[p * width + q] : 0.0f;
            inside |= (uint)met << d;
            if (++q == width) {
                q = 0;
                if (++p == w->windows[0]) {
                    p = 0;
                    x += w->channels * area;
                    dy += w->channels * positions;
                }
            }
        }
        UP_TO (d, 16, 16)
            sum = (inside >> d & 1) != 0 ? FMA(a[d], b[d], sum) : sum;
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
