/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first convolution of networks for grey images: one input channel, windows 5 wide, at each
 * pixel; forward, and the gradient of the weights. Activations are channels-last.
 *
 * A library that is made for many input channels has nothing to fill its vectors with here. The
 * output channels lie side by side, so two bands of them are taken at once: the last band ends with
 * the last channel and may overlap the one before, which finds the same bits once more. Forward
 * keeps PIXELS neighbours of a row in registers while it walks through the taps; the gradient keeps
 * the taps of one row of windows while it walks along a row of pixels. Measured with AVX-512 at 16
 * images, in ms, forward / weight gradient:
 *
 *                       channels-last    blocks           these loops
 *     1 -> 20 at 28x28  0.145 / 0.122    0.098 / 0.102    0.067 / 0.070
 *
 * They need registers for 10 to 12 sums of 16 floats: without AVX-512 the library's are faster.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/onednn/primitive.h"
#include "base/variant.h"

#if defined(__x86_64__) && defined(__GNUC__)

#define BAND ((size_t)16) /* channels: of one vector */
#define WIDTH 5           /* of a window */
#define PIXELS 6
#define VECTOR __attribute__((target("avx512f")))

/* A band of channels, anywhere in memory. */
typedef float band __attribute__((vector_size(64), aligned(4), may_alias));

/* A kernel's state; pairs are height, width. */
typedef struct grey {
    size_t images, channels; /* of the output: C */
    size_t in[2], out[2];    /* extent */
    size_t rows;             /* of a window: R */
    bool has_bias;
} grey;

#if defined(__SANITIZE_THREAD__) && defined(__clang__)
/* Accesses as wide as a band clang leaves out by itself. */
void __tsan_read_range(const void *at, unsigned long bytes);
void __tsan_write_range(void *at, unsigned long bytes);
#define WILL_READ(at) __tsan_read_range(at, sizeof(band))
#define WILL_WRITE(at) __tsan_write_range(at, sizeof(band))
#else
#define WILL_READ(at) ((void)0)
#define WILL_WRITE(at) ((void)0)
#endif

static inline SH_INLINE VECTOR band load(const float *at)
{
    WILL_READ(at);
    return *(const band *)at;
}

static inline SH_INLINE VECTOR void store(float *at, band value)
{
    WILL_WRITE(at);
    *(band *)at = value;
}

/* `count` neighbours y [count, C] at x, both bands; w [R, WIDTH, C]. */
static inline SH_INLINE VECTOR void convolve(const grey *g, const float *x, const float *w,
                                             band first, band last, float *y, size_t count)
{
    const size_t C = g->channels, other = C - BAND;
    band low[PIXELS], high[PIXELS];
    for (size_t i = 0; i < count; i++) {
        low[i] = first;
        high[i] = last;
    }
    for (size_t r = 0; r < g->rows; r++, x += g->in[1])
        for (size_t s = 0; s < WIDTH; s++, w += C) {
            const band w_low = load(w), w_high = load(w + other);
            for (size_t i = 0; i < count; i++) {
                low[i] += x[i + s] * w_low;
                high[i] += x[i + s] * w_high;
            }
        }
    for (size_t i = 0; i < count; i++) {
        store(y + i * C, low[i]);
        store(y + i * C + other, high[i]);
    }
}

/* x [N, H, W], w [R, WIDTH, C], b [C], y [N, P, Q, C]. */
static VECTOR void forward(const grey *g, const float *x, const float *w, const float *b, float *y)
{
    const size_t C = g->channels, Q = g->out[1];
    const band first = load(b), last = load(b + C - BAND);
    for (size_t n = 0; n < g->images; n++, x += g->in[0] * g->in[1])
        for (size_t p = 0; p < g->out[0]; p++, y += Q * C) {
            const float *row = x + p * g->in[1];
            size_t q = 0;
            for (; q + PIXELS <= Q; q += PIXELS)
                convolve(g, row + q, w, first, last, y + q * C, PIXELS);
            for (; q < Q; q++)
                convolve(g, row + q, w, first, last, y + q * C, 1);
        }
}

/* dw [WIDTH, C] += what one row of windows makes of dy [Q, C] and the row of x that it sees. */
static inline SH_INLINE VECTOR void add_row(const grey *g, const float *x, const float *dy,
                                            float *dw)
{
    const size_t C = g->channels, other = C - BAND;
    band low[WIDTH], high[WIDTH];
    for (size_t s = 0; s < WIDTH; s++)
        low[s] = high[s] = (band){0};
    for (size_t q = 0; q < g->out[1]; q++, dy += C) {
        const band d_low = load(dy), d_high = load(dy + other);
        for (size_t s = 0; s < WIDTH; s++) {
            low[s] += x[q + s] * d_low;
            high[s] += x[q + s] * d_high;
        }
    }
    for (size_t s = 0; s < WIDTH; s++, dw += C) {
        /* Both are read before one is written: what is in both bands is added once. */
        const band sum_low = load(dw) + low[s], sum_high = load(dw + other) + high[s];
        store(dw, sum_low);
        store(dw + other, sum_high);
    }
}

