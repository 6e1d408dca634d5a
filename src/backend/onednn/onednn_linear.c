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
 */
#include "backend/onednn/primitive.h"

/* A product C = A B (+ bias). */
typedef struct problem {
    dnnl_memory_desc_t A, B, C, bias;
} problem;

static bool describe_matrix(dnnl_memory_desc_t *md, size_t rows, size_t columns, bool transposed)
{
    const sh_type type = {SH_F32, sh_shape_of(2, (size_t[]){rows, columns})};
    return sh_onednn_md(md, &type, transposed ? dnnl_ba : dnnl_ab);
}

static bool describe(problem *p, const sh_graph *graph, const sh_node *node)
{
    const size_t *first = sh_graph_type(graph, node->in[0])->shape.dim;
    const size_t *second = sh_graph_type(graph, node->in[1])->shape.dim;
    *p = (problem){.bias.ndims = 0}; /* none */
    if (node->op == SH_OP_linear_grad_input) {
        const size_t N = first[0], O = first[1], K = second[1];
        return describe_matrix(&p->A, N, O, false) && describe_matrix(&p->B, O, K, false) &&
               describe_matrix(&p->C, N, K, false);
    }
    if (node->op == SH_OP_linear_grad_weight) {
        const size_t N = first[0], K = first[1], O = second[1];
        return describe_matrix(&p->A, O, N, true) && describe_matrix(&p->B, N, K, false) &&
               describe_matrix(&p->C, O, K, false);
    }
    const size_t N = first[0], K = first[1], O = second[0];
    return describe_matrix(&p->A, N, K, false) && describe_matrix(&p->B, K, O, true) &&
           describe_matrix(&p->C, N, O, false) &&
           (node->input_count < 3 || describe_matrix(&p->bias, 1, O, false));
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
    SH_TRY(sh_onednn_emit(compiler, node, chosen));
    return node->op == SH_OP_linear_grad_weight && node->output_count > 1
               ? sh_onednn_emit_bias_gradient(compiler, node, NULL)
               : SH_OK;
}
