/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scale multiplies x [D0 .. Dk, ...] by b [D0 .. Dk], for example one number per channel.
 */
#include "graph/graph.h"

static sh_status infer_pair(const sh_op_types *t)
{
    t->out[0] = t->in[0];
    SH_TRY(sh_op_expect(t->op, "the input", &t->in[0], SH_F32, t->in[0].shape.rank));
    return sh_op_expect_same(t->op, "a", &t->in[0], "b", &t->in[1]);
}

static void grad_add(const sh_op_backward *b)
{
    for (int i = 0; i < 2; i++)
        if (b->wanted[i])
            b->din[i] = b->dout[0];
}

const sh_op_def sh_op_add = {
    .over = SH_OVER(0) | SH_OVER(1),
    .infer = infer_pair,
    .grad = grad_add,
    .each_flops = 1,
};

static void grad_subtract(const sh_op_backward *b)
{
    if (b->wanted[0])
        b->din[0] = b->dout[0];
    if (b->wanted[1])
        b->din[1] = sh_graph_add(b->graph, SH_OP_negate, NULL, b->dout, NULL);
}

const sh_op_def sh_op_subtract = {
    .over = SH_OVER(0) | SH_OVER(1),
    .infer = infer_pair,
    .grad = grad_subtract,
    .each_flops = 1,
};

static sh_status infer_negate(const sh_op_types *t)
{
    t->out[0] = t->in[0];
    return sh_op_expect(t->op, "the input", &t->in[0], SH_F32, t->in[0].shape.rank);
}

static void grad_negate(const sh_op_backward *b)
{
    b->din[0] = sh_graph_add(b->graph, SH_OP_negate, NULL, b->dout, NULL);
}

const sh_op_def sh_op_negate = {
    .over = SH_OVER(0),
    .infer = infer_negate,
    .grad = grad_negate,
    .each_flops = 1,
};

static void grad_multiply(const sh_op_backward *b)
{
    for (int i = 0; i < 2; i++)
        if (b->wanted[i])
            b->din[i] = sh_graph_add(b->graph, SH_OP_multiply, NULL,
                                     (sh_value_id[]){b->dout[0], b->node->in[1 - i]}, NULL);
}

const sh_op_def sh_op_multiply = {
    .over = SH_OVER(0) | SH_OVER(1),
    .infer = infer_pair,
    .grad = grad_multiply,
    .each_flops = 1,
};

static sh_status expect_leading(const sh_op_types *t, const sh_type *x, const sh_type *b)
{
    SH_TRY(sh_op_expect(t->op, "the input", x, SH_F32, x->shape.rank));
    const size_t rank = b->shape.rank < x->shape.rank ? b->shape.rank : x->shape.rank;
    const sh_type leading = {SH_F32, sh_shape_of(rank, x->shape.dim)};
    return sh_op_expect_same(t->op, "b", b, "the beginning of x", &leading);
}

static sh_status infer_scale(const sh_op_types *t)
{
    t->out[0] = t->in[0];
    return expect_leading(t, &t->in[0], &t->in[1]);
}

static void grad_scale(const sh_op_backward *b)
{
    const sh_value_id x = b->node->in[0], factor = b->node->in[1], dy = b->dout[0];
    if (b->wanted[1]) {
        const sh_attributes attributes = {.shape = sh_graph_type(b->graph, factor)->shape};
        b->din[1] =
            sh_graph_add(b->graph, SH_OP_scale_grad, &attributes, (sh_value_id[]){dy, x}, NULL);
    }
    if (b->wanted[0])
        b->din[0] = sh_graph_add(b->graph, SH_OP_scale, NULL, (sh_value_id[]){dy, factor}, NULL);
}

const sh_op_def sh_op_scale = {
    .over = SH_OVER(0),
    .infer = infer_scale,
    .grad = grad_scale,
    .each_flops = 1,
};

static sh_status infer_scale_grad(const sh_op_types *t)
{
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    SH_TRY(expect_leading(t, &t->in[0], &t->out[0]));
    return sh_op_expect_same(t->op, "dy", &t->in[0], "x", &t->in[1]);
}

const sh_op_def sh_op_scale_grad = {.infer = infer_scale_grad, .each_flops = 2};
