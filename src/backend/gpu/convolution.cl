/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions and their gradients as products without copies of windows: tiles are read from the
 * image. A chain goes over window places, then channels.
 *
 * Places outside of the image must be skipped, but tiles have zeros there. A product with 0 changes
 * a sum in only two cases: -0 becomes +0, and a factor that is not finite gives NaN. A nonzero sum
 * does not depend on the sign of an earlier 0. So an element with a place outside is computed
 * again, exactly, if its result is NaN, or 0 that may have been -0. A sum becomes -0 only if a
 * product has bits below 2^-149, which no float has; a product of at least 2^-100 ends above
 * 2^-148. So each group finds the smallest nonzero magnitude of each factor.
 *
 * The gradient of the input is the same product from dy. Places run backwards, so that rows and
 * columns of dy ascend. With strides, most places meet no position.
 */
#define CHANNELS 8 /* of a block */

#define HARMLESS 0x1p-100f

/* The smaller of `least_bits` and the bits of |x| less 1, so that 0 is the largest. */
INLINE uint smaller(uint least_bits, float x)
{
    return least(least_bits, (AS_UINT(x) & 0x7fffffffu) - 1);
}

/* Joins all items; smallest [2] must contain ones. Returns whether a zero may have been -0. */
INLINE bool may_hide_signs(GROUP_MEMORY uint *smallest, uint a, uint b)
{
    lower_in_group(&smallest[0], a);
    lower_in_group(&smallest[1], b);
    BARRIER();
    return smallest[0] != 0xffffffffu && smallest[1] != 0xffffffffu &&
           !(AS_FLOAT(smallest[0] + 1) * AS_FLOAT(smallest[1] + 1) >= HARMLESS);
}

/* Whether to compute an element with a place outside again. */
INLINE bool is_doubtful(float made, bool may_hide)
{
    return made != made || (may_hide && made == 0.0f);
}

/* Finds the position of the other image that place meets from `position` along one axis; false:
 * none. */
INLINE bool meets(const bool backward, uint position, uint place, uint stride, uint dilation,
                  uint padding, uint extent, uint *other)
{
    if (!backward) {
        *other = position * stride + place * dilation - padding; /* may wrap below zero */
        return *other < extent;
    }
    const uint reach = position + padding - place * dilation;
    *other = by_stride(reach, stride);
    return position + padding >= place * dilation && *other * stride == reach && *other < extent;
}

