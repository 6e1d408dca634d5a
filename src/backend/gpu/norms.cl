/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation of x [samples, channels, inner], by grain. The rows of a channel are summed
 * in chains. A block has 32 elements of each chain; at its end the chains are added to a double, in
 * order (docs/arithmetic.md). An item sums one chain of a block. A group has one channel, or
 * several if a channel has fewer chains than items.
 */
#define NORM_ITEMS 64
#define CHAIN_LENGTH 32

/* Walks along a chain: every `chains`-th row of a channel. */
typedef struct walk {
    uint place, line;  /* position of a row in its image; offset of the image */
    uint step, onward; /* from row to row: positions, and offset of images */
    uint inner, image;
} walk;

INLINE walk walk_from(const sh_gpu_work *w, uint row)
{
    const uint image = w->channels * w->inner;
    walk at;
    at.place = row % w->inner;
    at.line = row / w->inner * image;
    at.step = w->chains % w->inner;
    at.onward = w->chains / w->inner * image;
    at.inner = w->inner;
    at.image = image;
    return at;
}

INLINE uint walk_on(walk *at)
{
    const uint here = at->line + at->place;
    at->place += at->step;
    at->line += at->onward;
    if (at->place >= at->inner) {
        at->place -= at->inner;
        at->line += at->image;
    }
    return here;
}

/* Elements of a chain in a block that begins at its row `from`. */
INLINE uint chain_length(const sh_gpu_work *w, uint from, uint rows)
{
    return from >= rows ? 0 : least(CHAIN_LENGTH, (rows - from + w->chains - 1) / w->chains);
}

INLINE double folded(double total, GROUP_MEMORY const float *chain, uint chains)
{
    for (uint t = 0; t < chains; t++)
        total += (double)chain[t];
    return total;
}

#define CHAINS_MAX 512

/* Sums the chains of a channel's block from row `first` on: x - shift, and its square. */
INLINE void measure(const sh_gpu_work *w, GLOBAL const float *x, float shift, uint first, uint rows,
                    uint begin, uint stride, GROUP_MEMORY float *sum, GROUP_MEMORY float *squares)
{
    BARRIER();
    for (uint t = begin; t < w->chains; t += stride) {
        const uint length = chain_length(w, first + t, rows);
        walk at = walk_from(w, first + t);
        float s = 0.0f, q = 0.0f;
        uint i = 0;
        for (; i + 8 <= length; i += 8) { /* eight loads in flight */
            float now[8];
            UP_TO (k, 8, 8)
                now[k] = x[walk_on(&at)];
            UP_TO (k, 8, 8) {
                const float off = now[k] - shift;
                s += off;
                q += off * off;
            }
        }
        for (; i < length; i++) {
            const float off = x[walk_on(&at)] - shift;
            s += off;
            q += off * off;
        }
        sum[t] = s;
        squares[t] = q;
    }
    BARRIER();
}

/* A block measures from the mean of the blocks before it (backend/lower/norm_rows.c). */
KERNEL(moments)(WORK, GLOBAL const float *x, GLOBAL float *mean, GLOBAL float *variance)
{
    GROUP_MEMORY float sum[CHAINS_MAX], squares[CHAINS_MAX];
    const sh_gpu_work *const w = &work;
    const uint rows = w->samples * w->inner, block = CHAIN_LENGTH * w->chains;
    const uint together = w->together, mine = together > 1 ? ITEM / w->chains : 0;
    const uint at = GROUP_X * together + mine; /* of the channels of all grains */
    const bool idle = mine >= together || at >= w->grains * w->channels;
    const uint grain = at / w->channels, channel = at % w->channels;
    const uint begin = idle ? w->chains : together > 1 ? ITEM % w->chains : ITEM;
    GROUP_MEMORY float *const my_sum = sum + (idle ? 0 : mine * w->chains);
    GROUP_MEMORY float *const my_squares = squares + (idle ? 0 : mine * w->chains);
    x += grain * w->step[0] + channel * w->inner;
    measure(w, x, 0.0f, 0, least(rows, block), begin, NORM_ITEMS, my_sum, my_squares);
    double center = folded(0.0, my_sum, w->chains) / (double)least(rows, block), around = 0.0;
    for (uint first = 0; first < rows; first += block) {
        const uint end = least(rows, first + block);
        const double seen = (double)first, count = (double)(end - first),
                     part = count / (seen + count);
        const float shift = (float)center;
        measure(w, x, shift, first, rows, begin, NORM_ITEMS, my_sum, my_squares);
        double of = 0.0, squared = 0.0;
        for (uint t = 0; t < w->chains; t++) {
            of += (double)my_sum[t];
            squared += (double)my_squares[t];
        }
        const double off = of / count, within = squared - of * off;
        const double apart = (double)shift + off - center;
        around += (within < 0.0 ? 0.0 : within) + apart * apart * (seen * part);
        center += apart * part;
    }
    if (idle || begin > 0)
        return;
    mean[at] = (float)center;
    variance[at] = (float)(around / (double)rows);
}

INLINE float norm_scale(float weight, float variance, float epsilon)
{
    return DIVIDE(weight, SQRT(variance + epsilon));
}

/*
 * y = activated(x * scale + shift + residual). An item makes `each` consecutive elements of a
 * channel: four if the size of a channel's image is a multiple of four, else one.
 */
