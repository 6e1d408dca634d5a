/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums and products element by element. scale multiplies x [D0 .. Dk, ...] by b [D0 .. Dk]: a
 * number for each sample, or for each channel of each sample.
 */
#include "graph/graph.h"

static sh_status expect_float(const char *op, const sh_type *type)
{
    return sh_op_expect(op, "the input", type, SH_F32, type->shape.rank);
}

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
    .over = SH_OVER(0) | SH_OVER(1),
    .infer = infer_add,
    .grad = grad_add,
    .each_flops = 1,
};

static sh_status infer_multiply(const sh_attributes *a, const sh_type *in, uint32_t count,
                                sh_type *out)
{
    (void)count;
    (void)a;
    out[0] = in[0];
    SH_TRY(expect_float("multiply", &in[0]));
    return sh_op_expect_same("multiply", "a", &in[0], "b", &in[1]);
}

static void grad_multiply(sh_graph *graph, const sh_node *node, const sh_value_id *dout,
                          const bool *wanted, sh_value_id *din)
{
    for (int i = 0; i < 2; i++)
        if (wanted[i])
            din[i] = sh_graph_add(graph, SH_OP_multiply, NULL,
                                  (sh_value_id[]){dout[0], node->in[1 - i]}, NULL);
}

const sh_op_def sh_op_multiply = {
    .name = "multiply",
    .input_count = 2,
    .output_count = 1,
    .over = SH_OVER(0) | SH_OVER(1),
    .infer = infer_multiply,
    .grad = grad_multiply,
    .each_flops = 1,
};

/* b has x's leading dimensions. */
static sh_status expect_leading(const char *op, const sh_type *x, const sh_type *b)
{
    SH_TRY(expect_float(op, x));
    const sh_type leading = {
        SH_F32,
        sh_shape_of(b->shape.rank < x->shape.rank ? b->shape.rank : x->shape.rank, x->shape.dim)};
    return sh_op_expect_same(op, "b", b, "the beginning of x", &leading);
}

static sh_status infer_scale(const sh_attributes *a, const sh_type *in, uint32_t count,
                             sh_type *out)
{
    (void)count;
    (void)a;
    out[0] = in[0];
    return expect_leading("scale", &in[0], &in[1]);
}

static void grad_scale(sh_graph *graph, const sh_node *node, const sh_value_id *dout,
                       const bool *wanted, sh_value_id *din)
{
    if (wanted[1]) {
        const sh_attributes attributes = {.shape = sh_graph_type(graph, node->in[1])->shape};
        din[1] = sh_graph_add(graph, SH_OP_scale_grad, &attributes,
                              (sh_value_id[]){dout[0], node->in[0]}, NULL);
    }
    if (wanted[0])
        din[0] =
            sh_graph_add(graph, SH_OP_scale, NULL, (sh_value_id[]){dout[0], node->in[1]}, NULL);
}

const sh_op_def sh_op_scale = {
    .name = "scale",
    .input_count = 2,
    .output_count = 1,
    .over = SH_OVER(0),
    .infer = infer_scale,
    .grad = grad_scale,
    .each_flops = 1,
};

static sh_status infer_scale_grad(const sh_attributes *a, const sh_type *in, uint32_t count,
                                  sh_type *out)
{
    (void)count;
    out[0] = (sh_type){SH_F32, a->shape};
    SH_TRY(expect_leading("scale_grad", &in[0], &out[0]));
    return sh_op_expect_same("scale_grad", "dy", &in[0], "x", &in[1]);
}

const sh_op_def sh_op_scale_grad = {
    .name = "scale_grad",
    .input_count = 2,
    .output_count = 1,
    .infer = infer_scale_grad,
    .each_flops = 2,
};
