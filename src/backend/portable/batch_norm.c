/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation (graph/op_norm.c has the formulas). x [N, C, P], P positions.
 *
 * Sums run in float, WIDTH *chains* of them side by side, so that loops over a plane become vector
 * code of twice the width that doubles have and without a conversion an element. After LONGEST
 * summands each chain is folded into a double, so the error does not grow with the grain. Chains go
 * on from plane to plane: small ones would be folded all the time. The order is the same for every
 * variant, and so are the bits.
 */
#include <math.h>
#include <string.h>

#include "backend/portable/portable.h"
#include "base/variant.h"

#define WIDTH ((size_t)32)
#define LONGEST ((size_t)32)

typedef struct extent {
    size_t N, C, P;
} extent;

static extent measure(const sh_type *x)
{
    const size_t N = x->shape.dim[0], C = x->shape.dim[1];
    return (extent){N, C, sh_shape_count(&x->shape) / (N * C)};
}

/* Two sums over a channel. */
typedef struct sums {
    float first[WIDTH], second[WIDTH];
    size_t length; /* summands in a chain since the last fold, at most */
    double total[2];
} sums;

/* Not worth a copy for each instruction set. */
static __attribute__((noinline)) void fold(sums *s)
{
    for (size_t j = 0; j < WIDTH; j++) {
        s->total[0] += (double)s->first[j];
        s->total[1] += (double)s->second[j];
    }
    memset(s->first, 0, sizeof s->first);
    memset(s->second, 0, sizeof s->second);
    s->length = 0;
}

/* How many elements of the `left` in a plane may be added before the next fold. */
static inline SH_INLINE size_t room(sums *s, size_t left)
{
    if (s->length == LONGEST)
        fold(s);
    const size_t most = (LONGEST - s->length) * WIDTH, now = left < most ? left : most;
    s->length += (now + WIDTH - 1) / WIDTH;
    return now;
}

/* Adds x - shift, and their squares if wanted, of a channel, x [N, C, P] from its first plane on.
 */
static inline SH_INLINE void add_planes(const extent *e, const float *x, float shift, bool squares,
                                        sums *s)
{
    for (size_t n = 0; n < e->N; n++, x += e->C * e->P)
        for (size_t begin = 0, count; begin < e->P; begin += count) {
            count = room(s, e->P - begin);
            const float *const part = x + begin;
            const size_t whole = count / WIDTH * WIDTH;
            for (size_t i = 0; i < whole; i += WIDTH)
                for (size_t j = 0; j < WIDTH; j++) {
                    const float off = part[i + j] - shift;
                    s->first[j] += off;
                    s->second[j] += squares ? off * off : 0.0f;
                }
            for (size_t j = 0; j < count - whole; j++) {
                const float off = part[whole + j] - shift;
                s->first[j] += off;
                s->second[j] += squares ? off * off : 0.0f;
            }
        }
    fold(s);
}

/* The first pass finds about where the mean is, the second one measures from there. */
static inline SH_INLINE void moments_body(const extent *e, const float *x, float *mean,
                                          float *variance)
{
    const double count = (double)(e->N * e->P);
    for (size_t c = 0; c < e->C; c++, x += e->P) {
        sums about_zero = {0}, around = {0};
        add_planes(e, x, 0.0f, false, &about_zero);
        const float shift = (float)(about_zero.total[0] / count);
        add_planes(e, x, shift, true, &around);
        const double off = around.total[0] / count;
        const double squares = around.total[1] / count - off * off;
        mean[c] = (float)((double)shift + off);
        variance[c] = (float)(squares < 0 ? 0 : squares);
    }
}

SH_VARIANTS(moments, (const extent *e, const float *x, float *mean, float *variance),
            (e, x, mean, variance));

static void moments(const sh_portable_call *call)
{
    const extent e = measure(&call->in_type[0]);
    moments_variants[sh_variant_best()](&e, call->in[0], call->out[0], call->out[1]);
}

const sh_portable_def sh_portable_moments = {.run = moments};

static inline SH_INLINE float activate(bool rectifies, float limit, float y)
{
    if (!rectifies)
        return y;
    y = y < 0 ? 0 : y; /* keeps NaN */
    return y > limit ? limit : y;
}

/* One plane. Whether it rectifies is a constant in each call, and so in the loops. */
static inline SH_INLINE void normalise_plane(bool rectifies, float limit, size_t P, float scale,
                                             float shift, const float *x, const float *residual,
                                             float *y)
{
    if (residual == NULL) {
        SH_EACH_ELEMENT (i, P)
            y[i] = activate(rectifies, limit, x[i] * scale + shift);
    } else {
        SH_EACH_ELEMENT (i, P)
            y[i] = activate(rectifies, limit, x[i] * scale + shift + residual[i]);
    }
}

/* scratch: scale and shift of each channel. */
static inline SH_INLINE void normalise(bool rectifies, const sh_portable_call *call,
                                       const extent *e)
{
    const float *x = call->in[0], *mean = call->in[1], *variance = call->in[2];
    const float *w = call->in[3], *b = call->in[4];
    const float *residual = call->in_count > 5 ? call->in[5] : NULL;
    const float limit = sh_activation_limit(call->attributes->activation);
    float *y = call->out[0], *scale = call->scratch, *shift = scale + e->C;
    for (size_t c = 0; c < e->C; c++) {
        scale[c] = w[c] / sqrtf(variance[c] + call->attributes->number);
        shift[c] = b[c] - mean[c] * scale[c];
    }
    for (size_t n = 0; n < e->N; n++)
        for (size_t c = 0; c < e->C; c++) {
            const size_t first = (n * e->C + c) * e->P;
            normalise_plane(rectifies, limit, e->P, scale[c], shift[c], x + first,
                            residual == NULL ? NULL : residual + first, y + first);
        }
}

