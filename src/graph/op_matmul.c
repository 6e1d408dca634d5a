/* SPDX-License-Identifier: Apache-2.0 */
/*
 * a [M, K] b [K, N] -> y [M, N], or a batch of them, [B, M, K] [B, K, N] -> [B, M, N]. With
 * transposed[0] a is stored as [.., K, M], with transposed[1] b as [.., N, K], so the gradients are
 * matmuls too.
 */
#include "graph/graph.h"

static sh_status infer(const sh_op_types *t)
{
    const sh_shape *a_shape = &t->in[0].shape, *b_shape = &t->in[1].shape;
    char a_text[SH_SHAPE_TEXT], b_text[SH_SHAPE_TEXT];
    const size_t rank = a_shape->rank;
    if (rank != 2 && rank != 3)
        return sh_fail(SH_INVALID, "matmul: a is %s, expected a matrix or a batch of them",
                       sh_shape_print(a_shape, a_text));
    SH_TRY(sh_op_expect(t->op, "a", &t->in[0], SH_F32, rank));
    SH_TRY(sh_op_expect(t->op, "b", &t->in[1], SH_F32, rank));
    const size_t *a = a_shape->dim + rank - 2, *b = b_shape->dim + rank - 2;
    const bool ta = t->attributes->transposed[0], tb = t->attributes->transposed[1];
    if (a[ta ? 0 : 1] != b[tb ? 1 : 0] || (rank == 3 && a_shape->dim[0] != b_shape->dim[0]))
        return sh_fail(SH_INVALID, "matmul: %s%s and %s%s cannot be multiplied",
                       sh_shape_print(a_shape, a_text), ta ? " transposed" : "",
                       sh_shape_print(b_shape, b_text), tb ? " transposed" : "");
    t->out[0] = t->in[0];
    t->out[0].shape.dim[rank - 2] = a[ta ? 1 : 0];
    t->out[0].shape.dim[rank - 1] = b[tb ? 0 : 1];
    return sh_shape_check(&t->out[0].shape);
}

static sh_value_id product(sh_graph *graph, sh_value_id a, bool a_transposed, sh_value_id b,
                           bool b_transposed)
{
    const sh_attributes attributes = {.transposed = {a_transposed, b_transposed}};
    return sh_graph_add(graph, SH_OP_matmul, &attributes, (sh_value_id[]){a, b}, NULL);
}

/* With A and B as multiplied, dA = dy B^T and dB = A^T dy; for a transposed input dA^T = B dy^T and
 * dB^T = dy^T A. */
static void grad(const sh_op_backward *backward)
{
    const sh_node *node = backward->node;
    sh_graph *graph = backward->graph;
    const sh_value_id a = node->in[0], b = node->in[1], dy = backward->dout[0];
    const bool ta = node->attributes.transposed[0], tb = node->attributes.transposed[1];
    if (backward->wanted[1])
        backward->din[1] = tb ? product(graph, dy, true, a, ta) : product(graph, a, !ta, dy, false);
    if (backward->wanted[0])
        backward->din[0] = ta ? product(graph, b, tb, dy, true) : product(graph, dy, false, b, !tb);
}

static double flops(const sh_op_types *t)
{
    const sh_shape *a = &t->in[0].shape;
    return 2.0 * (double)sh_shape_count(&t->out[0].shape) *
           (double)a->dim[t->attributes->transposed[0] ? a->rank - 2 : a->rank - 1];
}

const sh_op_def sh_op_matmul = {.infer = infer, .grad = grad, .flops = flops};
