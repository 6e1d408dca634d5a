/* SPDX-License-Identifier: Apache-2.0 */
/* Pooling. x [N, C, H, W] is worked on as N C planes; a choice is kernel-row * kernel-width +
 * column. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "backend/portable/portable.h"

/* The largest element of the window of output (p, q) in one plane [H, W]; ties and NaN: the first.
 */
static float largest(const sh_attributes *a, const float *plane, size_t H, size_t W, size_t p,
                     size_t q, uint8_t *choice)
{
    float best = -INFINITY;
    bool found = false;
    for (size_t r = 0; r < a->kernel[0]; r++)
        for (size_t s = 0; s < a->kernel[1]; s++) {
            const size_t h = p * a->stride[0] + r - a->padding[0];
            const size_t w = q * a->stride[1] + s - a->padding[1];
            if (h >= H || w >= W) /* in the padding; below zero wraps to above */
                continue;
            const float x = plane[h * W + w];
            if (!found || x > best || (isnan(x) && !isnan(best))) {
                best = x;
                *choice = (uint8_t)(r * a->kernel[1] + s);
                found = true;
            }
        }
    return best;
}

static void forward(const sh_portable_call *call)
{
    const size_t *in = call->in_type[0].shape.dim, *out = call->out_type[0].shape.dim;
    const float *x = call->in[0];
    float *y = call->out[0];
    uint8_t *choice = call->out[1];
    for (size_t plane = 0; plane < in[0] * in[1]; plane++, x += in[2] * in[3])
        for (size_t p = 0; p < out[2]; p++)
            for (size_t q = 0; q < out[3]; q++)
                *y++ = largest(call->attributes, x, in[2], in[3], p, q, choice++);
}

const sh_portable_def sh_portable_max_pool = {.run = forward};

static void grad(const sh_portable_call *call)
{
    const sh_attributes *a = call->attributes;
    const size_t *in = call->out_type[0].shape.dim, *out = call->in_type[0].shape.dim;
    const float *dy = call->in[0];
    const uint8_t *choice = call->in[1];
    float *dx = call->out[0];
    size_t place[UINT8_MAX + 1]; /* of a choice in a plane, from the window's corner on */
    for (size_t c = 0; c <= UINT8_MAX; c++)
        place[c] = c / a->kernel[1] * in[3] + c % a->kernel[1];
    memset(dx, 0, sh_type_bytes(&call->out_type[0]));
    for (size_t plane = 0; plane < in[0] * in[1]; plane++, dx += in[2] * in[3])
        for (size_t p = 0; p < out[2]; p++) {
            /* A corner in the padding wraps below zero, and its choice back above. */
            size_t corner = (p * a->stride[0] - a->padding[0]) * in[3] - a->padding[1];
            for (size_t q = 0; q < out[3]; q++, corner += a->stride[1])
                dx[corner + place[*choice++]] += *dy++;
        }
}

const sh_portable_def sh_portable_max_pool_grad = {.run = grad};

/* The part of a window that lies in the image along one axis: [first, end). */
typedef struct range {
    size_t first, end;
} range;

static range in_image(const sh_attributes *a, int axis, size_t output, size_t extent)
{
    const size_t begin = output * a->stride[axis], end = begin + a->kernel[axis];
    const size_t padding = a->padding[axis];
    return (range){
        .first = begin < padding ? 0 : begin - padding,
        .end = end < extent + padding ? end - padding : extent,
    };
}

static void avg_forward(const sh_portable_call *call)
{
    const sh_attributes *a = call->attributes;
    const size_t *in = call->in_type[0].shape.dim, *out = call->out_type[0].shape.dim;
    const float *x = call->in[0], window = (float)(a->kernel[0] * a->kernel[1]);
    float *y = call->out[0];
    for (size_t plane = 0; plane < in[0] * in[1]; plane++, x += in[2] * in[3])
        for (size_t p = 0; p < out[2]; p++)
            for (size_t q = 0; q < out[3]; q++) {
                const range rows = in_image(a, 0, p, in[2]), columns = in_image(a, 1, q, in[3]);
                float sum = 0;
                for (size_t h = rows.first; h < rows.end; h++)
                    for (size_t w = columns.first; w < columns.end; w++)
                        sum += x[h * in[3] + w];
                *y++ = sum / window;
            }
}

const sh_portable_def sh_portable_avg_pool = {.run = avg_forward};

static void avg_grad(const sh_portable_call *call)
{
    const sh_attributes *a = call->attributes;
    const size_t *in = call->out_type[0].shape.dim, *out = call->in_type[0].shape.dim;
    const float *dy = call->in[0], window = (float)(a->kernel[0] * a->kernel[1]);
    float *dx = call->out[0];
    memset(dx, 0, sh_type_bytes(&call->out_type[0]));
    for (size_t plane = 0; plane < in[0] * in[1]; plane++, dx += in[2] * in[3])
        for (size_t p = 0; p < out[2]; p++)
            for (size_t q = 0; q < out[3]; q++) {
                const range rows = in_image(a, 0, p, in[2]), columns = in_image(a, 1, q, in[3]);
                const float part = *dy++ / window;
                for (size_t h = rows.first; h < rows.end; h++)
                    for (size_t w = columns.first; w < columns.end; w++)
                        dx[h * in[3] + w] += part;
            }
}

const sh_portable_def sh_portable_avg_pool_grad = {.run = avg_grad};
