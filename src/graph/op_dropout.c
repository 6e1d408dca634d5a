/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Dropout (Srivastava et al. 2014): sets each element of x [N, ...] to 0 with probability p (the
 * attribute `number`) and divides the others by 1 - p. The choice is a function of the sample's
 * keys [N, 2], the attribute `layer` and the element's index in the sample. So it does not depend
 * on device or grain, and the gradient is the same operator on dy.
 */
#include "graph/graph.h"

static sh_status infer(const sh_op_types *t)
{
    const sh_type *x = &t->in[0];
    const float p = t->attributes->number;
    if (x->shape.rank == 0)
        return sh_fail(SH_INVALID, "dropout: the input is a scalar, expected [N, ...]");
    SH_TRY(sh_op_expect(t->op, "the input", x, SH_F32, x->shape.rank));
    const sh_type keys = {SH_I32, sh_shape_of(2, (size_t[]){x->shape.dim[0], 2})};
    SH_TRY(sh_op_expect_same(t->op, "the keys", &t->in[1], "two words for each sample", &keys));
    if (!(p >= 0 && p < 1))
        return sh_fail(SH_INVALID, "dropout: the probability %g is not in [0, 1)", (double)p);
    t->out[0] = *x;
    return SH_OK;
}

static void grad(const sh_op_backward *b)
{
    if (b->wanted[0])
        sh_graph_grad_of_first(b, SH_OP_dropout, b->node->in[1]);
}

const sh_op_def sh_op_dropout = {
    .over = SH_OVER(0),
    .infer = infer,
    .grad = grad,
    .each_flops = 12, /* about 10 rounds of 2 products per 4 elements */
};
