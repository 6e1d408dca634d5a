/* SPDX-License-Identifier: Apache-2.0 */
/* Average pooling of channels-last images. */
#include <string.h>

#include "backend/lower/lowering.h"

typedef struct average {
    size_t images, channels;
    size_t in[2], out[2];
    const sh_attributes *of;
} average;

/* A window along one axis: positions [first, end) of the image, and the divisor. */
typedef struct range {
    size_t first, end, divisor;
} range;

static range covered(const average *a, int axis, size_t output)
{
    const size_t begin = output * a->of->stride[axis], end = begin + a->of->kernel[axis];
    const size_t padding = a->of->padding[axis], behind = padding + a->in[axis];
    const size_t last = behind + a->of->end_padding[axis]; /* counted in the divisor */
    range r = {
        .first = begin < padding ? 0 : begin - padding,
        .end = end < behind ? end - padding : a->in[axis],
    };
    r.divisor = a->of->inside ? r.end - r.first : (end < last ? end : last) - begin;
    return r;
}

static void add_to(float *restrict sum, const float *restrict x, size_t count)
{
    for (size_t c = 0; c < count; c++)
        sum[c] += x[c];
}

static void divide(float *y, float divisor, size_t count)
{
    for (size_t c = 0; c < count; c++)
        y[c] /= divisor;
}

static void gather_window(const average *a, const float *image, range rows, range columns, float *y)
{
    memset(y, 0, a->channels * sizeof *y);
    for (size_t h = rows.first; h < rows.end; h++)
        for (size_t w = columns.first; w < columns.end; w++)
            add_to(y, image + (h * a->in[1] + w) * a->channels, a->channels);
    divide(y, (float)(rows.divisor * columns.divisor), a->channels);
}

static average measure(const sh_attributes *of, const sh_type *x, const sh_type *y)
{
    average a = {.images = x->shape.dim[0], .channels = x->shape.dim[1], .of = of};
    for (int i = 0; i < 2; i++) {
        a.in[i] = x->shape.dim[2 + i];
        a.out[i] = y->shape.dim[2 + i];
    }
    return a;
}

static void forward(const sh_call *call)
{
    const average a = measure(call->attributes, &call->in_type[0], &call->out_type[0]);
    const float *x = call->in[0];
    float *y = call->out[0];
    for (size_t n = 0; n < a.images; n++, x += a.in[0] * a.in[1] * a.channels)
        for (size_t p = 0; p < a.out[0]; p++)
            for (size_t q = 0; q < a.out[1]; q++, y += a.channels)
                gather_window(&a, x, covered(&a, 0, p), covered(&a, 1, q), y);
}

const sh_lowering sh_lower_avg_pool = {.run = forward, .layout = SH_LAYOUT_CHANNELS_LAST};

static void spread_window(const average *a, float *image, range rows, range columns,
                          const float *dy, float *part)
{
    memcpy(part, dy, a->channels * sizeof *part);
    divide(part, (float)(rows.divisor * columns.divisor), a->channels);
    for (size_t h = rows.first; h < rows.end; h++)
        for (size_t w = columns.first; w < columns.end; w++)
            add_to(image + (h * a->in[1] + w) * a->channels, part, a->channels);
}

static size_t part_bytes(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)a;
    (void)out;
    return in[0].shape.dim[1] * sizeof(float);
}

static void backward(const sh_call *call)
{
    const average a = measure(call->attributes, &call->out_type[0], &call->in_type[0]);
    const size_t image = a.in[0] * a.in[1] * a.channels;
    const float *dy = call->in[0];
    float *dx = call->out[0];
    memset(dx, 0, a.images * image * sizeof *dx);
    for (size_t n = 0; n < a.images; n++, dx += image)
        for (size_t p = 0; p < a.out[0]; p++)
            for (size_t q = 0; q < a.out[1]; q++, dy += a.channels)
                spread_window(&a, dx, covered(&a, 0, p), covered(&a, 1, q), dy, call->scratch);
}

const sh_lowering sh_lower_avg_pool_grad = {
    .run = backward, .scratch_bytes = part_bytes, .layout = SH_LAYOUT_CHANNELS_LAST};
