/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on arrays with repeated, reduced or indexed dimensions. Steps are last dimension
 * first. */

/* Adds the offset of element `left` in an array with these steps. */
#define OFFSET_OF(steps, left, offset)                                                             \
    {                                                                                              \
        uint rest = left;                                                                          \
        for (uint d = 0; d < w->rank; d++) {                                                       \
            offset += rest % w->dim[d] * w->steps[d];                                              \
            rest /= w->dim[d];                                                                     \
        }                                                                                          \
    }

KERNEL(broadcast)(WORK, GLOBAL const float *first, GLOBAL const float *second, GLOBAL float *out)
{
    GRAIN_AND_ELEMENT
    uint a_offset = grain * w->step[0], b_offset = grain * w->step[1];
    OFFSET_OF(a_step, element, a_offset)
    OFFSET_OF(b_step, element, b_offset)
    const float a = first[a_offset], b = second[b_offset];
    float y;
    switch (w->function) {
    case SH_PAIR_ADD:
        y = a + b;
        break;
    case SH_PAIR_SUBTRACT:
        y = a - b;
        break;
    case SH_PAIR_MULTIPLY:
        y = a * b;
        break;
    case SH_PAIR_DIVIDE:
        y = DIVIDE(a, b);
        break;
    case SH_PAIR_LARGER:
        y = a < b ? b : a;
        break;
    case SH_PAIR_SMALLER:
        y = b < a ? b : a;
        break;
    case SH_PAIR_KEEP:
        y = b != 0.0f ? a : 0.0f;
        break;
    case SH_PAIR_DROP:
        y = b != 0.0f ? 0.0f : a;
        break;
    case SH_PAIR_GREATER:
        y = a > b ? 1.0f : 0.0f;
        break;
    case SH_PAIR_EQUAL:
        y = a == b ? 1.0f : 0.0f;
        break;
    case SH_PAIR_PRELU:
        y = a > 0.0f ? a : a * b;
        break;
    case SH_PAIR_PRELU_SLOPE:
        y = a > 0.0f ? 1.0f : b;
        break;
    default: /* SH_PAIR_PRELU_BELOW */
        y = b > 0.0f ? 0.0f : a * b;
    }
    out[at] = y;
}

/* Repeats elements; for the mean of `middle` copies also divides. */
KERNEL(expand)(WORK, GLOBAL const float *in, GLOBAL float *out)
{
    GRAIN_AND_ELEMENT
    uint from = grain * w->step[0];
    OFFSET_OF(a_step, element, from)
    out[at] = w->function == SH_REDUCE_MEAN ? DIVIDE(in[from], (float)w->middle) : in[from];
}

/* The offset of reduced element i, in runs of `middle`: dimensions `extent`, steps `before`. */
INLINE uint reduced_offset(const sh_gpu_work *w, uint i)
{
    uint offset = 0;
    for (uint d = 0; d < SH_GPU_RANK; d++) {
        offset += i % w->extent[d] * w->before[d];
        i /= w->extent[d];
    }
    return offset;
}

KERNEL(reduce)(WORK, GLOBAL const float *in, GLOBAL float *out)
{
    GRAIN_AND_ELEMENT
    uint from = grain * w->step[0];
    OFFSET_OF(a_step, element, from)
    const bool largest = w->function == SH_REDUCE_LARGEST;
    float made = largest ? -INFINITE : 0.0f;
    for (uint i = 0; i < w->outer; i++) {
        GLOBAL const float *const run = in + from + reduced_offset(w, i);
        if (!largest)
            made += w->middle > 1 ? sum_above(run, w->middle, 1, 0.0f) : run[0];
        for (uint k = 0; k < w->middle && largest; k++)
            made = run[k] > made ? run[k] : made;
    }
    out[at] = w->function == SH_REDUCE_MEAN ? DIVIDE(made, (float)(w->outer * w->middle)) : made;
}

/* The gradient of a maximum, to the first element that equals it. An item per element of y. */
KERNEL(reduce_grad)
(WORK, GLOBAL const float *dy, GLOBAL const float *x, GLOBAL const float *y, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    uint from = 0;
    OFFSET_OF(a_step, element, from)
    const float d = dy[grain * w->step[0] + element], most = y[grain * w->step[2] + element];
    x += grain * w->step[1] + from;
    dx += grain * w->inner + from;
    bool given = false;
    for (uint i = 0; i < w->outer; i++) {
        const uint run = reduced_offset(w, i);
        for (uint k = 0; k < w->middle; k++) {
            const bool first = !given && x[run + k] == most;
            dx[run + k] = first ? d : 0.0f;
            given = given || first;
        }
    }
}

/* Index i: an int, or if function is 1, a truncated float; `middle` if out of range. */
INLINE uint place_of(const sh_gpu_work *w, GLOBAL const int *indices, uint i)
{
    const int bits = indices[i];
    double index = (double)bits;
    if (w->function == 1) {
        const float value = AS_FLOAT(bits);
        index = magnitude(value) < 8388608.0f ? (double)(int)value : (double)value;
    }
    index += index < 0.0 ? (double)w->middle : 0.0;
    return index >= 0.0 && index < (double)w->middle ? (uint)index : w->middle;
}

/* x [outer, middle, inner] at N indices. */
KERNEL(gather)(WORK, GLOBAL const float *x, GLOBAL const int *indices, GLOBAL float *y)
{
    GRAIN_AND_ELEMENT
    const uint k = element % w->inner, i = element / w->inner % w->N,
               outer = element / (w->inner * w->N);
    const uint place = place_of(w, indices + grain * w->step[1], i);
    x += grain * w->step[0] + outer * w->middle * w->inner;
    y[at] = place < w->middle ? x[place * w->inner + k] : NOT_A_NUMBER;
}

KERNEL(gather_grad)(WORK, GLOBAL const float *dy, GLOBAL const int *indices, GLOBAL float *dx)
{
    GRAIN_AND_ELEMENT
    const uint k = element % w->inner, mine = element / w->inner % w->middle;
    const uint outer = element / (w->inner * w->middle);
    dy += grain * w->step[0] + outer * w->N * w->inner;
    float sum = 0.0f;
    for (uint i = 0; i < w->N; i++)
        if (place_of(w, indices + grain * w->step[1], i) == mine)
            sum += dy[i * w->inner + k];
    dx[at] = sum;
}
