/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Max pooling of channels-last activations, x [N, H, W, C] -> y and choice [N, P, Q, C], with the
 * same results as portable's, which takes pooling where the input is not this backend's.
 *
 * The library has max pooling too, but it loses what must be found: it overlooks NaN, and makes the
 * largest of minus infinities -FLT_MAX (2.6, AVX-512: the window NaN 1 4 5 gives 5). A window's
 * channels lie side by side here, so that plain loops over them become vector code.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/onednn/primitive.h"

/* A kernel's state. Pairs are height, width, as in the attributes. */
typedef struct pooling {
    sh_attributes a;
    size_t images, channels;
    size_t in[2], out[2]; /* extent */
} pooling;

/* The taps of a window that lie in the image along one axis: [first, end). */
typedef struct taps {
    size_t first, end;
    size_t origin; /* position of tap 0; below zero wraps to above */
} taps;

static taps taps_of(const pooling *g, int axis, size_t output)
{
    const size_t begin = output * g->a.stride[axis], padding = g->a.padding[axis];
    const size_t left = g->in[axis] + padding - begin; /* of the image, from tap 0 on */
    return (taps){
        .first = begin < padding ? padding - begin : 0,
        .end = left < g->a.kernel[axis] ? left : g->a.kernel[axis],
        .origin = begin - padding,
    };
}

/* Where the mask is all ones a, where it is zero b: without a branch, which would be a guess. */
static inline float select_float(uint32_t mask, float a, float b)
{
    uint32_t a_bits, b_bits;
    float selected;
    memcpy(&a_bits, &a, sizeof a);
    memcpy(&b_bits, &b, sizeof b);
    a_bits = (a_bits & mask) | (b_bits & ~mask);
    memcpy(&selected, &a_bits, sizeof selected);
    return selected;
}

/* Takes x where it is larger; of equals the first stays, and so does the first NaN. */
static void take_larger(const float *restrict x, float *restrict y, uint8_t *restrict choice,
                        size_t channels, uint8_t tap)
{
    for (size_t c = 0; c < channels; c++) {
        const float new = x[c], best = y[c];
        const uint32_t mask = 0u - (uint32_t)(!(new <= best) & (best == best));
        y[c] = select_float(mask, new, best);
        choice[c] = (uint8_t)((tap & mask) | (choice[c] & ~mask));
    }
}

static void add_chosen(const float *restrict dy, const uint8_t *restrict choice, float *restrict dx,
                       size_t channels, uint8_t tap)
{
    for (size_t c = 0; c < channels; c++) {
        const uint32_t mask = 0u - (uint32_t)(choice[c] == tap);
        dx[c] += select_float(mask, dy[c], 0.0f);
    }
}

static void pool_window(const pooling *g, const float *image, taps rows, taps columns, float *y,
                        uint8_t *choice)
{
    bool found = false;
    for (size_t r = rows.first; r < rows.end; r++)
        for (size_t s = columns.first; s < columns.end; s++, found = true) {
            const size_t pixel = (rows.origin + r) * g->in[1] + columns.origin + s;
            const float *x = image + pixel * g->channels;
            const uint8_t tap = (uint8_t)(r * g->a.kernel[1] + s);
            if (found) {
                take_larger(x, y, choice, g->channels, tap);
                continue;
            }
            memcpy(y, x, g->channels * sizeof *y);
            memset(choice, tap, g->channels);
        }
}

static sh_status run_forward(const void *state, void *bound, void *const *operands)
{
    const pooling *g = state;
    const float *x = operands[0];
    float *y = operands[1];
    uint8_t *choice = operands[2];
    (void)bound;
    for (size_t n = 0; n < g->images; n++, x += g->in[0] * g->in[1] * g->channels)
        for (size_t p = 0; p < g->out[0]; p++)
            for (size_t q = 0; q < g->out[1]; q++, y += g->channels, choice += g->channels)
                pool_window(g, x, taps_of(g, 0, p), taps_of(g, 1, q), y, choice);
    return SH_OK;
}

static void spread_window(const pooling *g, float *image, taps rows, taps columns, const float *dy,
                          const uint8_t *choice)
{
    for (size_t r = rows.first; r < rows.end; r++)
        for (size_t s = columns.first; s < columns.end; s++) {
            const size_t pixel = (rows.origin + r) * g->in[1] + columns.origin + s;
            add_chosen(dy, choice, image + pixel * g->channels, g->channels,
                       (uint8_t)(r * g->a.kernel[1] + s));
        }
}

static sh_status run_backward(const void *state, void *bound, void *const *operands)
{
    const pooling *g = state;
    const size_t image = g->in[0] * g->in[1] * g->channels;
    const float *dy = operands[0];
    const uint8_t *choice = operands[1];
    float *dx = operands[2];
    (void)bound;
    memset(dx, 0, g->images * image * sizeof *dx);
    for (size_t n = 0; n < g->images; n++, dx += image)
        for (size_t p = 0; p < g->out[0]; p++)
            for (size_t q = 0; q < g->out[1]; q++, dy += g->channels, choice += g->channels)
                spread_window(g, dx, taps_of(g, 0, p), taps_of(g, 1, q), dy, choice);
    return SH_OK;
}

static const sh_kernel forward_kernel = {.run = run_forward, .release = free};
static const sh_kernel backward_kernel = {.run = run_backward, .release = free};

static pooling *measure(const sh_node *node, const sh_shape *x, const sh_shape *y)
{
    pooling *g = malloc(sizeof *g);
    if (g != NULL)
        *g = (pooling){
            .a = node->attributes,
            .images = x->dim[0],
            .channels = x->dim[1],
            .in = {x->dim[2], x->dim[3]},
            .out = {y->dim[2], y->dim[3]},
        };
    return g;
}

/* `operands` are x, y, choice or dy, choice, dx: two in, one out or one in, two out. */
static sh_status gather(sh_compiler *compiler, const sh_node *node, sh_buffer_id operands[3])
{
    uint32_t used = 0;
    sh_layout layout;
    for (uint32_t i = 0; i < node->input_count; i++) {
        SH_TRY(sh_onednn_channels_last(compiler, &layout, node->in[i]));
        SH_TRY(sh_compiler_input(compiler, &operands[used++], node->in[i], &layout));
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        SH_TRY(sh_onednn_channels_last(compiler, &layout, node->out[i]));
        SH_TRY(sh_compiler_output(compiler, &operands[used++], node->out[i], &layout));
    }
    return SH_OK;
}

static sh_status emit(sh_compiler *compiler, const sh_node *node, const sh_kernel *kernel,
                      sh_value_id x, sh_value_id y)
{
    const sh_graph *graph = sh_compiler_graph(compiler);
    sh_buffer_id operands[3];
    SH_TRY(gather(compiler, node, operands));
    pooling *state =
        measure(node, &sh_graph_type(graph, x)->shape, &sh_graph_type(graph, y)->shape);
    if (state == NULL)
        return sh_fail_memory(sizeof *state, "a kernel");
    return sh_compiler_emit(compiler, kernel, state, operands, 3);
}

sh_status sh_onednn_max_pool(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    if (!sh_onednn_owns(compiler, node->in[0]))
        return SH_OK;
    *taken = true;
    return emit(compiler, node, &forward_kernel, node->in[0], node->out[0]);
}

/* Choices mean the same in both backends: portable's could be used here, and these there. */
sh_status sh_onednn_max_pool_grad(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    if (!sh_onednn_owns(compiler, node->in[1]))
        return SH_OK;
    *taken = true;
    return emit(compiler, node, &backward_kernel, node->out[0], node->in[0]);
}
