/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that sh_graph_fuse makes of others; their gradients are taken before.
 *
 * relu_sum_grad: y, a, b -> dx, the gradient of an activation (the attribute) whose result y was
 * used twice, so that dy = a + b.
 */
#include "graph/graph.h"

static sh_status infer_relu_sum_grad(const sh_attributes *a, const sh_type *in, uint32_t count,
                                     sh_type *out)
{
    (void)count;
    if (a->activation == SH_ACTIVATION_NONE)
        return sh_fail(SH_INVALID, "relu_sum_grad: the activation is missing");
    SH_TRY(sh_op_expect("relu_sum_grad", "y", &in[0], SH_F32, in[0].shape.rank));
    SH_TRY(sh_op_expect_same("relu_sum_grad", "a", &in[1], "y", &in[0]));
    SH_TRY(sh_op_expect_same("relu_sum_grad", "b", &in[2], "y", &in[0]));
    out[0] = in[0];
    return SH_OK;
}

const sh_op_def sh_op_relu_sum_grad = {
    .name = "relu_sum_grad",
    .input_count = 3,
    .output_count = 1,
    .over = SH_OVER(1) | SH_OVER(2),
    .infer = infer_relu_sum_grad,
    .each_flops = 2,
};
