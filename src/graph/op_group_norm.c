/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Normalisation within a sample: layer_norm over the last dimension (Ba, Kiros, Hinton 2016), x
 * [..., K], w, b [K]; group_norm over groups of channels (Wu, He 2018), x [N, C, ...], w, b [C],
 * the attribute `groups`. With xh = (x - mean) / sqrt(variance + epsilon), n elements that share a
 * mean, sums over these, and g = dy w:
 *
 *     y = xh w + b      dx = (g - (sum g + xh sum g xh) / n) / sqrt(variance + epsilon)
 *
 * The variance is the biased one. The gradient measures x again, which is less than keeping what
 * was measured is worth.
 */
#include "graph/graph.h"

static sh_status check_number(const char *op, const sh_attributes *a)
{
    if (!(a->number > 0))
        return sh_fail(SH_INVALID, "%s: epsilon is above 0", op);
    return SH_OK;
}

/* x has the dimension `axis`, of which weights have one number each. */
static sh_status expect_layer(const char *op, const sh_attributes *a, const sh_type *x,
                              sh_type *weights)
{
    if (x->shape.rank < 1)
        return sh_fail(SH_INVALID, "%s: the input is a scalar, expected [..., K]", op);
    SH_TRY(sh_op_expect(op, "the input", x, SH_F32, x->shape.rank));
    *weights = (sh_type){SH_F32, sh_shape_of(1, &x->shape.dim[x->shape.rank - 1])};
    return check_number(op, a);
}

static sh_status expect_groups(const char *op, const sh_attributes *a, const sh_type *x,
                               sh_type *weights)
{
    char text[SH_SHAPE_TEXT];
    if (x->shape.rank < 2)
        return sh_fail(SH_INVALID, "%s: the input is %s, expected [N, C, ...]", op,
                       sh_shape_print(&x->shape, text));
    SH_TRY(sh_op_expect(op, "the input", x, SH_F32, x->shape.rank));
    if (a->groups == 0 || x->shape.dim[1] % a->groups != 0)
        return sh_fail(SH_INVALID, "%s: %zu channels do not make %zu groups", op, x->shape.dim[1],
                       a->groups);
    *weights = (sh_type){SH_F32, sh_shape_of(1, &x->shape.dim[1])};
    return check_number(op, a);
}

#define NORM(op, expect)                                                                           \
    static sh_status infer_##op(const sh_attributes *a, const sh_type *in, uint32_t count,         \
                                sh_type *out)                                                      \
    {                                                                                              \
        (void)count;                                                                               \
        sh_type weights;                                                                           \
        SH_TRY(expect(#op, a, &in[0], &weights));                                                  \
        SH_TRY(sh_op_expect_same(#op, "the weight", &in[1], "what it scales", &weights));          \
        out[0] = in[0];                                                                            \
        return sh_op_expect_same(#op, "the bias", &in[2], "what it shifts", &weights);             \
    }                                                                                              \
    static void grad_##op(sh_graph *graph, const sh_node *node, const sh_value_id *dout,           \
                          const bool *wanted, sh_value_id *din)                                    \
    {                                                                                              \
        sh_value_id out[SH_MAX_OUTPUTS];                                                           \
        (void)wanted;                                                                              \
        sh_graph_add(graph, SH_OP_##op##_grad, &node->attributes,                                  \
                     (sh_value_id[]){dout[0], node->in[0], node->in[1]}, out);                     \
        for (int i = 0; i < 3; i++)                                                                \
            din[i] = out[i];                                                                       \
    }                                                                                              \
    const sh_op_def sh_op_##op = {                                                                 \
        .name = #op,                                                                               \
        .input_count = 3,                                                                          \
        .output_count = 1,                                                                         \
        .infer = infer_##op,                                                                       \
        .grad = grad_##op,                                                                         \
        .each_flops = 8,                                                                           \
    };                                                                                             \
    static sh_status infer_##op##_grad(const sh_attributes *a, const sh_type *in, uint32_t count,  \
                                       sh_type *out)                                               \
    {                                                                                              \
        (void)count;                                                                               \
        SH_TRY(expect(#op "_grad", a, &in[0], &out[1]));                                           \
        SH_TRY(sh_op_expect_same(#op "_grad", "dy", &in[0], "the input", &in[1]));                 \
        out[0] = in[0];                                                                            \
        out[2] = out[1];                                                                           \
        return sh_op_expect_same(#op "_grad", "the weight", &in[2], "what it scales", &out[1]);    \
    }                                                                                              \
    const sh_op_def sh_op_##op##_grad = {                                                          \
        .name = #op "_grad",                                                                       \
        .input_count = 3,                                                                          \
        .output_count = 3,                                                                         \
        .infer = infer_##op##_grad,                                                                \
        .each_flops = 16,                                                                          \
    };
NORM(layer_norm, expect_layer)
NORM(group_norm, expect_groups)
