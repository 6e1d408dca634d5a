/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling, and means over dimensions. Windows are as in backend/lower/max_pool.c and average.c. */

/* The taps [first, end) of a window inside the image along one axis; origin may wrap below zero. */
INLINE void taps_of(const sh_gpu_work *w, uint axis, uint window, uint *first, uint *end,
                    uint *origin)
{
    const uint begin = window * w->stride[axis], padding = w->padding[axis];
    const uint left = w->image[axis] + padding - begin;
    *first = begin < padding ? padding - begin : 0;
    *end = least(left, w->taps[axis]);
    *origin = begin - padding;
}

KERNEL(max_pool)(WORK, GLOBAL const float *x, GLOBAL float *y, GLOBAL uchar *choice)
{
    GRAIN_AND_ELEMENT
    const uint positions = w->windows[0] * w->windows[1];
    uint r_first, r_end, h, s_first, s_end, v;
    taps_of(w, 0, element % positions / w->windows[1], &r_first, &r_end, &h);
    taps_of(w, 1, element % w->windows[1], &s_first, &s_end, &v);
    x += grain * w->step[0] + element / positions * (w->image[0] * w->image[1]);
    uint chosen = r_first * w->taps[1] + s_first;
    float best = x[(h + r_first) * w->image[1] + v + s_first];
    for (uint r = r_first; r < r_end; r++)
        for (uint s = s_first; s < s_end; s++) {
            const float now = x[(h + r) * w->image[1] + v + s];
            const bool larger = !(now <= best) && best == best;
            best = larger ? now : best;
            chosen = larger ? r * w->taps[1] + s : chosen;
        }
    y[at] = best;
    choice[at] = (uchar)chosen;
}

/* The windows [first, end) that see a position along one axis. */
INLINE void windows_of(const sh_gpu_work *w, uint axis, uint position, uint *first, uint *end)
{
    const uint from = position + w->padding[axis]; /* tap 0 of the last window that sees it */
    *first = from < w->taps[axis] ? 0 : by_stride(from - w->taps[axis], w->stride[axis]) + 1;
    *end = least(by_stride(from, w->stride[axis]) + 1, w->windows[axis]);
}

KERNEL(max_pool_grad)(WORK, GLOBAL const float *dy, GLOBAL const uchar *choice, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    const uint area = w->image[0] * w->image[1], plane = element / area;
    const uint line = element % area / w->image[1], column = element % w->image[1];
    const uint first = plane * w->windows[0] * w->windows[1];
    uint p, p_end, q_first, q_end;
    windows_of(w, 0, line, &p, &p_end);
    windows_of(w, 1, column, &q_first, &q_end);
    dy += grain * w->step[0] + first;
    choice += grain * w->step[1] + first;
    float sum = 0.0f;
    for (; p < p_end; p++)
        for (uint q = q_first; q < q_end; q++) {
            const uint tap = (line + w->padding[0] - p * w->stride[0]) * w->taps[1] + column +
                             w->padding[1] - q * w->stride[1];
            const uint window = p * w->windows[1] + q;
            sum += choice[window] == tap ? dy[window] : 0.0f;
        }
    dx[at] = sum;
}

/* Positions [first, end) of a window along one axis; returns the divisor. */
INLINE uint covered(const sh_gpu_work *w, uint axis, uint window, uint *first, uint *end)
{
    const uint begin = window * w->stride[axis], behind = begin + w->taps[axis],
               padding = w->padding[axis];
    const uint image_end = padding + w->image[axis], last = image_end + w->end_padding[axis];
    *first = begin < padding ? 0 : begin - padding;
    *end = behind < image_end ? behind - padding : w->image[axis];
    return w->inside ? *end - *first : least(behind, last) - begin;
}

KERNEL(avg_pool)(WORK, GLOBAL const float *x, GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    const uint positions = w->windows[0] * w->windows[1];
    uint h, h_end, v_first, v_end;
    const uint rows = covered(w, 0, element % positions / w->windows[1], &h, &h_end);
    const uint columns = covered(w, 1, element % w->windows[1], &v_first, &v_end);
    x += grain * w->step[0] + element / positions * (w->image[0] * w->image[1]);
    float sum = 0.0f;
    for (; h < h_end; h++)
        for (uint v = v_first; v < v_end; v++)
            sum += x[h * w->image[1] + v];
    y[at] = DIVIDE(sum, (float)(rows * columns));
}

KERNEL(avg_pool_grad)(WORK, GLOBAL const float *dy, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    const uint area = w->image[0] * w->image[1], plane = element / area;
    uint p, p_end, q_first, q_end, first, end;
    windows_of(w, 0, element % area / w->image[1], &p, &p_end);
    windows_of(w, 1, element % w->image[1], &q_first, &q_end);
    dy += grain * w->step[0] + plane * w->windows[0] * w->windows[1];
    float sum = 0.0f;
    for (; p < p_end; p++)
        for (uint q = q_first; q < q_end; q++) {
            const uint rows = covered(w, 0, p, &first, &end),
                       columns = covered(w, 1, q, &first, &end);
            sum += DIVIDE(dy[p * w->windows[1] + q], (float)(rows * columns));
        }
    dx[at] = sum;
}

/* Mean of x [outer, middle, inner] over middle: in order if `function`, else in 16 parts. */
KERNEL(mean)(WORK, GLOBAL const float *x, GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    x += grain * w->step[0] + element / w->inner * w->middle * w->inner + element % w->inner;
    float sum = 0.0f;
    if (w->function == 0)
        sum = sum_above(x, w->middle, 1, 0.0f);
    else
        for (uint i = 0; i < w->middle; i++)
            sum += x[i * w->inner];
    y[at] = DIVIDE(sum, (float)w->middle);
}

KERNEL(mean_grad)(WORK, GLOBAL const float *dy, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    const uint from = element / (w->middle * w->inner) * w->inner + element % w->inner;
    dx[at] = DIVIDE(dy[grain * w->step[0] + from], (float)w->middle);
}
