/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that work on each element by itself. */
#include "graph/graph.h"

static sh_status expect_float(const char *op, const sh_type *type)
{
    return sh_op_expect(op, "the input", type, SH_F32, type->shape.rank);
}

/* An activation whose gradient is found from its result. */
#define ACTIVATION(op)                                                                             \
    static sh_status infer_##op(const sh_attributes *a, const sh_type *in, uint32_t count,         \
                                sh_type *out)                                                      \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)count;                                                                               \
        out[0] = in[0];                                                                            \
        return expect_float(#op, &in[0]);                                                          \
    }                                                                                              \
    static void grad_##op(sh_graph *graph, const sh_node *node, const sh_value_id *dout,           \
                          const bool *wanted, sh_value_id *din)                                    \
    {                                                                                              \
        sh_value_id out[SH_MAX_OUTPUTS];                                                           \
        (void)wanted;                                                                              \
        din[0] = sh_graph_add(graph, SH_OP_##op##_grad, NULL,                                      \
                              (sh_value_id[]){dout[0], node->out[0]}, out);                        \
    }                                                                                              \
    const sh_op_def sh_op_##op = {                                                                 \
        .name = #op,                                                                               \
        .input_count = 1,                                                                          \
        .output_count = 1,                                                                         \
        .infer = infer_##op,                                                                       \
        .grad = grad_##op,                                                                         \
    };                                                                                             \
    static sh_status infer_##op##_grad(const sh_attributes *a, const sh_type *in, uint32_t count,  \
                                       sh_type *out)                                               \
    {                                                                                              \
        (void)a;                                                                                   \
        (void)count;                                                                               \
        out[0] = in[0];                                                                            \
        SH_TRY(expect_float(#op "_grad", &in[0]));                                                 \
        return sh_op_expect_same(#op "_grad", "dy", &in[0], "y", &in[1]);                          \
    }                                                                                              \
    const sh_op_def sh_op_##op##_grad = {                                                          \
        .name = #op "_grad",                                                                       \
        .input_count = 2,                                                                          \
        .output_count = 1,                                                                         \
        .infer = infer_##op##_grad,                                                                \
    };
ACTIVATION(relu)
ACTIVATION(relu6)

static sh_status infer_add(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    (void)a;
    out[0] = in[0];
    SH_TRY(expect_float("add", &in[0]));
    return sh_op_expect_same("add", "a", &in[0], "b", &in[1]);
}

static void grad_add(sh_graph *graph, const sh_node *node, const sh_value_id *dout,
                     const bool *wanted, sh_value_id *din)
{
    (void)graph;
    (void)node;
    for (int i = 0; i < 2; i++)
        if (wanted[i])
            din[i] = dout[0];
}

const sh_op_def sh_op_add = {
    .name = "add",
    .input_count = 2,
    .output_count = 1,
    .infer = infer_add,
    .grad = grad_add,
};
