/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation (graph/op_norm.c has the formulas). x [N, C, P], P positions. Sums are in
 * double, CHAINS of them side by side, so that loops over a plane become vector code.
 */
#include <math.h>

#include "backend/portable/portable.h"
#include "base/variant.h"

#define CHAINS ((size_t)16)

typedef struct extent {
    size_t N, C, P;
} extent;

static extent measure(const sh_type *x)
{
    const size_t N = x->shape.dim[0], C = x->shape.dim[1];
    return (extent){N, C, sh_shape_count(&x->shape) / (N * C)};
}

static inline SH_INLINE double add_up(const double *chains)
{
    double sum = 0;
    for (size_t j = 0; j < CHAINS; j++)
        sum += chains[j];
    return sum;
}

/* The sum of a channel, x [N, C, P] from its first plane on; or of (x - mean)^2. */
static inline SH_INLINE double sum_body(const extent *e, const float *x, bool squares, double mean)
{
    double chains[CHAINS] = {0};
    for (size_t n = 0; n < e->N; n++, x += e->C * e->P) {
        const size_t whole = e->P / CHAINS * CHAINS;
        for (size_t i = 0; i < whole; i += CHAINS)
            for (size_t j = 0; j < CHAINS; j++) {
                const double off = (double)x[i + j] - mean;
                chains[j] += squares ? off * off : off;
            }
        for (size_t i = whole; i < e->P; i++) {
            const double off = (double)x[i] - mean;
            chains[i - whole] += squares ? off * off : off;
        }
    }
    return add_up(chains);
}

static inline SH_INLINE void moments_body(const extent *e, const float *x, float *mean,
                                          float *variance)
{
    const double count = (double)(e->N * e->P);
    for (size_t c = 0; c < e->C; c++, x += e->P) {
        const double middle = sum_body(e, x, false, 0.0) / count;
        mean[c] = (float)middle;
        variance[c] = (float)(sum_body(e, x, true, middle) / count);
    }
}

typedef void moments_fn(const extent *e, const float *x, float *mean, float *variance);

#define MOMENTS(name, target)                                                                      \
    static target void moments_##name(const extent *e, const float *x, float *mean,                \
                                      float *variance)                                             \
    {                                                                                              \
        moments_body(e, x, mean, variance);                                                        \
    }
SH_VARIANT_MAP(MOMENTS)
static moments_fn *const moments_of[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(moments)};

static void moments(const sh_portable_call *call)
{
    const extent e = measure(&call->in_type[0]);
    moments_of[sh_variant_best()](&e, call->in[0], call->out[0], call->out[1]);
}

const sh_portable_def sh_portable_moments = {.run = moments};

static float activate(sh_activation activation, float y)
{
    if (activation == SH_ACTIVATION_NONE)
        return y;
    y = y < 0 ? 0 : y; /* keeps NaN */
    return activation == SH_ACTIVATION_RELU6 && y > 6 ? 6 : y;
}

static void forward(const sh_portable_call *call)
{
    const extent e = measure(&call->in_type[0]);
    const sh_activation activation = call->attributes->activation;
    const float *x = call->in[0], *mean = call->in[1], *variance = call->in[2];
    const float *w = call->in[3], *b = call->in[4];
    const float *residual = call->in_count > 5 ? call->in[5] : NULL;
    float *y = call->out[0];
    for (size_t n = 0; n < e.N; n++)
        for (size_t c = 0; c < e.C; c++) {
            const float scale = w[c] / sqrtf(variance[c] + call->attributes->number);
            const float shift = b[c] - mean[c] * scale;
            const size_t first = (n * e.C + c) * e.P;
            SH_EACH_ELEMENT (p, e.P) {
                const size_t i = first + p;
                const float normal = x[i] * scale + shift;
                y[i] = activate(activation, residual == NULL ? normal : normal + residual[i]);
            }
        }
}

const sh_portable_def sh_portable_batch_norm = {.run = forward};

/* One channel at work: what its planes are scaled and shifted by. */
typedef struct channel {
    const extent *e;
    float mean, inverse, scale, shift;
    float sum_part, product_part; /* of the gradient, spread over all positions */
} channel;

/* What of dy an activation of this kind hands through. */
static inline SH_INLINE float passed(sh_activation activation, const channel *ch, float dy, float x)
{
    const float y = x * ch->scale + ch->shift;
    const float above = y > 0 ? dy : 0.0f; /* both loaded always: choices instead of branches */
    if (activation == SH_ACTIVATION_NONE)
        return dy;
    return activation == SH_ACTIVATION_RELU || y < 6 ? above : 0.0f;
}

