/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisation within a sample. layer_norm normalises over the last dimension (Ba, Kiros, Hinton
 * 2016): x [..., K], w, b [K]. group_norm normalises over `groups` groups of channels (Wu, He
 * 2018): x [N, C, ...], w, b [C]. With xh = (x - mean) / sqrt(variance + epsilon), sums over the n
 * elements that share a mean, and g = dy w:
 *
 *     y = xh w + b      dx = (g - (sum g + xh sum g xh) / n) / sqrt(variance + epsilon)
 *
 * The variance is the biased one. The gradient computes mean and variance of x again, which is
 * cheaper than keeping them.
 */
#include "graph/graph.h"

static sh_status check_number(const sh_op_types *t)
{
    if (!(t->attributes->number > 0))
        return sh_fail(SH_INVALID, "%s: epsilon must be above 0", t->op);
    return SH_OK;
}

/* Sets *weights to the type of weight and bias. */
static sh_status expect_layer(const sh_op_types *t, sh_type *weights)
{
    const sh_type *x = &t->in[0];
    if (x->shape.rank < 1)
        return sh_fail(SH_INVALID, "%s: the input is a scalar, expected [..., K]", t->op);
    SH_TRY(sh_op_expect(t->op, "the input", x, SH_F32, x->shape.rank));
    *weights = (sh_type){SH_F32, sh_shape_of(1, &x->shape.dim[x->shape.rank - 1])};
    return check_number(t);
}

static sh_status expect_groups(const sh_op_types *t, sh_type *weights)
{
    const sh_type *x = &t->in[0];
    const size_t groups = t->attributes->groups;
    char text[SH_SHAPE_TEXT];
    if (x->shape.rank < 2)
        return sh_fail(SH_INVALID, "%s: the input is %s, expected [N, C, ...]", t->op,
                       sh_shape_print(&x->shape, text));
    SH_TRY(sh_op_expect(t->op, "the input", x, SH_F32, x->shape.rank));
    if (groups == 0 || x->shape.dim[1] % groups != 0)
        return sh_fail(SH_INVALID, "%s: %zu channels do not divide into %zu groups", t->op,
                       x->shape.dim[1], groups);
    *weights = (sh_type){SH_F32, sh_shape_of(1, &x->shape.dim[1])};
    return check_number(t);
}

#define NORM(op, expect)                                                                           \
    static sh_status infer_##op(const sh_op_types *t)                                              \
    {                                                                                              \
        sh_type weights;                                                                           \
        SH_TRY(expect(t, &weights));                                                               \
        SH_TRY(sh_op_expect_same(#op, "the weight", &t->in[1], "what it scales", &weights));       \
        t->out[0] = t->in[0];                                                                      \
        return sh_op_expect_same(#op, "the bias", &t->in[2], "what it shifts", &weights);          \
    }                                                                                              \
    static void grad_##op(const sh_op_backward *b)                                                 \
    {                                                                                              \
        sh_value_id out[SH_MAX_OUTPUTS];                                                           \
        const sh_value_id in[] = {b->dout[0], b->node->in[0], b->node->in[1]};                     \
        sh_graph_add(b->graph, SH_OP_##op##_grad, &b->node->attributes, in, out);                  \
        for (int i = 0; i < 3; i++)                                                                \
            b->din[i] = out[i];                                                                    \
    }                                                                                              \
    const sh_op_def sh_op_##op = {.infer = infer_##op, .grad = grad_##op, .each_flops = 8};        \
    static sh_status infer_##op##_grad(const sh_op_types *t)                                       \
    {                                                                                              \
        SH_TRY(expect(t, &t->out[1]));                                                             \
        SH_TRY(sh_op_expect_same(#op "_grad", "dy", &t->in[0], "the input", &t->in[1]));           \
        t->out[0] = t->in[0];                                                                      \
        t->out[2] = t->out[1];                                                                     \
        return sh_op_expect_same(#op "_grad", "the weight", &t->in[2], "what it scales",           \
                                 &t->out[1]);                                                      \
    }                                                                                              \
    const sh_op_def sh_op_##op##_grad = {.infer = infer_##op##_grad, .each_flops = 16};
NORM(layer_norm, expect_layer)
NORM(group_norm, expect_groups)
