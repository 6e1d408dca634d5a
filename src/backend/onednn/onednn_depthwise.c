/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The weight gradient of depthwise convolutions (a group for each channel, one output each) on
 * channels-last activations: dw[c][tap] is the sum over positions of dy[position][c] times what the
 * tap sees there of x. Channels lie side by side, so a band of them is summed in registers while
 * one tap walks along one row.
 *
 * They serve where the library has no kernel for depthwise weights: where an image is smaller than
 * the windows, as in MobileNetV2's last blocks. Its general kernel pads each channel to a block of
 * 16 x 16 weights there. Measured with AVX-512 at 16 images, 3x3, in ms, with the reorder of dw
 * that the library's blocks need, and the size of these blocks:
 *
 *                         library            these loops
 *     96 at 32x32, by 2   0.115     3.5 KB   0.143
 *     144 at 16x16        0.120     5.2 KB   0.173
 *     384 at 4x4          0.016    13.8 KB   0.033
 *     960 at 2x2          0.614     8.6 MB   0.022
 *
 * (With AVX2 the last line is 1.83 against 0.022.)
 */
#include <stdlib.h>
#include <string.h>

#include "backend/onednn/primitive.h"
#include "base/variant.h"

#define BAND ((size_t)64) /* channels in registers: sums enough to hide the time of an addition */

/* A kernel's state; pairs are height, width. */
typedef struct depthwise {
    sh_attributes a;
    size_t images, channels;
    size_t in[2], out[2]; /* extent */
    size_t kernel[2];
} depthwise;

/* Outputs whose tap lies in the image along one axis: [first, end). */
typedef struct seen {
    size_t first, end;
} seen;

static seen seen_by(const depthwise *g, int axis, size_t tap)
{
    const size_t at = tap * g->a.dilation[axis], padding = g->a.padding[axis];
    const size_t stride = g->a.stride[axis], end = g->in[axis] + padding;
    const seen s = {
        .first = at < padding ? (padding - at + stride - 1) / stride : 0,
        .end = at < end ? (end - at + stride - 1) / stride : 0,
    };
    return (seen){s.first, s.end < g->out[axis] ? s.end : g->out[axis]};
}

/* sums [width] += products along `count` positions: x and dy step from one to the next. */
static inline SH_INLINE void add_products(float *restrict sums, const float *restrict x,
                                          size_t x_step, const float *restrict dy, size_t dy_step,
                                          size_t count, size_t width)
{
    float held[BAND];
    for (size_t c = 0; c < width; c++)
        held[c] = sums[c];
    for (size_t q = 0; q < count; q++, x += x_step, dy += dy_step)
        for (size_t c = 0; c < width; c++)
            held[c] += x[c] * dy[c];
    for (size_t c = 0; c < width; c++)
        sums[c] = held[c];
}

/* One tap along one row, for all channels; widths are constants where there are many channels. */
static inline SH_INLINE void add_row(const depthwise *g, float *sums, const float *x, size_t x_step,
                                     const float *dy, size_t count)
{
    const size_t C = g->channels;
    size_t c = 0;
    for (; c + BAND <= C; c += BAND)
        add_products(sums + c, x + c, x_step, dy + c, C, count, BAND);
    for (; c + 16 <= C; c += 16)
        add_products(sums + c, x + c, x_step, dy + c, C, count, 16);
    if (c < C)
        add_products(sums + c, x + c, x_step, dy + c, C, count, C - c);
}

/* sums [R, S, C] of x [N, H, W, C] and dy [N, P, Q, C]. */
static inline SH_INLINE void collect_body(const depthwise *g, const float *x, const float *dy,
                                          float *sums)
{
    const size_t C = g->channels, x_step = g->a.stride[1] * C;
    for (size_t n = 0; n < g->images; n++, x += g->in[0] * g->in[1] * C)
        for (size_t p = 0; p < g->out[0]; p++, dy += g->out[1] * C)
            for (size_t r = 0; r < g->kernel[0]; r++) {
                const size_t h = p * g->a.stride[0] + r * g->a.dilation[0] - g->a.padding[0];
                for (size_t s = 0; s < g->kernel[1] && h < g->in[0]; s++) {
                    const seen q = seen_by(g, 1, s);
                    if (q.first >= q.end)
                        continue;
                    const size_t w =
                        q.first * g->a.stride[1] + s * g->a.dilation[1] - g->a.padding[1];
                    add_row(g, sums + (r * g->kernel[1] + s) * C, x + (h * g->in[1] + w) * C,
                            x_step, dy + q.first * C, q.end - q.first);
                }
            }
}

SH_VARIANTS(collect, (const depthwise *g, const float *x, const float *dy, float *sums),
            (g, x, dy, sums));

/* Operands: x, dy, dw [C, R, S], scratch. */
static void run(const void *state, void *const *operands)
{
    const depthwise *g = state;
    const size_t taps = g->kernel[0] * g->kernel[1];
    float *dw = operands[2], *sums = operands[3];
    memset(sums, 0, taps * g->channels * sizeof *sums);
    collect_variants[sh_variant_best()](g, operands[0], operands[1], sums);
    for (size_t c = 0; c < g->channels; c++)
        for (size_t tap = 0; tap < taps; tap++)
            dw[c * taps + tap] = sums[tap * g->channels + c];
}

sh_status sh_onednn_depthwise_grad_weight(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    static const sh_kernel kernel = {.run = run, .release = free};
    const sh_graph *graph = sh_compiler_graph(compiler);
    const sh_type *weights = sh_graph_type(graph, node->out[0]);
    const size_t *x = sh_graph_type(graph, node->in[0])->shape.dim;
    const size_t *y = sh_graph_type(graph, node->in[1])->shape.dim, *w = weights->shape.dim;
    const size_t groups = node->attributes.groups;
    sh_layout layouts[2];
    sh_buffer_id buffers[4];
    if (groups == 1 || x[1] != groups || y[1] != groups)
        return SH_OK;
    for (int i = 0; i < 2; i++) {
        dnnl_memory_desc_t md;
        if (!sh_onednn_md(&md, sh_graph_type(graph, node->in[i]), dnnl_nhwc))
            return SH_OK;
        SH_TRY(sh_onednn_layout(compiler, &layouts[i], &md));
    }
    *taken = true;
    for (int i = 0; i < 2; i++)
        SH_TRY(sh_compiler_input(compiler, &buffers[i], node->in[i], &layouts[i]));
    SH_TRY(sh_compiler_output(compiler, &buffers[2], node->out[0], NULL));
    SH_TRY(sh_compiler_scratch(compiler, &buffers[3], sh_type_bytes(weights)));
    const depthwise state = {
        .a = node->attributes,
        .images = x[0],
        .channels = x[1],
        .in = {x[2], x[3]},
        .out = {y[2], y[3]},
        .kernel = {w[2], w[3]},
    };
    SH_TRY(sh_compiler_emit_copy(compiler, &kernel, &state, sizeof state, buffers, 4));
    if (node->output_count < 2)
        return SH_OK;
    return sh_onednn_emit_bias_gradient(compiler, node, &layouts[1]);
}
