/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Averages of channels-last images: avg_pool, and the mean over height and width, whose result
 * [N, C] is plain, so that the last image of a network is never converted. Channels lie side by
 * side, so the loops over them become vector code.
 *
 * A gradient's input says little about the layout that it is wanted in: what came out of the mean
 * is plain. So gradients are made channels-last where the forward pass found its image so.
 */
#include <stdlib.h>
#include <string.h>

#include "backend/onednn/primitive.h"

/* Windows over images of `channels`. Pairs are height, width. */
typedef struct average {
    size_t images, channels;
    size_t in[2], out[2];
    size_t kernel[2], stride[2], padding[2];
} average;

/* Positions of one axis of the image that a window covers: [first, end). */
typedef struct range {
    size_t first, end;
} range;

static range covered(const average *a, int axis, size_t output)
{
    const size_t begin = output * a->stride[axis], end = begin + a->kernel[axis];
    const size_t padding = a->padding[axis];
    return (range){
        .first = begin < padding ? 0 : begin - padding,
        .end = end < a->in[axis] + padding ? end - padding : a->in[axis],
    };
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

/* One window: y = mean of x. */
static void gather_window(const average *a, const float *image, range rows, range columns, float *y)
{
    memset(y, 0, a->channels * sizeof *y);
    for (size_t h = rows.first; h < rows.end; h++)
        for (size_t w = columns.first; w < columns.end; w++)
            add_to(y, image + (h * a->in[1] + w) * a->channels, a->channels);
    divide(y, (float)(a->kernel[0] * a->kernel[1]), a->channels);
}

static void run_forward(const void *state, void *const *operands)
{
    const average *a = state;
    const float *x = operands[0];
    float *y = operands[1];
    for (size_t n = 0; n < a->images; n++, x += a->in[0] * a->in[1] * a->channels)
        for (size_t p = 0; p < a->out[0]; p++)
            for (size_t q = 0; q < a->out[1]; q++, y += a->channels)
                gather_window(a, x, covered(a, 0, p), covered(a, 1, q), y);
}

/* One window: adds its part of dy to dx. `part` is memory for it. */
static void spread_window(const average *a, float *image, range rows, range columns,
                          const float *dy, float *part)
{
    memcpy(part, dy, a->channels * sizeof *part);
    divide(part, (float)(a->kernel[0] * a->kernel[1]), a->channels);
    for (size_t h = rows.first; h < rows.end; h++)
        for (size_t w = columns.first; w < columns.end; w++)
            add_to(image + (h * a->in[1] + w) * a->channels, part, a->channels);
}

static void run_backward(const void *state, void *const *operands)
{
    const average *a = state;
    const size_t image = a->in[0] * a->in[1] * a->channels;
    const float *dy = operands[0];
    float *dx = operands[1], *part = operands[2];
    memset(dx, 0, a->images * image * sizeof *dx);
    for (size_t n = 0; n < a->images; n++, dx += image)
        for (size_t p = 0; p < a->out[0]; p++)
            for (size_t q = 0; q < a->out[1]; q++, dy += a->channels)
                spread_window(a, dx, covered(a, 0, p), covered(a, 1, q), dy, part);
}

/* The windows over x [N, C, H, W] that make y [N, C, P, Q]; one each where y is [N, C]. */
static average measure(const sh_attributes *of, const sh_shape *x, const sh_shape *y)
{
    average a = {.images = x->dim[0], .channels = x->dim[1]};
    for (int i = 0; i < 2; i++) {
        const bool whole = y->rank == 2;
        a.in[i] = x->dim[2 + i];
        a.out[i] = whole ? 1 : y->dim[2 + i];
        a.kernel[i] = whole ? a.in[i] : of->kernel[i];
        a.stride[i] = whole ? 1 : of->stride[i];
        a.padding[i] = whole ? 0 : of->padding[i];
    }
    return a;
}

/* A buffer of an image, channels-last, or of a plain [N, C]. */
static sh_status operand(sh_compiler *compiler, sh_buffer_id *buffer, sh_value_id value, bool input)
{
    const bool image = sh_graph_type(sh_compiler_graph(compiler), value)->shape.rank == 4;
    sh_layout layout;
    if (image)
        SH_TRY(sh_onednn_channels_last(compiler, &layout, value));
    return (input ? sh_compiler_input : sh_compiler_output)(compiler, buffer, value,
                                                            image ? &layout : NULL);
}

static sh_status emit(sh_compiler *compiler, const sh_node *node, const sh_kernel *kernel,
                      average how)
{
    sh_buffer_id operands[3];
    SH_TRY(operand(compiler, &operands[0], node->in[0], true));
    SH_TRY(operand(compiler, &operands[1], node->out[0], false));
    SH_TRY(sh_compiler_scratch(compiler, &operands[2], how.channels * sizeof(float)));
    return sh_compiler_emit_copy(compiler, kernel, &how, sizeof how, operands, 3);
}

static bool is_taken(const sh_node *node, const sh_shape *x)
{
    const sh_attributes *a = &node->attributes;
    const bool mean = node->op == SH_OP_mean || node->op == SH_OP_mean_grad;
    return x->rank == 4 && (!mean || (a->axis == 2 && a->axes == 2));
}

sh_status sh_onednn_average(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    static const sh_kernel kernel = {.run = run_forward, .release = free};
    const sh_graph *graph = sh_compiler_graph(compiler);
    const sh_shape *x = &sh_graph_type(graph, node->in[0])->shape;
    if (!is_taken(node, x) || !sh_onednn_owns(compiler, node->in[0]))
        return SH_OK;
    *taken = true;
    return emit(compiler, node, &kernel,
                measure(&node->attributes, x, &sh_graph_type(graph, node->out[0])->shape));
}

/* Was there a node of this operator, before `node`, whose image of this shape was ours? */
static bool forward_was_ours(sh_compiler *compiler, const sh_node *node, sh_op forward,
                             const sh_shape *x)
{
    const sh_graph *graph = sh_compiler_graph(compiler);
    for (const sh_node *at = graph->nodes; at < node; at++)
        if (at->op == forward && sh_shape_equal(&sh_graph_type(graph, at->in[0])->shape, x) &&
            sh_onednn_owns(compiler, at->in[0]))
            return true;
    return false;
}

sh_status sh_onednn_average_grad(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    static const sh_kernel kernel = {.run = run_backward, .release = free};
    const sh_graph *graph = sh_compiler_graph(compiler);
    const sh_shape *x = &node->attributes.shape;
    const sh_op forward = node->op == SH_OP_mean_grad ? SH_OP_mean : SH_OP_avg_pool;
    if (!is_taken(node, x) || !forward_was_ours(compiler, node, forward, x))
        return SH_OK;
    *taken = true;
    return emit(compiler, node, &kernel,
                measure(&node->attributes, x, &sh_graph_type(graph, node->in[0])->shape));
}