/* The same for both axes: finds a pixel of the other image from (line, column). */
INLINE bool meets_pixel(const bool backward, const sh_gpu_work *w, uint line, uint column,
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

/* One element by definition: x [K, area], weights of its output channel. */
INLINE float convolve_exactly(const bool backward, const sh_gpu_work *w, GLOBAL const float *x,
                              GLOBAL const float *weights, uint line, uint column)
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

typedef struct position {
    uint sample, line, column;
} position;

/* Lines are sorted by remainder modulo `stride`. For line number `rank`: its remainder, the number
 * of lines with the same one (alike), and with smaller ones (before). */
INLINE uint remainder_of(uint rank, uint extent, uint stride, uint *alike, uint *before)
{
    const uint each = extent / stride, longer = extent % stride, in_longer = longer * (each + 1);
    const uint remainder =
        rank < in_longer ? rank / (each + 1) : longer + (rank - in_longer) / each;
    *alike = each + (remainder < longer ? 1 : 0);
    *before = remainder * each + least(remainder, longer);
    return remainder;
}

/*
 * Position number `at` of all samples. With strides, a pixel of dx meets only the places that fit
 * its remainders modulo the strides. So these positions are sorted by remainders: most tiles then
 * have one kind of pixels and skip all other places.
 */
INLINE position position_of(const bool backward, const sh_gpu_work *w, uint at)
{
    const uint width = backward ? w->image[1] : w->windows[1];
    const uint height = backward ? w->image[0] : w->windows[0];
    position found;
    if (!backward || (w->stride[0] == 1 && w->stride[1] == 1)) {
        found.sample = at / (height * width);
        found.line = at % (height * width) / width;
        found.column = at % width;
        return found;
    }
    uint lines, columns, before;
    const uint down =
        remainder_of(at / (w->samples * width), height, w->stride[0], &lines, &before);
    at -= w->samples * width * before;
    const uint right =
        remainder_of(at / (w->samples * lines), width, w->stride[1], &columns, &before);
    at -= w->samples * lines * before;
    found.sample = at / (lines * columns);
    found.line = down + at % (lines * columns) / columns * w->stride[0];
    found.column = right + at % columns * w->stride[1];
    return found;
}

/* Whether pixels with these remainders meet the place. */
INLINE bool fits(const sh_gpu_work *w, position remainder, uint place)
{
    return (remainder.line + w->padding[0]) % w->stride[0] ==
               place / w->taps[1] * w->dilation[0] % w->stride[0] &&
           (remainder.column + w->padding[1]) % w->stride[1] ==
               place % w->taps[1] * w->dilation[1] % w->stride[1];
}

/* One channel of a block, number k. */
#define CONVOLVE_STEP(k)                                                                           \
    {                                                                                              \
        float4 a_now[2], b_now[2];                                                                 \
        UP_TO (i, 2, em / 4)                                                                       \
            a_now[i] =                                                                             \
                *(GROUP_MEMORY const float4 *)&a_now_tile[(k)*a_line + row * 4 + i * (tm / 2)];    \
        UP_TO (j, 2, en / 4)                                                                       \
            b_now[j] =                                                                             \
                *(GROUP_MEMORY const float4 *)&b_now_tile[(k)*b_line + column * 4 + j * (tn / 2)]; \
        UP_TO (i, 8, em)                                                                           \
            UP_TO (j, 8, en)                                                                       \
                sum[i][j] = FMA(NTH(a_now[i / 4], i % 4), NTH(b_now[j / 4], j % 4), sum[i][j]);    \
    }

/*
 * A tile has tm channels and items / (tm / em) * en positions; an item has em by en of them (the
 * second four of 8 are half a tile further). Groups: tiles of positions, tiles of channels, channel
 * groups of each separate grain. x is the image or dy.
 */
INLINE void convolve(const uint items, const uint tm, const uint em, const uint en,
                     const bool backward, const sh_gpu_work *w, GLOBAL const float *x,
                     GLOBAL const float *weights, GLOBAL const float *bias, GLOBAL float *y,
                     GROUP_MEMORY float *a_tile, GROUP_MEMORY float *b_tile,
                     GROUP_MEMORY uint *partial, GROUP_MEMORY uint *offsets,
                     GROUP_MEMORY uint *smallest)
{
    const uint grain = GROUP_Z / w->groups, group = GROUP_Z % w->groups;
    const uint M = w->M, K = w->K, N = w->N;
    const uint across = items / (tm / em), tn = across * en, a_line = tm + 4, b_line = tn;
    const uint width = backward ? w->image[1] : w->windows[1];
    const uint positions = width * (backward ? w->image[0] : w->windows[0]);
    const uint area = backward ? w->windows[0] * w->windows[1] : w->image[0] * w->image[1];
    const uint in_channels = w->groups * K, out_channels = w->groups * M;
    const uint top = GROUP_Y * tm, left = GROUP_X * tn;
    const uint row = row_of_item(tm / em, across), column = column_of_item(tm / em, across);
    const uint per_in = backward ? w->w_out : w->w_in, per_out = backward ? w->w_in : w->w_out;
    const uint share = items / tn, my_channels = CHANNELS / share;
    const uint my_first = ITEM / tn * my_channels;
    float sum[8][8], a_next[4], b_next[8];
    uint a_smallest = 0xffffffffu, b_smallest = 0xffffffffu;
    if (ITEM < 2)
        smallest[ITEM] = 0xffffffffu;
    UP_TO (i, 8, em)
        UP_TO (j, 8, en)
            sum[i][j] = 0.0f;

    const uint mine = left + ITEM % tn; /* the position that this item reads for */
    const position my = position_of(backward, w, least(mine, N - 1));
    const position one = position_of(backward, w, left);
    const position last = position_of(backward, w, least(left + tn, N) - 1);
    const bool alike = backward && one.line % w->stride[0] == last.line % w->stride[0] &&
                       one.column % w->stride[1] == last.column % w->stride[1];
    x += grain * w->step[0] + group * K * area;
    weights += grain * w->step[1] + group * (backward ? K : M) * w->w_out;
    bias += grain * w->step[2] + group * M;
    y += grain * w->count;
    GLOBAL const float *const image = x + my.sample * in_channels * area;
    const uint places = w->taps[0] * w->taps[1];
    uint place = 0, first = 0, pixel = 0, depth = 0, now_depth = 0;
    bool met = false, missed = false;
    while (alike && place < places && !fits(w, one, places - 1 - place))
        place++;
    for (uint step = 0; place < places || now_depth > 0; step++) {
        GROUP_MEMORY float *const a_now_tile = a_tile + (step & 1) * CHANNELS * a_line;
        GROUP_MEMORY float *const b_now_tile = b_tile + (step & 1) * CHANNELS * tn;
        if (step > 0) {
            UP_TO (i, 4, (tm * CHANNELS + items - 1) / items) {
                const uint at = ITEM + i * items;
                const uint k = backward ? at / tm : at % CHANNELS;
                const uint m = backward ? at % tm : at / CHANNELS;
                if (at < tm * CHANNELS)
                    a_now_tile[k * a_line + m] = a_next[i];
                a_smallest = smaller(a_smallest, a_next[i]);
            }
            UP_TO (i, 8, my_channels) {
                b_now_tile[(my_first + i) * b_line + ITEM % tn] = b_next[i];
                b_smallest = smaller(b_smallest, b_next[i]);
            }
        }
        BARRIER();
        if (place < places) {
            const uint which = backward ? places - 1 - place : place;
            if (first == 0) {
                met = meets_pixel(backward, w, my.line, my.column, which, &pixel) && mine < N;
                missed = missed || !met;
            }
            depth = least(CHANNELS, K - first);
            UP_TO (i, 4, (tm * CHANNELS + items - 1) / items) {
                const uint at = ITEM + i * items;
                const uint k = backward ? at / tm : at % CHANNELS;
                const uint m = backward ? at % tm : at / CHANNELS;
                a_next[i] =
                    k < depth && top + m < M && m < tm
                        ? weights[which * w->w_place + (first + k) * per_in + (top + m) * per_out]
                        : 0.0f;
            }
            UP_TO (i, 8, my_channels)
                b_next[i] = met && my_first + i < depth
                                ? image[(first + my_first + i) * area + pixel]
                                : 0.0f;
            first += CHANNELS;
            if (first >= K) {
                first = 0;
                do
                    place++;
                while (alike && place < places && !fits(w, one, places - 1 - place));
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
    if (ITEM < tn) {
        partial[ITEM] = missed;
        offsets[ITEM] = my.sample * out_channels * positions + my.line * width + my.column;
    }
    const bool may_hide = may_hide_signs(smallest, a_smallest, b_smallest);
    ulong again = 0; /* elements to compute again */
    UP_TO (j, 8, en) {
        const uint in_tile = column * 4 + j % 4 + j / 4 * (tn / 2);
        GLOBAL float *const to = y + offsets[in_tile];
        const bool exact = partial[in_tile] == 0;
        UP_TO (i, 8, em) {
            const uint m = top + row * 4 + i % 4 + i / 4 * (tm / 2);
            if (m < M && left + in_tile < N) {
                const float made = sum[i][j];
                again |= (ulong)(!exact && is_doubtful(made, may_hide)) << (8 * i + j);
                to[(group * M + m) * positions] = w->has_bias ? made + bias[m] : made;
            }
        }
    }
    for (uint which = 0; again != 0; which++, again >>= 1) {
        const uint i = which / 8, j = which % 8;
        const uint m = top + row * 4 + i % 4 + i / 4 * (tm / 2);
        if ((again & 1) == 0)
            continue;
        const position p = position_of(backward, w, left + column * 4 + j % 4 + j / 4 * (tn / 2));
        const float made = convolve_exactly(backward, w, x + p.sample * in_channels * area,
                                            weights + m * per_out, p.line, p.column);
        y[(p.sample * out_channels + group * M + m) * positions + p.line * width + p.column] =
            w->has_bias ? made + bias[m] : made;
    }
}

/* The name gives the channels and positions of a tile. `function` selects the direction; the
 * largest tile has a kernel for each direction, because it has no spare registers. */
#define CONVOLUTION(name, items, tm, em, en, backward)                                             \
    KERNEL(name)                                                                                   \
    (WORK, GLOBAL const float *x, GLOBAL const float *weights, GLOBAL const float *bias,           \
     GLOBAL float *y)                                                                              \
    {                                                                                              \
        GROUP_MEMORY float a_tile[2 * CHANNELS * (tm + 4)] __attribute__((aligned(16)));           \
        GROUP_MEMORY float b_tile[2 * CHANNELS * items / (tm / em) * en]                           \
            __attribute__((aligned(16)));                                                          \
        GROUP_MEMORY uint partial[items / (tm / em) * en], offsets[items / (tm / em) * en];        \
        GROUP_MEMORY uint smallest[2];                                                             \
        convolve(items, tm, em, en, backward, &work, x, weights, bias, y, a_tile, b_tile, partial, \
                 offsets, smallest);                                                               \
    }

CONVOLUTION(conv2d_64x256, 256, 64, 8, 8, false)
CONVOLUTION(conv2d_grad_input_64x256, 256, 64, 8, 8, true)
CONVOLUTION(conv2d_32x256, 256, 32, 8, 4, work.function != 0)
CONVOLUTION(conv2d_16x128, 128, 16, 4, 4, work.function != 0)
CONVOLUTION(conv2d_32x64, 128, 32, 4, 4, work.function != 0)
CONVOLUTION(conv2d_64x64, 256, 64, 4, 4, work.function != 0)

/*
 * dw [outputs, channels of a group * places] of a grain: chains over samples, then positions of dy.
 * Rows outside of the image are skipped, as above; columns outside count as 0. Groups: tiles of
 * columns of dw, tiles of rows, channel groups of each grain. Tiles are those of product.cl: chains
 * are long and few, so small tiles are often best.
 */

/* What a column of dw reads: the image of its channel, from window place 0. */
typedef struct weight_column {
    uint image, row, column;
} weight_column;

/* One element by definition: dy [samples, outputs, positions] of its channel, x likewise. */
INLINE float grad_weight_exactly(const sh_gpu_work *w, GLOBAL const float *x,
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

INLINE void grad_weight(const uint each, const sh_gpu_work *w, GLOBAL const float *x,
                        GLOBAL const float *dy, GLOBAL float *dw, GROUP_MEMORY float *a_tile,
                        GROUP_MEMORY float *b_tile, GROUP_MEMORY weight_column *columns,
                        GROUP_MEMORY uint *smallest)
{
    const uint grain = GROUP_Z / w->groups, group = GROUP_Z % w->groups;
    const uint side = 16 * each, block = BLOCK(side), line = LINE(side);
    const uint M = w->M, N = w->N, K = w->K, places = w->taps[0] * w->taps[1];
    const uint positions = w->windows[0] * w->windows[1], width = w->windows[1];
    const uint area = w->image[0] * w->image[1], high = w->image[0], wide = w->image[1];
    const uint top = GROUP_Y * side, left = GROUP_X * side;
    const uint row = row_of_item(16, 16), column = column_of_item(16, 16);
    const uint my_position = ITEM % block, my_line = ITEM / block;
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
    for (uint first = 0; first < K + block; first += block) {
        if (first > 0) {
            UP_TO (i, 8, 8) {
                a_tile[(my_line + LINES_AT_ONCE(side) * i) * line + my_position] = a_next[i];
                b_tile[(my_line + LINES_AT_ONCE(side) * i) * line + my_position] = b_next[i];
                a_smallest = smaller(a_smallest, a_next[i]);
                b_smallest = smaller(b_smallest, b_next[i]);
            }
        }
        BARRIER();
        if (first < K) {
            const uint at = first + my_position, sample = at / positions;
            const uint position = at - sample * positions, p = position / width;
            const uint h = p * w->stride[0], v = (position - p * width) * w->stride[1];
            GLOBAL const float *const from = dy + sample * w->outputs * positions + position;
            GLOBAL const float *const image = x + sample * w->channels * area;
            UP_TO (i, 8, 8) {
                const uint in_tile = my_line + LINES_AT_ONCE(side) * i;
                const uint r = h + columns[in_tile].row, c = v + columns[in_tile].column;
                a_next[i] = at < K && top + in_tile < M ? from[in_tile * positions] : 0.0f;
                b_next[i] = at < K && left + in_tile < N && r < high && c < wide
                                ? image[columns[in_tile].image + r * wide + c]
                                : 0.0f;
            }
        }
        if (first > 0)
            MULTIPLY_BLOCK(least(block, K + block - first))
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
        GROUP_MEMORY float a_tile[side * LINE(side)] __attribute__((aligned(16)));                 \
        GROUP_MEMORY float b_tile[side * LINE(side)] __attribute__((aligned(16)));                 \
        GROUP_MEMORY weight_column columns[side];                                                  \
        GROUP_MEMORY uint smallest[2];                                                             \
        grad_weight(side / 16, &work, x, dy, dw, a_tile, b_tile, columns, smallest);               \
    }

GRAD_WEIGHT(16)
GRAD_WEIGHT(32)

/*
 * The same for larger tiles: tm rows by tn columns, em by en of them per item. A block has `deep`
 * elements of the chains; group memory stores lines across the tile. An item reads one element of
 * each block for several rows and columns, so it computes their addresses only once and needs no
 * divisions between blocks.
 */
INLINE void grad_weight_wide(const uint deep, const uint tm, const uint tn, const uint em,
                             const uint en, const sh_gpu_work *w, GLOBAL const float *x,
                             GLOBAL const float *dy, GLOBAL float *dw, GROUP_MEMORY float *a_tile,
                             GROUP_MEMORY float *b_tile, GROUP_MEMORY uint *smallest)
{
    const uint across = tn / en, at_once = tm / em * across / deep;
    const uint a_line = tm + 4, b_line = tn + 4;
    const uint grain = GROUP_Z / w->groups, group = GROUP_Z % w->groups;
    const uint M = w->M, N = w->N, K = w->K, places = w->taps[0] * w->taps[1];
    const uint width = w->windows[1], positions = w->windows[0] * width;
    const uint area = w->image[0] * w->image[1], high = w->image[0], wide = w->image[1];
    const uint top = GROUP_Y * tm, left = GROUP_X * tn;
    const uint row = row_of_item(tm / em, across), column = column_of_item(tm / em, across);
    const uint my_element = ITEM % deep, my_line = ITEM / deep;
    float sum[8][8], a_next[8], b_next[8];
    uint from[8], down[8], right[8]; /* columns of dw that this item reads for */
    uint a_smallest = 0xffffffffu, b_smallest = 0xffffffffu;
    if (ITEM < 2)
        smallest[ITEM] = 0xffffffffu;
    UP_TO (i, 8, em)
        UP_TO (j, 8, en)
            sum[i][j] = 0.0f;
    x += grain * w->step[0] + group * (N / places) * area;
    dy += grain * w->step[1] + (group * M + top) * positions;
    UP_TO (i, 8, tn / at_once) {
        const uint n = left + my_line + i * at_once, place = n % places;
        const bool is_one = n < N;
        down[i] = is_one ? place / w->taps[1] * w->dilation[0] - w->padding[0] : 0x80000000u;
        right[i] = place % w->taps[1] * w->dilation[1] - w->padding[1];
        from[i] = n / places * area + down[i] * wide + right[i];
    }
    uint sample = my_element / positions, p = my_element % positions / width;
    uint q = my_element % width;
    for (uint first = 0, step = 0; first < K + deep; first += deep, step++) {
        GROUP_MEMORY float *const a_now_tile = a_tile + (step & 1) * deep * a_line;
        GROUP_MEMORY float *const b_now_tile = b_tile + (step & 1) * deep * b_line;
        if (first > 0) {
            UP_TO (i, 8, tm / at_once) {
                a_now_tile[my_element * a_line + my_line + i * at_once] = a_next[i];
                a_smallest = smaller(a_smallest, a_next[i]);
            }
            UP_TO (i, 8, tn / at_once) {
                b_now_tile[my_element * b_line + my_line + i * at_once] = b_next[i];
                b_smallest = smaller(b_smallest, b_next[i]);
            }
        }
        BARRIER();
        if (first < K) {
            const bool is_one = first + my_element < K;
            const uint h = p * w->stride[0], v = q * w->stride[1];
            GLOBAL const float *const of_dy = dy + sample * w->outputs * positions + p * width + q;
            GLOBAL const float *const of_x = x + sample * w->channels * area;
            UP_TO (i, 8, tm / at_once) {
                const uint line = my_line + i * at_once;
                a_next[i] = is_one && top + line < M ? of_dy[line * positions] : 0.0f;
            }
            UP_TO (i, 8, tn / at_once)
                b_next[i] = is_one && h + down[i] < high && v + right[i] < wide
                                ? of_x[h * wide + v + from[i]]
                                : 0.0f;
            for (q += deep; q >= width; q -= width)
                if (++p == w->windows[0]) {
                    p = 0;
                    sample++;
                }
        }
        const uint depth = first > 0 ? least(deep, K + deep - first) : 0;
        if (depth == deep) {
#pragma unroll
            for (uint k = 0; k < deep; k++)
                CONVOLVE_STEP(k)
        } else {
            for (uint k = 0; k < depth; k++)
                CONVOLVE_STEP(k)
        }
    }
    dw += grain * w->count + group * M * N;
    const bool may_hide = may_hide_signs(smallest, a_smallest, b_smallest);
    ulong again = 0;
    UP_TO (i, 8, em)
        UP_TO (j, 8, en) {
            const uint m = top + row * 4 + i % 4 + i / 4 * (tm / 2);
            const uint n = left + column * 4 + j % 4 + j / 4 * (tn / 2);
            if (m < M && n < N) {
                again |= (ulong)(w->padded && is_doubtful(sum[i][j], may_hide)) << (8 * i + j);
                dw[m * N + n] = sum[i][j];
            }
        }
    for (uint which = 0; again != 0; which++, again >>= 1) {
        const uint i = which / 8, j = which % 8;
        const uint m = row * 4 + i % 4 + i / 4 * (tm / 2);
        const uint n = left + column * 4 + j % 4 + j / 4 * (tn / 2), place = n % places;
        if ((again & 1) != 0)
            dw[(top + m) * N + n] =
                grad_weight_exactly(w, x + n / places * area, dy + m * positions,
                                    place / w->taps[1] * w->dilation[0] - w->padding[0],
                                    place % w->taps[1] * w->dilation[1] - w->padding[1]);
    }
}

#define GRAD_WEIGHT_WIDE(name, deep, tm, tn, em, en)                                               \
    KERNEL(conv2d_grad_weight_##name)                                                              \
    (WORK, GLOBAL const float *x, GLOBAL const float *dy, GLOBAL float *dw)                        \
    {                                                                                              \
        GROUP_MEMORY float a_tile[2 * deep * (tm + 4)] __attribute__((aligned(16)));               \
        GROUP_MEMORY float b_tile[2 * deep * (tn + 4)] __attribute__((aligned(16)));               \
        GROUP_MEMORY uint smallest[2];                                                             \
        grad_weight_wide(deep, tm, tn, em, en, &work, x, dy, dw, a_tile, b_tile, smallest);        \
    }

GRAD_WEIGHT_WIDE(64, 16, 64, 64, 8, 4)
GRAD_WEIGHT_WIDE(128, 8, 128, 128, 8, 8)

/* Depthwise, one item per element. Skips rows and columns outside. */
INLINE void convolve_depthwise(const bool backward, const sh_gpu_work *w, GLOBAL const float *x,
                               GLOBAL const float *weights, GLOBAL const float *bias,
                               GLOBAL float *y)
{
    FIND_ELEMENT
    const uint height = backward ? w->image[0] : w->windows[0],
               width = backward ? w->image[1] : w->windows[1];
    const uint from_height = backward ? w->windows[0] : w->image[0];
    const uint from_width = backward ? w->windows[1] : w->image[1];
    const uint plane = element / (height * width), channel = plane % w->channels;
    const uint line = element % (height * width) / width, place_in_line = element % width;
    x += grain * w->step[0] + plane * from_height * from_width;
    weights += grain * w->step[1] + channel * w->taps[0] * w->taps[1];
    float sum = 0.0f;
    for (uint i = 0; i < w->taps[0]; i++) {
        const uint r = backward ? w->taps[0] - 1 - i : i;
        uint h, v;
        if (!meets(backward, line, r, w->stride[0], w->dilation[0], w->padding[0], from_height, &h))
            continue;
        for (uint j = 0; j < w->taps[1]; j++) {
            const uint s = backward ? w->taps[1] - 1 - j : j;
            if (meets(backward, place_in_line, s, w->stride[1], w->dilation[1], w->padding[1],
                      from_width, &v))
                sum = FMA(x[h * from_width + v], weights[r * w->taps[1] + s], sum);
        }
    }
    y[at] = w->has_bias ? sum + bias[grain * w->step[2] + channel] : sum;
}

KERNEL(depthwise)
(WORK, GLOBAL const float *x, GLOBAL const float *weights, GLOBAL const float *bias,
 GLOBAL float *y)
{
    convolve_depthwise(false, &work, x, weights, bias, y);
}

KERNEL(depthwise_grad_input)
(WORK, GLOBAL const float *dy, GLOBAL const float *weights, GLOBAL const float *bias,
 GLOBAL float *dx)
{
    convolve_depthwise(true, &work, dy, weights, bias, dx);
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
    for (uint first = 0; first < all; first += 16) { /* sixteen loads in flight */
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

/*
 * The same for long chains. A group has one channel of a grain and up to LONG_TAPS window places.
 * Its items read LONG_BLOCK positions, one per item for all places. LONG_TAPS items continue their
 * chains while the next positions are loaded.
 */
#define LONG_TAPS 16
#define LONG_BLOCK 128
#define LONG_LINE (LONG_BLOCK + 4)

#define LONG_STEP(d) sum = NTH(met, d) != 0 ? FMA(NTH(x_now, d), NTH(dy_now, d), sum) : sum;

KERNEL(depthwise_grad_weight_long)
(WORK, GLOBAL const float *x, GLOBAL const float *dy, GLOBAL float *dw)
{
    GROUP_MEMORY float x_tile[LONG_TAPS * LONG_LINE] __attribute__((aligned(16)));
    GROUP_MEMORY float dy_tile[LONG_BLOCK] __attribute__((aligned(16)));
    GROUP_MEMORY uchar met_tile[LONG_TAPS * LONG_LINE] __attribute__((aligned(16)));
    const sh_gpu_work *const w = &work;
    const uint grain = GROUP_X / w->channels, channel = GROUP_X % w->channels;
    const uint places = w->taps[0] * w->taps[1], place = GROUP_Y * LONG_TAPS;
    const uint here = least(LONG_TAPS, places - place);
    const uint high = w->image[0], wide = w->image[1], width = w->windows[1];
    const uint positions = w->windows[0] * width, all = w->samples * positions;
    x += grain * w->step[0] + channel * high * wide;
    dy += grain * w->step[1] + channel * positions;
    float x_next[LONG_TAPS], dy_next = 0.0f, sum = 0.0f;
    uint met_next = 0;
    for (uint first = 0; first < all + LONG_BLOCK; first += LONG_BLOCK) {
        if (first > 0) {
            UP_TO (t, LONG_TAPS, here) {
                x_tile[t * LONG_LINE + ITEM] = x_next[t];
                met_tile[t * LONG_LINE + ITEM] = met_next >> t & 1;
            }
            dy_tile[ITEM] = dy_next;
        }
        BARRIER();
        if (first < all) {
            const uint at = first + ITEM, sample = at / positions, p = at % positions / width;
            const uint q = at % width;
            const bool is_one = at < all;
            uint r = place / w->taps[1], s = place % w->taps[1];
            GLOBAL const float *const image = x + sample * w->channels * high * wide;
            dy_next = is_one ? dy[sample * w->channels * positions + p * width + q] : 0.0f;
            met_next = 0;
            UP_TO (t, LONG_TAPS, here) {
                const uint h = p * w->stride[0] + r * w->dilation[0] - w->padding[0];
                const uint v = q * w->stride[1] + s * w->dilation[1] - w->padding[1];
                const bool met = is_one && h < high && v < wide;
                x_next[t] = met ? image[h * wide + v] : 0.0f;
                met_next |= (uint)met << t;
                if (++s == w->taps[1]) {
                    s = 0;
                    r++;
                }
            }
        }
        if (first > 0 && ITEM < here) /* positions beyond the last are not met */
            for (uint k = 0; k < LONG_BLOCK; k += 4) {
                const float4 x_now = *(GROUP_MEMORY const float4 *)&x_tile[ITEM * LONG_LINE + k];
                const float4 dy_now = *(GROUP_MEMORY const float4 *)&dy_tile[k];
                const uchar4 met = *(GROUP_MEMORY const uchar4 *)&met_tile[ITEM * LONG_LINE + k];
                LONG_STEP(0)
                LONG_STEP(1)
                LONG_STEP(2)
                LONG_STEP(3)
            }
        BARRIER();
    }
    if (ITEM < here)
        dw[GROUP_X * places + place + ITEM] = sum;
}

/* Sums each channel of dy [samples, channels, inner] in chains. A group per channel of a grain. */
#define SUM_ITEMS 64

KERNEL(bias_grad)(WORK, GLOBAL const float *dy, GLOBAL float *db)
{
    GROUP_MEMORY float chain[256];
    const sh_gpu_work *const w = &work;
    const uint grain = GROUP_X / w->count, channel = GROUP_X % w->count;
    const uint rows = w->samples * w->inner;
    dy += grain * w->step[0] + channel * w->inner;
    for (uint t = ITEM; t < w->chains; t += SUM_ITEMS) {
        float sum = 0.0f;
        for (uint first = t; first < rows; first += 8 * w->chains) { /* eight loads at once */
            float now[8];
            UP_TO (k, 8, 8) {
                const uint i = first + k * w->chains;
                now[k] = i < rows ? dy[i / w->inner * w->count * w->inner + i % w->inner] : 0.0f;
            }
            UP_TO (k, 8, 8)
                sum = first + k * w->chains < rows ? sum + now[k] : sum;
        }
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
