/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dense layer, as matrix products of plain operands; x [N, K], w [O, K], b [O], y [N, O]:
 *
 *     y [N, O] = x w^T + b        dx [N, K] = dy w        dw [O, K] = dy^T x
 *
 * A transposed operand is the same bytes with its strides exchanged. Only the library's "brg"
 * implementation is taken, which has all its memory as planned scratch. The other one allocates up
 * to a megabyte inside a run, and its first run generates 6 MB of kernels in 20 ms; portable's
 * CBLAS is the better fallback.
 *
 * Measured with AVX-512, 800 -> 500 at 16 samples, in ms, forward / dx / dw: this 0.078 / 0.051 /
 * 0.052, CBLAS 0.150 / 0.129 / 0.111. The library's inner product on weights in blocks has a faster
 * forward pass (0.048) but slower gradients (0.075 / 0.062), and making the blocks takes 0.09 on
 * each step while all other lanes wait, the weights' bytes once more, and 0.14 on each grain for
 * the way back of dw.
 *
 * A convolution of 1x1 at a stride of 1 is the same on channels-last activations, whose pixels are
 * the rows of x and y: no slower than as a convolution, and without weights in two more layouts,
 * which would have to be made once a step and kept, and without the way back of dw. At 16 images,
 * the convolution's dw with its reorder:
 *
 *                         convolution              product
 *     144 -> 24 at 16x16  0.165 / 0.134 / 0.172    0.167 / 0.118 / 0.119
 *     64 -> 384 at 4x4    0.052 / 0.051 / 0.058    0.050 / 0.048 / 0.060
 *     960 -> 320 at 2x2   0.187 / 0.194 / 0.298    0.174 / 0.159 / 0.162
 *     16 -> 96 at 32x32   0.218 / 0.269 / 0.214    0.225 / 0.238 / 0.307
 *
 * Where few weights have more rows than columns, as in the last line, dw stays a convolution's.
 */
#include "backend/onednn/primitive.h"

#define FEW_WEIGHTS 16384

/* A product C = A B (+ bias). */
typedef struct problem {
    dnnl_memory_desc_t A, B, C, bias;
} problem;

static bool describe_matrix(dnnl_memory_desc_t *md, size_t rows, size_t columns, bool transposed)
{
    const sh_type type = {SH_F32, sh_shape_of(2, (size_t[]){rows, columns})};
    return sh_onednn_md(md, &type, transposed ? dnnl_ba : dnnl_ab);
}

/* The dense operator that does the same as the node, on rows of channels. */
static sh_op dense_op(sh_op op)
{
    switch (op) {
    case SH_OP_conv2d:
        return SH_OP_linear;
    case SH_OP_conv2d_grad_input:
        return SH_OP_linear_grad_input;
    case SH_OP_conv2d_grad_weight:
        return SH_OP_linear_grad_weight;
    default:
        return op;
    }
}

/* Images, channels-last, are as many rows as they have pixels. */
static size_t rows_of(const sh_shape *shape)
{
    return sh_shape_count(shape) / shape->dim[1];
}

static bool describe(problem *p, const sh_graph *graph, const sh_node *node)
{
    const sh_shape *first = &sh_graph_type(graph, node->in[0])->shape;
    const sh_shape *second = &sh_graph_type(graph, node->in[1])->shape;
    const size_t N = rows_of(first);
    *p = (problem){.bias.ndims = 0}; /* none */
    if (dense_op(node->op) == SH_OP_linear_grad_input) {
        const size_t O = first->dim[1], K = second->dim[1];
        return describe_matrix(&p->A, N, O, false) && describe_matrix(&p->B, O, K, false) &&
               describe_matrix(&p->C, N, K, false);
    }
    if (dense_op(node->op) == SH_OP_linear_grad_weight) {
        const size_t K = first->dim[1], O = second->dim[1];
        return describe_matrix(&p->A, O, N, true) && describe_matrix(&p->B, N, K, false) &&
               describe_matrix(&p->C, O, K, false);
    }
    const size_t K = first->dim[1], O = second->dim[0];
    return describe_matrix(&p->A, N, K, false) && describe_matrix(&p->B, K, O, true) &&
           describe_matrix(&p->C, N, O, false) &&
           (node->input_count < 3 || describe_matrix(&p->bias, 1, O, false));
}

/* The gradient of the bias, behind that of the weights. */
static sh_status emit_bias(sh_compiler *compiler, const sh_node *node)
{
    sh_layout layout;
    if (dense_op(node->op) != SH_OP_linear_grad_weight || node->output_count < 2)
        return SH_OK;
    if (node->op == SH_OP_linear_grad_weight)
        return sh_onednn_emit_bias_gradient(compiler, node, NULL);
    SH_TRY(sh_onednn_channels_last(compiler, &layout, node->in[1]));
    return sh_onednn_emit_bias_gradient(compiler, node, &layout);
}

sh_status sh_onednn_linear(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    problem p;
    dnnl_matmul_desc_t operation;
    dnnl_primitive_desc_t chosen;
    if (!describe(&p, sh_compiler_graph(compiler), node))
        return SH_OK;
    SH_TRY(sh_onednn_check(dnnl_matmul_desc_init(&operation, &p.A, &p.B, &p.bias, &p.C),
                           "describing a matrix product"));
    SH_TRY(sh_onednn_choose(&chosen, &operation, NULL));
    if (chosen == NULL || !sh_onednn_is(chosen, "brg")) {
        sh_onednn_drop(&chosen);
        return SH_OK;
    }
    *taken = true;
    SH_TRY(sh_onednn_emit_as(compiler, node, dense_op(node->op), chosen));
    return emit_bias(compiler, node);
}

sh_status sh_onednn_pointwise(sh_compiler *compiler, const sh_node *node, bool *taken)
{
    const sh_graph *graph = sh_compiler_graph(compiler);
    const sh_attributes *a = &node->attributes;
    const bool is_weight = node->op == SH_OP_conv2d_grad_weight;
    const size_t *w = sh_graph_type(graph, is_weight ? node->out[0] : node->in[1])->shape.dim;
    const bool is_pointwise = a->groups == 1 && w[2] * w[3] == 1 && a->stride[0] == 1 &&
                              a->stride[1] == 1 && a->padding[0] == 0 && a->padding[1] == 0;
    if (!is_pointwise || (is_weight && w[0] > w[1] && w[0] * w[1] < FEW_WEIGHTS))
        return SH_OK;
    return sh_onednn_linear(compiler, node, taken);
}
