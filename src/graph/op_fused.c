/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that only sh_graph_fuse creates. They have no gradients.
 *
 * relu_sum_grad: y, a, b -> dx of an activation (the attribute) with result y, where dy = a + b.
 */
#include "graph/graph.h"

static sh_status infer(const sh_op_types *t)
{
    if (t->attributes->activation == SH_ACTIVATION_NONE)
        return sh_fail(SH_INVALID, "relu_sum_grad: the activation is missing");
    SH_TRY(sh_op_expect(t->op, "y", &t->in[0], SH_F32, t->in[0].shape.rank));
    SH_TRY(sh_op_expect_same(t->op, "a", &t->in[1], "y", &t->in[0]));
    SH_TRY(sh_op_expect_same(t->op, "b", &t->in[2], "y", &t->in[0]));
    t->out[0] = t->in[0];
    return SH_OK;
}

const sh_op_def sh_op_relu_sum_grad = {
    .over = SH_OVER(1) | SH_OVER(2),
    .infer = infer,
    .each_flops = 2,
};
