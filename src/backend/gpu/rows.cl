/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row operators, one item per row: softmax of x [outer, middle, inner] along the middle, and norms
 * within samples of x [outer, groups, D, P], with D = middle weights of P = inner elements each.
 */
#define ROW_OF_SOFTMAX                                                                             \
    GRAIN_AND_ELEMENT                                                                              \
    const uint K = w->middle, step = w->inner;                                                     \
    const uint from = element / step * K * step + element % step, all = w->outer * K * step;

KERNEL(softmax)(WORK, GLOBAL const float *x, GLOBAL float *y)
{
    ROW_OF_SOFTMAX
    x += grain * w->step[0] + from;
    y += grain * all + from;
    const float most = largest_of(x, K, step), sum = exp_sum(x, K, step, most);
    for (uint k = 0; k < K; k++)
        y[k * step] = DIVIDE(exp_of(x[k * step] - most), sum);
}

KERNEL(log_softmax)(WORK, GLOBAL const float *x, GLOBAL float *y)
{
    ROW_OF_SOFTMAX
    x += grain * w->step[0] + from;
    y += grain * all + from;
    const float most = largest_of(x, K, step), log_of_sum = log_of(exp_sum(x, K, step, most));
    for (uint k = 0; k < K; k++)
        y[k * step] = x[k * step] - most - log_of_sum;
}

KERNEL(softmax_grad)(WORK, GLOBAL const float *dy, GLOBAL const float *y, GLOBAL float *dx)
{
    ROW_OF_SOFTMAX
    dy += grain * w->step[0] + from;
    y += grain * w->step[1] + from;
    dx += grain * all + from;
    float part[16];
    for (uint p = 0; p < 16; p++)
        part[p] = 0.0f;
    for (uint first = 0; first < K; first += 16)
        for (uint p = 0; p < 16; p++)
            if (first + p < K)
                part[p] = FMA(dy[(first + p) * step], y[(first + p) * step], part[p]);
    const float sum = sum_of_parts(part);
    for (uint k = 0; k < K; k++)
        dx[k * step] = y[k * step] * (dy[k * step] - sum);
}

KERNEL(log_softmax_grad)(WORK, GLOBAL const float *dy, GLOBAL const float *y, GLOBAL float *dx)
{
    ROW_OF_SOFTMAX
    dy += grain * w->step[0] + from;
    y += grain * w->step[1] + from;
    dx += grain * all + from;
    const float sum = sum_above(dy, K, step, 0.0f);
    for (uint k = 0; k < K; k++)
        dx[k * step] = dy[k * step] - exp_of(y[k * step]) * sum;
}

/* ---- norms within samples -------------------------------------------------------------------- */

/* Mean and 1 / sqrt(variance + epsilon). */
INLINE void measure_row_of(GLOBAL const float *x, uint n, float epsilon, float *mean,
                           float *inverse)
{
    const double center = wide_sum(WIDE_SUM, x, x, n, 0.0) / (double)n;
    const double squares = wide_sum(WIDE_SQUARES, x, x, n, center);
    *mean = (float)center;
    *inverse = (float)(1.0 / SQRT_WIDE(squares / (double)n + (double)epsilon));
}

KERNEL(group_norm)
(WORK, GLOBAL const float *x, GLOBAL const float *weight, GLOBAL const float *bias, GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    const uint D = w->middle, P = w->inner, n = D * P, first = element % w->groups * D;
    x += grain * w->step[0] + element * n;
    weight += grain * w->step[1] + first;
    bias += grain * w->step[2] + first;
    y += at * n;
    float mean, inverse;
    measure_row_of(x, n, w->number, &mean, &inverse);
    for (uint i = 0; i < n; i++)
        y[i] = (x[i] - mean) * inverse * weight[i / P] + bias[i / P];
}

/* Sums dy and dy (x - mean) over the P elements of a weight. */
INLINE void sum_weight(GLOBAL const float *dy, GLOBAL const float *x, uint P, float mean,
                       double *sum, double *product)
{
    if (P == 1) {
        *sum = (double)dy[0];
        *product = (double)dy[0] * ((double)x[0] - (double)mean);
    } else {
        *sum = wide_sum(WIDE_SUM, dy, dy, P, 0.0);
        *product = wide_sum(WIDE_PRODUCTS, dy, x, P, (double)mean);
    }
}

KERNEL(group_norm_grad)
(WORK, GLOBAL const float *dy, GLOBAL const float *x, GLOBAL const float *weight, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    const uint D = w->middle, P = w->inner, n = D * P;
    dy += grain * w->step[0] + element * n;
    x += grain * w->step[1] + element * n;
    weight += grain * w->step[2] + element % w->groups * D;
    dx += at * n;
    float mean, inverse;
    double sums[16], products[16];
    measure_row_of(x, n, w->number, &mean, &inverse);
    for (uint p = 0; p < 16; p++)
        sums[p] = products[p] = 0.0;
    for (uint d = 0; d < D; d++) {
        double sum, product;
        sum_weight(dy + d * P, x + d * P, P, mean, &sum, &product);
        sums[d % 16] += sum * (double)weight[d];
        products[d % 16] += product * (double)inverse * (double)weight[d];
    }
    const float sum_part = (float)(sum_of_wide_parts(sums) / (double)n);
    const float product_part = (float)(sum_of_wide_parts(products) / (double)n);
    for (uint i = 0; i < n; i++)
        dx[i] =
            inverse * (dy[i] * weight[i / P] - sum_part - (x[i] - mean) * inverse * product_part);
}

/* An item per weight, over ascending samples. Measures each row again. */
KERNEL(group_norm_weights)
(WORK, GLOBAL const float *dy, GLOBAL const float *x, GLOBAL float *dw, GLOBAL float *db)
{
    GRAIN_AND_ELEMENT
    const uint D = w->middle, P = w->inner, n = D * P, group = element / D, d = element % D;
    dy += grain * w->step[0] + group * n;
    x += grain * w->step[1] + group * n;
    float product_sum = 0.0f, sum_sum = 0.0f;
    for (uint row = 0; row < w->outer; row++, dy += w->groups * n, x += w->groups * n) {
        float mean, inverse;
        double sum, product;
        measure_row_of(x, n, w->number, &mean, &inverse);
        sum_weight(dy + d * P, x + d * P, P, mean, &sum, &product);
        sum_sum += (float)sum;
        product_sum += (float)(product * (double)inverse);
    }
    dw[at] = product_sum;
    db[at] = sum_sum;
}
