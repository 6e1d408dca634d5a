/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions with one input channel a group, plane by plane: a matrix product would have a single
 * row. A plane is padded to [Y, X] and read as one long row, so that tap (r, s) of all windows is
 * the same row from another place on, and one loop serves all rows of the plane:
 *
 *     dense[i] = sum over taps of w[tap] * padded[i + offset(tap)]
 *
 * The results between the rows, where windows wrap around, are of no use and nobody reads them; at
 * larger strides only every so many rows and columns are taken. In the gradients dy stands in the
 * same places, with zeros between and around, so that the input's is such a sum too, over the taps
 * in reverse, and
 *
 *     dw[tap] = sum over i of dense[i] * padded[i + offset(tap)]
 *
 * Rows are worked on in whole chunks: beyond their ends there are zeros. The work on what is not
 * used is small where it matters, at a stride of 1, and short rows, of which these networks have
 * many, become as fast as long ones.
 */
#include <assert.h>
#include <string.h>

#include "backend/portable/convolution.h"
#include "base/variant.h"

#define CHUNK ((size_t)16) /* floats: a vector of the widest kind */

static size_t whole_chunks(size_t elements)
{
    return (elements + CHUNK - 1) / CHUNK * CHUNK;
}

static inline SH_INLINE size_t offset(const sh_convolution *g, size_t r, size_t s)
{
    return r * g->a->dilation[0] * g->X + s * g->a->dilation[1];
}

/* Scratch memory: a plane in both forms, in whole chunks, and sums in chunks of their own. */
typedef struct desk {
    size_t plane;  /* elements of a padded plane */
    size_t span;   /* elements of `dense`, from the first result to the last */
    size_t margin; /* offset of the last tap */
    float *padded; /* [Y, X]; zeros behind, as far as a tap reaches from the last chunk */
    float *dense;  /* `margin` zeros, what `span` says, zeros up to a padded plane's end */
    float *sums;   /* [O, K, CHUNK] */
    size_t elements;
} desk;

static desk desk_of(const sh_convolution *g, float *scratch)
{
    const size_t span = (g->P - 1) * g->a->stride[0] * g->X + (g->Q - 1) * g->a->stride[1] + 1;
    desk d = {
        .plane = whole_chunks(g->Y * g->X),
        .span = whole_chunks(span),
        .margin = offset(g, g->R - 1, g->S - 1),
    };
    const size_t padded = d.plane + CHUNK, dense = whole_chunks(2 * d.margin + d.plane);
    d.elements = padded + dense + g->O * g->K * CHUNK;
    if (scratch != NULL) {
        d.padded = scratch;
        d.dense = scratch + padded;
        d.sums = d.dense + dense;
        memset(scratch, 0, d.elements * sizeof *scratch);
    }
    return d;
}

size_t sh_depthwise_scratch(const sh_convolution *g)
{
    return desk_of(g, NULL).elements * sizeof(float);
}

/* out [count] = *base, or itself where that is NULL, + the sum over R S taps of w * in. */
static inline SH_INLINE void correlate(const sh_convolution *g, const float *restrict in,
                                       const float *restrict w, float *restrict out, size_t count,
                                       const float *base, size_t R, size_t S)
{
    for (size_t i = 0; i < count; i += CHUNK) {
        float sum[CHUNK];
        for (size_t j = 0; j < CHUNK; j++)
            sum[j] = base == NULL ? out[i + j] : *base;
        for (size_t r = 0; r < R; r++)
            for (size_t s = 0; s < S; s++) {
                const float *restrict from = in + i + offset(g, r, s);
                for (size_t j = 0; j < CHUNK; j++)
                    sum[j] += from[j] * w[r * S + s];
            }
        for (size_t j = 0; j < CHUNK; j++)
            out[i + j] = sum[j];
    }
}

/* The common kernel of 3x3 is compiled apart: its taps are unrolled, its weights in registers. */
static inline SH_INLINE void correlate_body(const sh_convolution *g, const float *in,
                                            const float *w, float *out, size_t count,
                                            const float *base)
{
    if (g->R == 3 && g->S == 3)
        correlate(g, in, w, out, count, base, 3, 3);
    else
        correlate(g, in, w, out, count, base, g->R, g->S);
}
SH_VARIANTS(correlate,
            (const sh_convolution *g, const float *in, const float *w, float *out, size_t count,
             const float *base),
            (g, in, w, out, count, base));

/* sums [R S, CHUNK] += products of dense [count] with what each tap sees of padded. */
static inline SH_INLINE void collect_body(const sh_convolution *g, const float *restrict padded,
                                          const float *restrict dense, float *restrict sums,
                                          size_t count)
{
    for (size_t r = 0; r < g->R; r++)
        for (size_t s = 0; s < g->S; s++, sums += CHUNK) {
            const float *restrict from = padded + offset(g, r, s);
            float sum[CHUNK];
            for (size_t j = 0; j < CHUNK; j++)
                sum[j] = sums[j];
            for (size_t i = 0; i < count; i += CHUNK)
                for (size_t j = 0; j < CHUNK; j++)
                    sum[j] += dense[i + j] * from[i + j];
            for (size_t j = 0; j < CHUNK; j++)
                sums[j] = sum[j];
        }
}

