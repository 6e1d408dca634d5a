/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation of x [samples, channels, inner], each grain apart. Sums over a channel are a
 * group's: an item a chain, a block of 32 elements a chain at a time, and every item adds the
 * chains up in double, in their order. So each block is measured from the mean of those before it,
 * as backend/lower/norm_rows.c says.
 */
#define NORM_ITEMS 64
#define CHAINS_MAX 512
#define CHAIN_LENGTH 32

/* Where row i of a channel lies. */
#define ROW(i) ((i) / w->inner * w->channels * w->inner + (i) % w->inner)

/* total += the chains, in order. */
INLINE double folded(double total, GROUP_MEMORY const float *chain, uint chains)
{
    for (uint t = 0; t < chains; t++)
        total += (double)chain[t];
    return total;
}

/* The chains of rows [first, end) of a channel, of x - shift and its square. */
INLINE void measure(GLOBAL const sh_gpu_work *w, GLOBAL const float *x, float shift, uint first,
                    uint end, GROUP_MEMORY float *sum, GROUP_MEMORY float *squares)
{
    BARRIER();
    for (uint t = ITEM; t < w->chains; t += NORM_ITEMS) {
        float s = 0.0f, q = 0.0f;
        for (uint i = first + t; i < end; i += w->chains) {
            const float off = x[ROW(i)] - shift;
            s += off;
            q += off * off;
        }
        sum[t] = s;
        squares[t] = q;
    }
    BARRIER();
}

KERNEL(moments)(WORK, GLOBAL const float *x, GLOBAL float *mean, GLOBAL float *variance)
{
    GROUP_MEMORY float sum[CHAINS_MAX], squares[CHAINS_MAX];
    GLOBAL const sh_gpu_work *const w = works + number;
    const uint grain = GROUP_X / w->channels, channel = GROUP_X % w->channels;
    const uint rows = w->samples * w->inner, block = CHAIN_LENGTH * w->chains;
    x += grain * w->step[0] + channel * w->inner;
    measure(w, x, 0.0f, 0, least(rows, block), sum, squares);
    double center = folded(0.0, sum, w->chains) / (double)least(rows, block), around = 0.0;
    for (uint first = 0; first < rows; first += block) {
        const uint end = least(rows, first + block);
        const double seen = (double)first, count = (double)(end - first),
                     part = count / (seen + count);
        const float shift = (float)center;
        measure(w, x, shift, first, end, sum, squares);
        const double of = folded(0.0, sum, w->chains), off = of / count;
        const double within = folded(0.0, squares, w->chains) - of * off;
        const double apart = (double)shift + off - center;
        around += (within < 0.0 ? 0.0 : within) + apart * apart * (seen * part);
        center += apart * part;
    }
    if (ITEM > 0)
        return;
    mean[GROUP_X] = (float)center;
    variance[GROUP_X] = (float)(around / (double)rows);
}

INLINE float norm_scale(float weight, float variance, float epsilon)
{
    return DIVIDE(weight, SQRT(variance + epsilon));
}

KERNEL(batch_norm)
(WORK, GLOBAL const float *x, GLOBAL const float *mean, GLOBAL const float *variance,
 GLOBAL const float *weight, GLOBAL const float *bias, GLOBAL const float *residual,
 GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    const uint channel = element / w->inner % w->channels;
    const float scale = norm_scale(weight[grain * w->step[3] + channel],
                                   variance[grain * w->step[2] + channel], w->number);
    const float shift =
        bias[grain * w->step[4] + channel] - mean[grain * w->step[1] + channel] * scale;
    float now = x[grain * w->step[0] + element] * scale + shift;
    if (w->has_bias)
        now = now + residual[grain * w->step[5] + element];
    y[at] = activated(w->activation, now);
}

KERNEL(batch_norm_sums)
(WORK, GLOBAL const float *dy, GLOBAL const float *x, GLOBAL const float *mean,
 GLOBAL const float *variance, GLOBAL const float *weight, GLOBAL const float *bias,
 GLOBAL float *dw, GLOBAL float *db, GLOBAL float *parts)
{
    GROUP_MEMORY float sum[CHAINS_MAX], product[CHAINS_MAX];
    GLOBAL const sh_gpu_work *const w = works + number;
    const uint grain = GROUP_X / w->channels, channel = GROUP_X % w->channels;
    const uint rows = w->samples * w->inner, block = CHAIN_LENGTH * w->chains;
    const float center = mean[grain * w->step[2] + channel],
                around = variance[grain * w->step[3] + channel];
    const float scale = norm_scale(weight[grain * w->step[4] + channel], around, w->number);
    const float shift = bias[grain * w->step[5] + channel] - center * scale;
    dy += grain * w->step[0] + channel * w->inner;
    x += grain * w->step[1] + channel * w->inner;
    double all = 0.0, products = 0.0;
    for (uint first = 0; first < rows; first += block) {
        const uint end = least(rows, first + block);
        for (uint t = ITEM; t < w->chains; t += NORM_ITEMS) {
            float s = 0.0f, p = 0.0f;
            for (uint i = first + t; i < end; i += w->chains) {
                const float now = x[ROW(i)], d = dy[ROW(i)];
                const bool pass = passes(w->activation, now * scale + shift);
                s += pass ? d : 0.0f;
                p += pass ? d * (now - center) : 0.0f;
            }
            sum[t] = s;
            product[t] = p;
        }
        BARRIER();
        all = folded(all, sum, w->chains);
        products = folded(products, product, w->chains);
        BARRIER();
    }
    if (ITEM > 0)
        return;
    const double inverse = (double)DIVIDE(1.0f, SQRT(around + w->number));
    const double count = w->training ? (double)rows : (double)INFINITE;
    db[GROUP_X] = (float)all;
    dw[GROUP_X] = (float)(products * inverse);
    parts += grain * 2 * w->channels;
    parts[channel] = (float)((double)scale * all / count);
    parts[w->channels + channel] = (float)((double)scale * products * inverse * inverse / count);
}

KERNEL(batch_norm_grad)
(WORK, GLOBAL const float *dy, GLOBAL const float *x, GLOBAL const float *mean,
 GLOBAL const float *variance, GLOBAL const float *weight, GLOBAL const float *bias,
 GLOBAL const float *parts, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    const uint channel = element / w->inner % w->channels;
    const float center = mean[grain * w->step[2] + channel];
    const float scale = norm_scale(weight[grain * w->step[4] + channel],
                                   variance[grain * w->step[3] + channel], w->number);
    const float shift = bias[grain * w->step[5] + channel] - center * scale;
    const float now = x[grain * w->step[1] + element];
    const float d =
        passes(w->activation, now * scale + shift) ? dy[grain * w->step[0] + element] : 0.0f;
    parts += grain * w->step[6];
    dx[at] = scale * d - (now - center) * parts[w->channels + channel] - parts[channel];
}
