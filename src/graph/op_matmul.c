/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products: a [M, K] b [K, N] -> y [M, N], or each of a batch, [B, M, K] [B, K, N] ->
 * [B, M, N]. With transposed[0] a is given as [.., K, M], with transposed[1] b as [.., N, K]; so
 * the gradients are products too, and nothing is ever transposed in memory.
 */
#include "graph/graph.h"

static sh_status infer(const sh_attributes *attributes, const sh_type *in, uint32_t count,
                       sh_type *out)
{
    (void)count;
    char a_text[SH_SHAPE_TEXT], b_text[SH_SHAPE_TEXT];
    const size_t rank = in[0].shape.rank;
    if (rank != 2 && rank != 3)
        return sh_fail(SH_INVALID, "matmul: a is %s, expected a matrix or a batch of them",
                       sh_shape_print(&in[0].shape, a_text));
    SH_TRY(sh_op_expect("matmul", "a", &in[0], SH_F32, rank));
    SH_TRY(sh_op_expect("matmul", "b", &in[1], SH_F32, rank));
    const size_t *a = in[0].shape.dim + rank - 2, *b = in[1].shape.dim + rank - 2;
    const bool ta = attributes->transposed[0], tb = attributes->transposed[1];
    if (a[ta ? 0 : 1] != b[tb ? 1 : 0] || (rank == 3 && in[0].shape.dim[0] != in[1].shape.dim[0]))
        return sh_fail(SH_INVALID, "matmul: %s%s and %s%s cannot be multiplied",
                       sh_shape_print(&in[0].shape, a_text), ta ? " transposed" : "",
                       sh_shape_print(&in[1].shape, b_text), tb ? " transposed" : "");
    out[0] = in[0];
    out[0].shape.dim[rank - 2] = a[ta ? 1 : 0];
    out[0].shape.dim[rank - 1] = b[tb ? 0 : 1];
    return sh_shape_check(&out[0].shape);
}

static sh_value_id product(sh_graph *graph, sh_value_id a, bool a_transposed, sh_value_id b,
                           bool b_transposed)
{
    const sh_attributes attributes = {.transposed = {a_transposed, b_transposed}};
    return sh_graph_add(graph, SH_OP_matmul, &attributes, (sh_value_id[]){a, b}, NULL);
}

/* With A and B as multiplied: dA = dy B^T and dB = A^T dy; of what is given transposed, the
 * transposed of these, dA^T = B dy^T and dB^T = dy^T A. */
static void grad(sh_graph *graph, const sh_node *node, const sh_value_id *dout, const bool *wanted,
                 sh_value_id *din)
{
    const sh_value_id a = node->in[0], b = node->in[1], dy = dout[0];
    const bool ta = node->attributes.transposed[0], tb = node->attributes.transposed[1];
    if (wanted[1])
        din[1] = tb ? product(graph, dy, true, a, ta) : product(graph, a, !ta, dy, false);
    if (wanted[0])
        din[0] = ta ? product(graph, b, tb, dy, true) : product(graph, dy, false, b, !tb);
}

static double flops(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    const size_t rank = in[0].shape.rank;
    return 2.0 * (double)sh_shape_count(&out[0].shape) *
           (double)in[0].shape.dim[a->transposed[0] ? rank - 2 : rank - 1];
}

const sh_op_def sh_op_matmul = {
    .name = "matmul",
    .input_count = 2,
    .output_count = 1,
    .infer = infer,
    .grad = grad,
    .flops = flops,
};