KERNEL(batch_norm)
(WORK, GLOBAL const float *x, GLOBAL const float *mean, GLOBAL const float *variance,
 GLOBAL const float *weight, GLOBAL const float *bias, GLOBAL const float *residual,
 GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    const uint first = element * w->each, channel = first / w->inner % w->channels;
    const float scale = norm_scale(weight[grain * w->step[3] + channel],
                                   variance[grain * w->step[2] + channel], w->number);
    const float shift =
        bias[grain * w->step[4] + channel] - mean[grain * w->step[1] + channel] * scale;
    x += grain * w->step[0] + first;
    residual += grain * w->step[5] + first;
    y += at * w->each;
    if (w->each == 4) {
        float4 now = *(GLOBAL const float4 *)x * scale + shift;
        if (w->has_bias)
            now = now + *(GLOBAL const float4 *)residual;
        now.x = activated(w->activation, now.x);
        now.y = activated(w->activation, now.y);
        now.z = activated(w->activation, now.z);
        now.w = activated(w->activation, now.w);
        *(GLOBAL float4 *)y = now;
        return;
    }
    float now = *x * scale + shift;
    if (w->has_bias)
        now = now + *residual;
    *y = activated(w->activation, now);
}

/* The chains of all blocks are independent here; an item takes any of them. */
#define SUMS_ITEMS 128

KERNEL(batch_norm_sums)
(WORK, GLOBAL const float *dy, GLOBAL const float *x, GLOBAL const float *mean,
 GLOBAL const float *variance, GLOBAL const float *weight, GLOBAL const float *bias,
 GLOBAL float *dw, GLOBAL float *db, GLOBAL float *parts)
{
    GROUP_MEMORY float sum[SUMS_ITEMS], product[SUMS_ITEMS];
    const sh_gpu_work *const w = &work;
    const uint rows = w->samples * w->inner, block = CHAIN_LENGTH * w->chains;
    const uint all_chains = (rows + block - 1) / block * w->chains;
    const uint together = w->together, each = SUMS_ITEMS / together, mine = ITEM / each;
    const uint at = GROUP_X * together + mine; /* of the channels of all grains */
    const bool idle = mine >= together || at >= w->grains * w->channels;
    const uint known = idle ? 0 : at, grain = known / w->channels, channel = known % w->channels;
    const float center = mean[grain * w->step[2] + channel];
    const float around = variance[grain * w->step[3] + channel];
    const float scale = norm_scale(weight[grain * w->step[4] + channel], around, w->number);
    const float shift = bias[grain * w->step[5] + channel] - center * scale;
    dy += grain * w->step[0] + channel * w->inner;
    x += grain * w->step[1] + channel * w->inner;
    double all = 0.0, products = 0.0;
    for (uint first = 0; first < all_chains; first += each) {
        const uint chain = first + ITEM % each; /* in the order of addition */
        const uint from = chain / w->chains * block + chain % w->chains;
        const uint length = chain_length(w, from, rows);
        walk next = walk_from(w, from);
        float s = 0.0f, p = 0.0f;
        for (uint i = 0; i < length; i += 4) {
            float now[4], d[4];
            UP_TO (k, 4, 4) {
                const uint place = walk_on(&next);
                now[k] = i + k < length ? x[place] : 0.0f;
                d[k] = i + k < length ? dy[place] : 0.0f;
            }
            UP_TO (k, 4, 4)
                if (i + k < length) {
                    const bool pass = passes(w->activation, now[k] * scale + shift);
                    s += pass ? d[k] : 0.0f;
                    p += pass ? d[k] * (now[k] - center) : 0.0f;
                }
        }
        sum[ITEM] = s;
        product[ITEM] = p;
        BARRIER();
        if (ITEM % each == 0)
            for (uint t = 0; t < each && first + t < all_chains; t++) {
                all += (double)sum[ITEM + t];
                products += (double)product[ITEM + t];
            }
        BARRIER();
    }
    if (idle || ITEM % each > 0)
        return;
    const double inverse = (double)DIVIDE(1.0f, SQRT(around + w->number));
    const double count = w->training ? (double)rows : (double)INFINITE;
    db[at] = (float)all;
    dw[at] = (float)(products * inverse);
    parts += grain * 2 * w->channels;
    parts[channel] = (float)((double)scale * all / count);
    parts[w->channels + channel] = (float)((double)scale * products * inverse * inverse / count);
}

/* `each` as in batch_norm. */
KERNEL(batch_norm_grad)
(WORK, GLOBAL const float *dy, GLOBAL const float *x, GLOBAL const float *mean,
 GLOBAL const float *variance, GLOBAL const float *weight, GLOBAL const float *bias,
 GLOBAL const float *parts, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    const uint first = element * w->each, channel = first / w->inner % w->channels;
    const float center = mean[grain * w->step[2] + channel];
    const float scale = norm_scale(weight[grain * w->step[4] + channel],
                                   variance[grain * w->step[3] + channel], w->number);
    const float shift = bias[grain * w->step[5] + channel] - center * scale;
    parts += grain * w->step[6];
    const float of_product = parts[w->channels + channel], of_sum = parts[channel];
    x += grain * w->step[1] + first;
    dy += grain * w->step[0] + first;
    dx += at * w->each;
    if (w->each == 4) {
        const float4 now = *(GLOBAL const float4 *)x, y = now * scale + shift;
        float4 d = *(GLOBAL const float4 *)dy;
        d.x = passes(w->activation, y.x) ? d.x : 0.0f;
        d.y = passes(w->activation, y.y) ? d.y : 0.0f;
        d.z = passes(w->activation, y.z) ? d.z : 0.0f;
        d.w = passes(w->activation, y.w) ? d.w : 0.0f;
        *(GLOBAL float4 *)dx = scale * d - (now - center) * of_product - of_sum;
        return;
    }
    const float d = passes(w->activation, *x * scale + shift) ? *dy : 0.0f;
    *dx = scale * d - (*x - center) * of_product - of_sum;
}
