/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations: element-wise functions, and softmax and log_softmax along the dimension `axis`.
 *
 * The gradient is computed from the result y where possible, so that the input need not be kept:
 * relu, relu6, leaky_relu (whose slope, the attribute `number`, must not be negative), sigmoid,
 * tanh, softmax, log_softmax. gelu is the exact form with erf. At kinks the gradients are those of
 * PyTorch 1.13: the flat side's for relu, relu6 and hard_sigmoid, the slope for leaky_relu, and the
 * middle piece's for hard_swish at -3 and 3.
 */
#include "graph/graph.h"

static sh_status infer_each(const sh_op_types *t)
{
    t->out[0] = t->in[0];
    SH_TRY(sh_op_expect(t->op, "the input", &t->in[0], SH_F32, t->in[0].shape.rank));
    if (!(t->attributes->number >= 0)) /* y must have the sign of x */
        return sh_fail(SH_INVALID, "%s: the slope %g is negative", t->op,
                       (double)t->attributes->number);
    return SH_OK;
}

static sh_status infer_from_x(const sh_op_types *t)
{
    SH_TRY(infer_each(t));
    return sh_op_expect_same(t->op, "dy", &t->in[0], "x", &t->in[1]);
}

static sh_status infer_from_y(const sh_op_types *t)
{
    SH_TRY(infer_each(t));
    return sh_op_expect_same(t->op, "dy", &t->in[0], "y", &t->in[1]);
}

static sh_status infer_softmax(const sh_op_types *t)
{
    char text[SH_SHAPE_TEXT];
    SH_TRY(infer_each(t));
    if (t->attributes->axis >= t->in[0].shape.rank)
        return sh_fail(SH_INVALID, "%s: %s has no dimension %zu", t->op,
                       sh_shape_print(&t->in[0].shape, text), t->attributes->axis);
    return SH_OK;
}

static sh_status infer_softmax_grad(const sh_op_types *t)
{
    SH_TRY(infer_from_y(t));
    return infer_softmax(t);
}

/* The gradient comes from dy and `kept`. apart: 1 if element-wise. work: flops per element. */
#define ACTIVATION(op, infer_op, infer_grad, kept, apart, work)                                    \
    static void grad_##op(const sh_op_backward *b)                                                 \
    {                                                                                              \
        sh_graph_grad_of_first(b, SH_OP_##op##_grad, kept);                                        \
    }                                                                                              \
    const sh_op_def sh_op_##op = {                                                                 \
        .over = (apart)*SH_OVER(0),                                                                \
        .infer = infer_op,                                                                         \
        .grad = grad_##op,                                                                         \
        .each_flops = work,                                                                        \
    };                                                                                             \
    const sh_op_def sh_op_##op##_grad = {                                                          \
        .over = (apart) * (SH_OVER(0) | SH_OVER(1)),                                               \
        .infer = infer_grad,                                                                       \
        .each_flops = work,                                                                        \
    };
#define FROM_X(op, work) ACTIVATION(op, infer_each, infer_from_x, b->node->in[0], 1, work)
#define FROM_Y(op, work) ACTIVATION(op, infer_each, infer_from_y, b->node->out[0], 1, work)
FROM_Y(relu, 1)
FROM_Y(relu6, 2)
FROM_Y(leaky_relu, 2)
FROM_Y(sigmoid, 20)
FROM_Y(tanh, 20)
FROM_X(silu, 22)
FROM_X(gelu, 40)
FROM_X(hard_sigmoid, 4)
FROM_X(hard_swish, 5)
ACTIVATION(softmax, infer_softmax, infer_softmax_grad, b->node->out[0], 0, 20)
ACTIVATION(log_softmax, infer_softmax, infer_softmax_grad, b->node->out[0], 0, 20)
