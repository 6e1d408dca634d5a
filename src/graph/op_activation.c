/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activations: functions of each element by itself, and softmax along the dimension `axis`.
 *
 * Where the result tells the gradient, it is found from the result, so that the input need not be
 * kept: relu, relu6, leaky_relu (its slope, the attribute `number`, is not negative), sigmoid,
 * tanh, softmax. The others' is found from the input. gelu is the exact form with erf, not the
 * approximation by tanh. At kinks the gradients are PyTorch's (1.13): that of the zero side for
 * relu, relu6 and hard_sigmoid, the slope for leaky_relu; hard_swish has the middle piece's at -3
 * and 3.
 */
#include "graph/graph.h"

static sh_status expect_float(const char *op, const sh_type *type)
{
    return sh_op_expect(op, "the input", type, SH_F32, type->shape.rank);
}

static sh_status check_nothing(const char *op, const sh_attributes *a, const sh_shape *x)
{
    (void)op;
    (void)a;
    (void)x;
    return SH_OK;
}

static sh_status check_slope(const char *op, const sh_attributes *a, const sh_shape *x)
{
    (void)x;
    if (!(a->number >= 0)) /* the sign of y could not tell that of x */
        return sh_fail(SH_INVALID, "%s: the slope %g is negative", op, (double)a->number);
    return SH_OK;
}

static sh_status check_axis(const char *op, const sh_attributes *a, const sh_shape *x)
{
    char text[SH_SHAPE_TEXT];
    if (a->axis >= x->rank)
        return sh_fail(SH_INVALID, "%s: %s has no dimension %zu", op, sh_shape_print(x, text),
                       a->axis);
    return SH_OK;
}

/*
 * kept: what the gradient is found from, with its name. apart: 1 where each element is by itself.
 * work: flops an element.
 */
#define ACTIVATION(op, kept, kept_name, check, apart, work)                                        \
    static sh_status infer_##op(const sh_attributes *a, const sh_type *in, uint32_t count,         \
                                sh_type *out)                                                      \
    {                                                                                              \
        (void)count;                                                                               \
        out[0] = in[0];                                                                            \
        SH_TRY(expect_float(#op, &in[0]));                                                         \
        return check(#op, a, &in[0].shape);                                                        \
    }                                                                                              \
    static void grad_##op(sh_graph *graph, const sh_node *node, const sh_value_id *dout,           \
                          const bool *wanted, sh_value_id *din)                                    \
    {                                                                                              \
        sh_value_id out[SH_MAX_OUTPUTS];                                                           \
        (void)wanted;                                                                              \
        din[0] = sh_graph_add(graph, SH_OP_##op##_grad, &node->attributes,                         \
                              (sh_value_id[]){dout[0], kept}, out);                                \
    }                                                                                              \
    const sh_op_def sh_op_##op = {                                                                 \
        .name = #op,                                                                               \
        .input_count = 1,                                                                          \
        .output_count = 1,                                                                         \
        .over = (apart)*SH_OVER(0),                                                                \
        .infer = infer_##op,                                                                       \
        .grad = grad_##op,                                                                         \
        .each_flops = work,                                                                        \
    };                                                                                             \
    static sh_status infer_##op##_grad(const sh_attributes *a, const sh_type *in, uint32_t count,  \
                                       sh_type *out)                                               \
    {                                                                                              \
        (void)count;                                                                               \
        out[0] = in[0];                                                                            \
        SH_TRY(expect_float(#op "_grad", &in[0]));                                                 \
        SH_TRY(sh_op_expect_same(#op "_grad", "dy", &in[0], kept_name, &in[1]));                   \
        return check(#op "_grad", a, &in[0].shape);                                                \
    }                                                                                              \
    const sh_op_def sh_op_##op##_grad = {                                                          \
        .name = #op "_grad",                                                                       \
        .input_count = 2,                                                                          \
        .output_count = 1,                                                                         \
        .over = (apart) * (SH_OVER(0) | SH_OVER(1)),                                               \
        .infer = infer_##op##_grad,                                                                \
        .each_flops = work,                                                                        \
    };
#define RESULT node->out[0], "y"
#define INPUT node->in[0], "x"
#define EXPAND(op, kept, check, apart, work) ACTIVATION_OF(op, kept, check, apart, work)
#define ACTIVATION_OF(op, ...) ACTIVATION(op, __VA_ARGS__)
EXPAND(relu, RESULT, check_nothing, 1, 1)
EXPAND(relu6, RESULT, check_nothing, 1, 2)
EXPAND(leaky_relu, RESULT, check_slope, 1, 2)
EXPAND(sigmoid, RESULT, check_nothing, 1, 20)
EXPAND(tanh, RESULT, check_nothing, 1, 20)
EXPAND(silu, INPUT, check_nothing, 1, 22)
EXPAND(gelu, INPUT, check_nothing, 1, 40)
EXPAND(hard_sigmoid, INPUT, check_nothing, 1, 4)
EXPAND(hard_swish, INPUT, check_nothing, 1, 5)
EXPAND(softmax, RESULT, check_axis, 0, 20)
