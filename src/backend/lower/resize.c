/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizing of channels-last images. Tables have, for each row and column of the output, `taps`
 * positions of the input with weights.
 */
#include <math.h>
#include <string.h>

#include "backend/lower/lowering.h"

#define MOST_TAPS 4

typedef struct tap {
    size_t at;
    float weight;
} tap;

typedef struct resizing {
    const sh_attributes *a;
    size_t images, channels, taps;
    size_t x[2], y[2];
    tap *table[2]; /* [y][taps] */
} resizing;

static size_t taps_of(sh_resize_method method)
{
    return method == SH_RESIZE_CUBIC ? MOST_TAPS : method == SH_RESIZE_LINEAR ? 2 : 1;
}

static float position(const resizing *r, int axis, size_t output)
{
    const float i = (float)output, scale = r->a->scale[axis];
    const size_t from = r->x[axis], made = r->y[axis];
    switch (r->a->position) {
    case SH_RESIZE_HALF_PIXEL_SYMMETRIC:
        return 0.5f * (float)from * (1.0f - (float)made / (scale * (float)from)) +
               ((i + 0.5f) / scale - 0.5f);
    case SH_RESIZE_PYTORCH_HALF_PIXEL:
        return made == 1 ? 0.0f : (i + 0.5f) / scale - 0.5f;
    case SH_RESIZE_ASYMMETRIC:
        return i / scale;
    case SH_RESIZE_ALIGN_CORNERS:
        return made == 1 ? 0.0f : i * (float)(from - 1) / (float)(made - 1);
    case SH_RESIZE_HALF_PIXEL:
        break;
    }
    return (i + 0.5f) / scale - 0.5f;
}

/* The position nearest to `whole`. */
static size_t inside(float whole, size_t extent)
{
    if (!(whole > 0))
        return 0;
    return whole < (float)(extent - 1) ? (size_t)whole : extent - 1;
}

/* Keys: "Cubic convolution interpolation for digital image processing", 1981. */
static float cubic_near(float a, float t)
{
    return ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
}

static float cubic_far(float a, float t)
{
    return ((a * t - 5.0f * a) * t + 8.0f * a) * t - 4.0f * a;
}

/* Four taps around p = low + d; with `inside`, those outside of the image have weight 0. */
static void fill_cubic(const resizing *r, size_t extent, float low, float d, tap *taps)
{
    const float a = r->a->number == 0 ? SH_RESIZE_COEFFICIENT : r->a->number;
    taps[0] = (tap){inside(low - 1, extent), cubic_far(a, d + 1.0f)};
    taps[1] = (tap){inside(low, extent), cubic_near(a, d)};
    taps[2] = (tap){inside(low + 1, extent), cubic_near(a, 1.0f - d)};
    taps[3] = (tap){inside(low + 2, extent), cubic_far(a, 2.0f - d)};
    float sum = 0;
    for (int i = 0; i < MOST_TAPS && r->a->inside; i++) {
        const float at = low + (float)(i - 1);
        if (at < 0 || at > (float)(extent - 1))
            taps[i].weight = 0;
        sum += taps[i].weight;
    }
    for (int i = 0; i < MOST_TAPS && r->a->inside; i++)
        taps[i].weight /= sum;
}

static void fill_taps(const resizing *r, int axis, size_t output, tap *taps)
{
    const size_t extent = r->x[axis];
    const float p = position(r, axis, output), low = floorf(p), d = p - low;
    if (r->a->method == SH_RESIZE_LINEAR) { /* outside: exactly the edge */
        const bool beside = p < 0 || p > (float)(extent - 1);
        taps[0] = (tap){inside(low, extent), beside ? 1 : 1.0f - d};
        taps[1] = (tap){inside(low + 1, extent), beside ? 0 : d};
        return;
    }
    if (r->a->method == SH_RESIZE_CUBIC) {
        fill_cubic(r, extent, low, d, taps);
        return;
    }
    const bool up = r->a->method == SH_RESIZE_ROUND_DOWN ? d > 0.5f
                    : r->a->method == SH_RESIZE_ROUND_UP ? d >= 0.5f
                                                         : r->a->method == SH_RESIZE_CEIL && d > 0;
    taps[0] = (tap){inside(up ? low + 1 : low, extent), 1};
}

