/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gradient is computed from x. At kinks it is PyTorch's: 0 for abs at 0, the middle piece's for
 * clip, and the outer pieces' for hard_sigmoid.
 */
#include "graph/formulas.h"
#include "graph/graph.h"

static sh_status infer(const sh_op_types *t)
{
    t->out[0] = t->in[0];
    if (t->attributes->function >= SH_UNARY_COUNT)
        return sh_fail(SH_INVALID, "%s: function %u is unknown", t->op, t->attributes->function);
    return sh_op_expect(t->op, "the input", &t->in[0], SH_F32, t->in[0].shape.rank);
}

static sh_status infer_grad(const sh_op_types *t)
{
    SH_TRY(infer(t));
    return sh_op_expect_same(t->op, "dy", &t->in[0], "x", &t->in[1]);
}

static void grad(const sh_op_backward *b)
{
    sh_graph_grad_of_first(b, SH_OP_unary_grad, b->node->in[0]);
}

const sh_op_def sh_op_unary = {
    .over = SH_OVER(0),
    .infer = infer,
    .grad = grad,
    .each_flops = 20,
};

const sh_op_def sh_op_unary_grad = {
    .over = SH_OVER(0) | SH_OVER(1),
    .infer = infer_grad,
    .each_flops = 20,
};