/* The sums of dy, and of dy times normalised x, over a channel. */
static inline SH_INLINE void grad_sums(sh_activation activation, const channel *ch, const float *dy,
                                       const float *x, double *sum, double *product)
{
    double sums[CHAINS] = {0}, products[CHAINS] = {0};
    for (size_t n = 0; n < ch->e->N; n++, dy += ch->e->C * ch->e->P, x += ch->e->C * ch->e->P)
        for (size_t i = 0; i < ch->e->P; i += CHAINS) {
            const size_t left = ch->e->P - i, width = left < CHAINS ? left : CHAINS;
            if (width == CHAINS)
                for (size_t j = 0; j < CHAINS; j++) {
                    const float d = passed(activation, ch, dy[i + j], x[i + j]);
                    sums[j] += (double)d;
                    products[j] += (double)(d * ((x[i + j] - ch->mean) * ch->inverse));
                }
            else
                for (size_t j = 0; j < width; j++) {
                    const float d = passed(activation, ch, dy[i + j], x[i + j]);
                    sums[j] += (double)d;
                    products[j] += (double)(d * ((x[i + j] - ch->mean) * ch->inverse));
                }
        }
    *sum = add_up(sums);
    *product = add_up(products);
}

static inline SH_INLINE void grad_x(sh_activation activation, const channel *ch, const float *dy,
                                    const float *x, float *dx)
{
    for (size_t n = 0; n < ch->e->N; n++) {
        const size_t first = n * ch->e->C * ch->e->P;
        SH_EACH_ELEMENT (p, ch->e->P) {
            const size_t i = first + p;
            const float d = passed(activation, ch, dy[i], x[i]);
            dx[i] =
                ch->scale * (d - ch->sum_part - (x[i] - ch->mean) * ch->inverse * ch->product_part);
        }
    }
}

static inline SH_INLINE void grad_channel(sh_activation activation, const sh_portable_call *call,
                                          const extent *e, size_t c)
{
    const float *dy = (const float *)call->in[0] + c * e->P;
    const float *x = (const float *)call->in[1] + c * e->P;
    const float variance = ((const float *)call->in[3])[c], w = ((const float *)call->in[4])[c];
    const float deviation = sqrtf(variance + call->attributes->number);
    const double count = (double)(e->N * e->P);
    channel ch = {.e = e, .mean = ((const float *)call->in[2])[c]};
    double sum, product;
    ch.inverse = 1.0f / deviation;
    ch.scale = w / deviation;
    ch.shift = ((const float *)call->in[5])[c] - ch.mean * ch.scale;
    grad_sums(activation, &ch, dy, x, &sum, &product);
    ((float *)call->out[1])[c] = (float)product;
    ((float *)call->out[2])[c] = (float)sum;
    ch.sum_part = call->attributes->training ? (float)(sum / count) : 0.0f;
    ch.product_part = call->attributes->training ? (float)(product / count) : 0.0f;
    grad_x(activation, &ch, dy, x, (float *)call->out[0] + c * e->P);
}

/* The activation is a constant in each call, and so in the loops. */
static inline SH_INLINE void grad_body(const sh_portable_call *call, const extent *e)
{
    for (size_t c = 0; c < e->C; c++)
        switch (call->attributes->activation) {
        case SH_ACTIVATION_NONE:
            grad_channel(SH_ACTIVATION_NONE, call, e, c);
            break;
        case SH_ACTIVATION_RELU:
            grad_channel(SH_ACTIVATION_RELU, call, e, c);
            break;
        case SH_ACTIVATION_RELU6:
            grad_channel(SH_ACTIVATION_RELU6, call, e, c);
            break;
        }
}

typedef void grad_fn(const sh_portable_call *call, const extent *e);

#define GRAD(name, target)                                                                         \
    static target void grad_##name(const sh_portable_call *call, const extent *e)                  \
    {                                                                                              \
        grad_body(call, e);                                                                        \
    }
SH_VARIANT_MAP(GRAD)
static grad_fn *const grads[SH_VARIANT_COUNT] = {SH_VARIANT_TABLE(grad)};

static void backward(const sh_portable_call *call)
{
    const extent e = measure(&call->in_type[0]);
    grads[sh_variant_best()](call, &e);
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