/* dw [R, WIDTH, C] of x [N, H, W] and dy [N, P, Q, C]. */
static VECTOR void collect(const grey *g, const float *x, const float *dy, float *dw)
{
    const size_t C = g->channels;
    memset(dw, 0, g->rows * WIDTH * C * sizeof *dw);
    for (size_t n = 0; n < g->images; n++, x += g->in[0] * g->in[1])
        for (size_t p = 0; p < g->out[0]; p++, dy += g->out[1] * C)
            for (size_t r = 0; r < g->rows; r++)
                add_row(g, x + (p + r) * g->in[1], dy, dw + r * WIDTH * C);
}

/* Operands: x, w [C, R, WIDTH], b where there is one, y, scratch. */
static void run_forward(const void *state, void *const *operands)
{
    const grey *g = state;
    const size_t C = g->channels, taps = g->rows * WIDTH;
    const float *plain = operands[1];
    float *w = operands[g->has_bias ? 4 : 3], *b = w + taps * C;
    for (size_t tap = 0; tap < taps; tap++)
        for (size_t c = 0; c < C; c++)
            w[tap * C + c] = plain[c * taps + tap];
    memset(b, 0, C * sizeof *b);
    if (g->has_bias)
        memcpy(b, operands[2], C * sizeof *b);
    forward(g, operands[0], w, b, operands[g->has_bias ? 3 : 2]);
}

/* Operands: x, dy, dw [C, R, WIDTH], scratch. */
static void run_collect(const void *state, void *const *operands)
{
    const grey *g = state;
    const size_t C = g->channels, taps = g->rows * WIDTH;
    float *dw = operands[2], *sums = operands[3];
    collect(g, operands[0], operands[1], sums);
    for (size_t c = 0; c < C; c++)
        for (size_t tap = 0; tap < taps; tap++)
            dw[c * taps + tap] = sums[tap * C + c];
}

/* Is it such a convolution? */
static bool is_grey(const sh_node *node, const size_t *x, const size_t *w)
{
    const sh_attributes *a = &node->attributes;
    return a->groups == 1 && x[1] == 1 && w[0] >= BAND && w[0] <= 2 * BAND && w[3] == WIDTH &&
           a->stride[0] * a->stride[1] == 1 && a->padding[0] + a->padding[1] == 0 &&
           a->dilation[0] * a->dilation[1] == 1 && sh_variant_runs(SH_VARIANT_avx512);
}

static sh_status emit(sh_compiler *compiler, const sh_node *node, const grey *about,
                      const sh_layout *channels_last)
{
    static const sh_kernel forward_kernel = {.run = run_forward, .release = free};
    static const sh_kernel collect_kernel = {.run = run_collect, .release = free};
    const bool is_weight = node->op == SH_OP_conv2d_grad_weight;
    sh_buffer_id buffers[5];
    size_t used = 0;
    SH_TRY(sh_compiler_input(compiler, &buffers[used++], node->in[0], NULL));
    SH_TRY(sh_compiler_input(compiler, &buffers[used++], node->in[1],
                             is_weight ? channels_last : NULL));
    if (about->has_bias)
        SH_TRY(sh_compiler_input(compiler, &buffers[used++], node->in[2], NULL));
    SH_TRY(sh_compiler_output(compiler, &buffers[used++], node->out[0],
                              is_weight ? NULL : channels_last));
    SH_TRY(sh_compiler_scratch(compiler, &buffers[used++],
                               (about->rows * WIDTH + 1) * about->channels * sizeof(float)));
    SH_TRY(sh_compiler_emit_copy(compiler, is_weight ? &collect_kernel : &forward_kernel, about,
                                 sizeof *about, buffers, used));
    if (!is_weight || node->output_count < 2)
        return SH_OK;
    return sh_onednn_emit_bias_gradient(compiler, node, channels_last);
}

sh_status sh_onednn_grey(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    const sh_graph *graph = sh_compiler_graph(compiler);
    const bool is_weight = node->op == SH_OP_conv2d_grad_weight;
    if (!is_weight && node->op != SH_OP_conv2d)
        return SH_OK;
    const sh_value_id result = is_weight ? node->in[1] : node->out[0];
    const size_t *x = sh_graph_type(graph, node->in[0])->shape.dim;
    const size_t *w = sh_graph_type(graph, is_weight ? node->out[0] : node->in[1])->shape.dim;
    const size_t *y = sh_graph_type(graph, result)->shape.dim;
    sh_layout channels_last;
    if (!is_grey(node, x, w))
        return SH_OK;
    SH_TRY(sh_onednn_channels_last(compiler, &channels_last, result));
    *taken = true;
    const grey about = {
        .images = x[0],
        .channels = w[0],
        .in = {x[2], x[3]},
        .out = {y[2], y[3]},
        .rows = w[2],
        .has_bias = !is_weight && node->input_count > 2,
    };
    return emit(compiler, node, &about, &channels_last);
}

#else

sh_status sh_onednn_grey(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    (void)compiler;
    (void)node;
    (void)taken;
    return SH_OK;
}

#endif
