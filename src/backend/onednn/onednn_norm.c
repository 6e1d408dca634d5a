/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation of activations that lie channels-last (or [N, C], which is the same), by the
 * kernels of norm_rows.h, in the layout that convolutions give and take: nothing is converted
 * between them. The library has batch normalisation too, but its rounding differs from portable's,
 * it makes statistics and result in one primitive, and it keeps a mask of the activation, which is
 * cheaper to find again from x. What no convolution of this backend has made is portable's.
 */
#include <stdlib.h>

#include "backend/onednn/norm_rows.h"
#include "backend/onednn/primitive.h"

/* Operands are those of the node, inputs and outputs, and scratch behind them. */
static void run_moments(const void *state, void *const *operands)
{
    sh_norm_moments(sh_variant_best(), state, operands[0], operands[1], operands[2], operands[3]);
}

static void run_forward(const void *state, void *const *operands)
{
    const sh_norm_channels of = {operands[1], operands[2], operands[3], operands[4]};
    sh_norm_forward(sh_variant_best(), state, operands[0], &of, NULL, operands[5], operands[6]);
}

static void run_residual(const void *state, void *const *operands)
{
    const sh_norm_channels of = {operands[1], operands[2], operands[3], operands[4]};
    sh_norm_forward(sh_variant_best(), state, operands[0], &of, operands[5], operands[6],
                    operands[7]);
}

static void run_backward(const void *state, void *const *operands)
{
    const sh_norm_channels of = {operands[2], operands[3], operands[4], operands[5]};
    sh_norm_backward(sh_variant_best(), state, operands[0], operands[1], &of, operands[6],
                     operands[7], operands[8], operands[9]);
}

static const sh_kernel moments_kernel = {.run = run_moments, .release = free};
static const sh_kernel forward_kernel = {.run = run_forward, .release = free};
static const sh_kernel residual_kernel = {.run = run_residual, .release = free};
static const sh_kernel backward_kernel = {.run = run_backward, .release = free};

/* Images are channels-last, what belongs to channels is plain. */
static sh_status emit(sh_compiler *compiler, const sh_node *node, const sh_kernel *kernel,
                      const sh_shape *x)
{
    const sh_graph *graph = sh_compiler_graph(compiler);
    const uint32_t count = node->input_count + node->output_count;
    sh_buffer_id operands[SH_MAX_OPERANDS];
    sh_norm norm = sh_norm_of(sh_shape_count(x) / x->dim[1], x->dim[1]);
    norm.epsilon = node->attributes.number;
    norm.activation = node->attributes.activation;
    norm.training = node->attributes.training;
    for (uint32_t i = 0; i < count; i++) {
        const bool is_input = i < node->input_count;
        const sh_value_id value = is_input ? node->in[i] : node->out[i - node->input_count];
        const bool is_image = sh_graph_type(graph, value)->shape.rank > 1;
        sh_layout layout;
        if (is_image)
            SH_TRY(sh_onednn_channels_last(compiler, &layout, value));
        SH_TRY((is_input ? sh_compiler_input : sh_compiler_output)(compiler, &operands[i], value,
                                                                   is_image ? &layout : NULL));
    }
    for (uint32_t i = 0; i < node->input_count; i++)
        if ((sh_op_about(node->op)->def->over & SH_OVER(i)) != 0)
            sh_compiler_may_overwrite(compiler, operands[node->input_count], operands[i]);
    SH_TRY(sh_compiler_scratch(compiler, &operands[count], sh_norm_scratch(&norm)));
    return sh_compiler_emit_copy(compiler, kernel, &norm, sizeof norm, operands, count + 1);
}

sh_status sh_onednn_norm(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    const bool is_gradient = node->op == SH_OP_batch_norm_grad;
    const sh_value_id x = node->in[is_gradient ? 1 : 0];
    const sh_shape *shape = &sh_graph_type(sh_compiler_graph(compiler), x)->shape;
    const bool is_ours = sh_compiler_layout(compiler, x).owner == &sh_onednn_backend;
    const bool is_flat = sh_shape_count(shape) == shape->dim[0] * shape->dim[1];
    if (!is_flat && (!is_ours || shape->rank > SH_ONEDNN_CHANNELS_LAST_RANK))
        return SH_OK;
    *taken = true;
    if (node->op == SH_OP_moments)
        return emit(compiler, node, &moments_kernel, shape);
    if (is_gradient)
        return emit(compiler, node, &backward_kernel, shape);
    return emit(compiler, node, node->input_count > 5 ? &residual_kernel : &forward_kernel, shape);
}