static inline SH_INLINE void forward_body(const sh_portable_call *call, const extent *e)
{
    if (call->attributes->activation == SH_ACTIVATION_NONE)
        normalise(false, call, e);
    else
        normalise(true, call, e);
}
SH_VARIANTS(forward, (const sh_portable_call *call, const extent *e), (call, e));

static void forward(const sh_portable_call *call)
{
    const extent e = measure(&call->in_type[0]);
    forward_variants[sh_variant_best()](call, &e);
}

static size_t forward_scratch(const sh_portable_call *call)
{
    return 2 * call->in_type[0].shape.dim[1] * sizeof(float);
}

const sh_portable_def sh_portable_batch_norm = {.run = forward, .scratch_bytes = forward_scratch};

/* One channel at work: what its planes are scaled and shifted by. */
typedef struct channel {
    const extent *e;
    float mean, inverse, scale, shift;
    float limit;                  /* of the activation */
    float sum_part, product_part; /* of the gradient, spread over all positions */
} channel;

/* What of dy an activation of this kind hands through. */
static inline SH_INLINE float passed(bool rectifies, const channel *ch, float dy, float x)
{
    const float y = x * ch->scale + ch->shift;
    const float above = y > 0 ? dy : 0.0f; /* both loaded always: choices instead of branches */
    if (!rectifies)
        return dy;
    return y >= ch->limit ? 0.0f : above;
}

/* Adds dy, and dy times the distance of x from the mean, of a channel. */
static inline SH_INLINE void grad_sums(bool rectifies, const channel *ch, const float *dy,
                                       const float *x, sums *s)
{
    const size_t P = ch->e->P, step = ch->e->C * P;
    for (size_t n = 0; n < ch->e->N; n++, dy += step, x += step)
        for (size_t begin = 0, count; begin < P; begin += count) {
            count = room(s, P - begin);
            const float *const some_dy = dy + begin, *const some_x = x + begin;
            const size_t whole = count / WIDTH * WIDTH;
            for (size_t i = 0; i < whole; i += WIDTH)
                for (size_t j = 0; j < WIDTH; j++) {
                    const float d = passed(rectifies, ch, some_dy[i + j], some_x[i + j]);
                    s->first[j] += d;
                    s->second[j] += d * (some_x[i + j] - ch->mean);
                }
            for (size_t j = 0; j < count - whole; j++) {
                const float d = passed(rectifies, ch, some_dy[whole + j], some_x[whole + j]);
                s->first[j] += d;
                s->second[j] += d * (some_x[whole + j] - ch->mean);
            }
        }
    fold(s);
}

static inline SH_INLINE void grad_x(bool rectifies, const channel *ch, const float *dy,
                                    const float *x, float *dx)
{
    for (size_t n = 0; n < ch->e->N; n++) {
        const size_t first = n * ch->e->C * ch->e->P;
        SH_EACH_ELEMENT (p, ch->e->P) {
            const size_t i = first + p;
            const float d = passed(rectifies, ch, dy[i], x[i]);
            dx[i] =
                ch->scale * (d - ch->sum_part - (x[i] - ch->mean) * ch->inverse * ch->product_part);
        }
    }
}

static inline SH_INLINE void grad_channel(bool rectifies, const sh_portable_call *call,
                                          const extent *e, size_t c)
{
    const float *dy = (const float *)call->in[0] + c * e->P;
    const float *x = (const float *)call->in[1] + c * e->P;
    const float variance = ((const float *)call->in[3])[c], w = ((const float *)call->in[4])[c];
    const float deviation = sqrtf(variance + call->attributes->number);
    const double count = (double)(e->N * e->P);
    channel ch = {.e = e,
                  .mean = ((const float *)call->in[2])[c],
                  .limit = sh_activation_limit(call->attributes->activation)};
    sums s = {0};
    ch.inverse = 1.0f / deviation;
    ch.scale = w / deviation;
    ch.shift = ((const float *)call->in[5])[c] - ch.mean * ch.scale;
    grad_sums(rectifies, &ch, dy, x, &s);
    const double sum = s.total[0], product = s.total[1] * (double)ch.inverse;
    ((float *)call->out[1])[c] = (float)product;
    ((float *)call->out[2])[c] = (float)sum;
    ch.sum_part = call->attributes->training ? (float)(sum / count) : 0.0f;
    ch.product_part = call->attributes->training ? (float)(product / count) : 0.0f;
    grad_x(rectifies, &ch, dy, x, (float *)call->out[0] + c * e->P);
}

static inline SH_INLINE void grad_body(const sh_portable_call *call, const extent *e)
{
    for (size_t c = 0; c < e->C; c++)
        if (call->attributes->activation == SH_ACTIVATION_NONE)
            grad_channel(false, call, e, c);
        else
            grad_channel(true, call, e, c);
}
SH_VARIANTS(grad, (const sh_portable_call *call, const extent *e), (call, e));

static void backward(const sh_portable_call *call)
{
    const extent e = measure(&call->in_type[0]);
    grad_variants[sh_variant_best()](call, &e);
}

const sh_portable_def sh_portable_batch_norm_grad = {.run = backward};

static void statistic(const sh_portable_call *call)
{
    const float *in = call->in[0], *weights = call->in[1];
    float *out = call->out[0], part = 0;
    for (size_t n = 0; n < call->in_type[1].shape.dim[0]; n++)
        part += weights[n];
    for (size_t c = 0; c < call->in_type[0].shape.dim[0]; c++)
        out[c] = in[c] * (part * call->attributes->number);
}

const sh_portable_def sh_portable_statistic = {.run = statistic};