SH_VARIANTS(collect,
            (const sh_convolution *g, const float *padded, const float *dense, float *sums,
             size_t count),
            (g, padded, dense, sums, count));

/* The results of a plane, from where they lie in a dense one. */
static void take_results(const sh_convolution *g, const float *dense, float *restrict y)
{
    const size_t step = g->a->stride[1];
    for (size_t p = 0; p < g->P; p++, dense += g->a->stride[0] * g->X, y += g->Q)
        for (size_t q = 0; q < g->Q; q++)
            y[q] = dense[q * step];
}

/* The reverse; what lies between is zero and stays so. */
static void put_results(const sh_convolution *g, float *restrict dense, const float *dy)
{
    const size_t step = g->a->stride[1];
    for (size_t p = 0; p < g->P; p++, dense += g->a->stride[0] * g->X, dy += g->Q)
        for (size_t q = 0; q < g->Q; q++)
            dense[q * step] = dy[q];
}

void sh_depthwise_forward(const sh_convolution *g, const sh_portable_call *call)
{
    const float *x = call->in[0], *w = call->in[1], *b = call->in_count > 2 ? call->in[2] : NULL;
    float *y = call->out[0];
    assert(call->scratch != NULL);
    const desk d = desk_of(g, call->scratch);
    const sh_variant variant = sh_variant_best();
    const float zero = 0;
    for (size_t n = 0; n < g->images; n++)
        for (size_t c = 0; c < g->groups; c++, x += g->H * g->W) {
            sh_convolution_pad(g, 1, x, d.padded);
            for (size_t o = c * g->O; o < (c + 1) * g->O; o++, y += g->P * g->Q) {
                correlate_variants[variant](g, d.padded, w + o * g->K, d.dense, d.span,
                                            b == NULL ? &zero : &b[o]);
                take_results(g, d.dense, y);
            }
        }
}

void sh_depthwise_grad_input(const sh_convolution *g, const sh_portable_call *call)
{
    const float *dy = call->in[0], *w = call->in[1];
    float *dx = call->out[0];
    assert(call->scratch != NULL);
    const desk d = desk_of(g, call->scratch);
    const sh_variant variant = sh_variant_best();
    const float zero = 0;
    float *reversed = d.sums;
    for (size_t n = 0; n < g->images; n++)
        for (size_t c = 0; c < g->groups; c++, dx += g->H * g->W) {
            for (size_t o = c * g->O; o < (c + 1) * g->O; o++, dy += g->P * g->Q) {
                for (size_t k = 0; k < g->K; k++)
                    reversed[k] = w[(o + 1) * g->K - 1 - k];
                put_results(g, d.dense + d.margin, dy);
                correlate_variants[variant](g, d.dense, reversed, d.padded, d.plane,
                                            o == c * g->O ? &zero : NULL);
            }
            sh_convolution_crop(g, 1, d.padded, dx);
        }
}

/* Adds the sums of a group's weights up: dw [O, K]. */
static void finish_sums(const sh_convolution *g, float *sums, float *dw)
{
    for (size_t k = 0; k < g->O * g->K; k++, sums += CHUNK) {
        dw[k] = 0;
        for (size_t j = 0; j < CHUNK; j++)
            dw[k] += sums[j];
        memset(sums, 0, CHUNK * sizeof *sums);
    }
}

void sh_depthwise_grad_weight(const sh_convolution *g, const sh_portable_call *call)
{
    float *dw = call->out[0], *db = call->out_count > 1 ? call->out[1] : NULL;
    const size_t outputs = g->groups * g->O, in_plane = g->H * g->W, out_plane = g->P * g->Q;
    assert(call->scratch != NULL);
    const desk d = desk_of(g, call->scratch);
    const sh_variant variant = sh_variant_best();
    if (db != NULL)
        memset(db, 0, outputs * sizeof *db);
    for (size_t c = 0; c < g->groups; c++, dw += g->O * g->K) {
        for (size_t n = 0; n < g->images; n++) {
            const float *x = (const float *)call->in[0] + (n * g->groups + c) * in_plane;
            const float *dy = (const float *)call->in[1] + (n * outputs + c * g->O) * out_plane;
            sh_convolution_pad(g, 1, x, d.padded);
            for (size_t o = 0; o < g->O; o++, dy += out_plane) {
                put_results(g, d.dense + d.margin, dy);
                collect_variants[variant](g, d.padded, d.dense + d.margin,
                                          d.sums + o * g->K * CHUNK, d.span);
                if (db != NULL)
                    db[c * g->O + o] += sh_convolution_sum(dy, out_plane);
            }
        }
        finish_sums(g, d.sums, dw);
    }
}