static resizing measure(const sh_call *call, const sh_type *x, const sh_type *y)
{
    resizing r = {.a = call->attributes,
                  .images = x->shape.dim[0],
                  .channels = x->shape.dim[1],
                  .taps = taps_of(call->attributes->method)};
    tap *next = call->scratch;
    for (int i = 0; i < 2; i++) {
        r.x[i] = x->shape.dim[2 + i];
        r.y[i] = y->shape.dim[2 + i];
        r.table[i] = next;
        for (size_t j = 0; j < r.y[i]; j++, next += r.taps)
            fill_taps(&r, i, j, next);
    }
    return r;
}

static size_t table_bytes(const sh_attributes *a, const sh_type *y)
{
    return (y->shape.dim[2] + y->shape.dim[3]) * taps_of(a->method) * sizeof(tap);
}

static size_t forward_scratch(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)in;
    return table_bytes(a, &out[0]);
}

static size_t backward_scratch(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)out;
    return table_bytes(a, &in[0]);
}

static inline SH_INLINE void weigh(float *restrict to, const float *restrict from, float factor,
                                   size_t count, bool adds)
{
    if (!adds)
        for (size_t c = 0; c < count; c++)
            to[c] = from[c] * factor;
    else
        for (size_t c = 0; c < count; c++)
            to[c] += from[c] * factor;
}

static inline SH_INLINE void forward_body(const resizing *r, const float *x, float *y)
{
    const size_t C = r->channels, taps = r->taps;
    for (size_t n = 0; n < r->images; n++, x += r->x[0] * r->x[1] * C)
        for (size_t p = 0; p < r->y[0]; p++)
            for (size_t q = 0; q < r->y[1]; q++, y += C)
                for (size_t i = 0; i < taps; i++)
                    for (size_t j = 0; j < taps; j++) {
                        const tap *row = &r->table[0][p * taps + i];
                        const tap *column = &r->table[1][q * taps + j];
                        weigh(y, x + (row->at * r->x[1] + column->at) * C,
                              row->weight * column->weight, C, i + j > 0);
                    }
}

static inline SH_INLINE void backward_body(const resizing *r, const float *dy, float *dx)
{
    const size_t C = r->channels, taps = r->taps, image = r->x[0] * r->x[1] * C;
    memset(dx, 0, r->images * image * sizeof *dx);
    for (size_t n = 0; n < r->images; n++, dx += image)
        for (size_t p = 0; p < r->y[0]; p++)
            for (size_t q = 0; q < r->y[1]; q++, dy += C)
                for (size_t i = 0; i < taps; i++)
                    for (size_t j = 0; j < taps; j++) {
                        const tap *row = &r->table[0][p * taps + i];
                        const tap *column = &r->table[1][q * taps + j];
                        weigh(dx + (row->at * r->x[1] + column->at) * C, dy,
                              row->weight * column->weight, C, true);
                    }
}

SH_VARIANTS(forward, (const resizing *r, const float *x, float *y), (r, x, y));
SH_VARIANTS(backward, (const resizing *r, const float *dy, float *dx), (r, dy, dx));

static void resize(const sh_call *call)
{
    const resizing r = measure(call, &call->in_type[0], &call->out_type[0]);
    forward_variants[call->kernels->variant](&r, call->in[0], call->out[0]);
}

const sh_lowering sh_lower_resize = {
    .run = resize, .scratch_bytes = forward_scratch, .layout = SH_LAYOUT_CHANNELS_LAST};

static void resize_grad(const sh_call *call)
{
    const resizing r = measure(call, &call->out_type[0], &call->in_type[0]);
    backward_variants[call->kernels->variant](&r, call->in[0], call->out[0]);
}

const sh_lowering sh_lower_resize_grad = {
    .run = resize_grad, .scratch_bytes = backward_scratch, .layout = SH_LAYOUT_CHANNELS_LAST};
