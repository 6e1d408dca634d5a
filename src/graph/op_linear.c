/* SPDX-License-Identifier: Apache-2.0 */
/* Dense layer: x [N, I], w [O, I], b [O] (optional), y [N, O] = x w^T + b. */
#include "graph/graph.h"

static sh_status infer(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)a;
    SH_TRY(sh_op_expect("linear", "the input", &in[0], SH_F32, 2));
    SH_TRY(sh_op_expect("linear", "the weight", &in[1], SH_F32, 2));
    if (count > 2)
        SH_TRY(sh_op_expect("linear", "the bias", &in[2], SH_F32, 1));
    const size_t *x = in[0].shape.dim, *w = in[1].shape.dim;
    if (x[1] != w[1])
        return sh_fail(SH_INVALID, "linear: an input of %zu features for weights of %zu", x[1],
                       w[1]);
    if (count > 2 && in[2].shape.dim[0] != w[0])
        return sh_fail(SH_INVALID, "linear: bias of %zu for %zu outputs", in[2].shape.dim[0], w[0]);
    out[0] = (sh_type){SH_F32, sh_shape_of(2, (size_t[]){x[0], w[0]})};
    return SH_OK;
}

static void grad(sh_graph *graph, const sh_node *node, const sh_value_id *dout, const bool *wanted,
                 sh_value_id *din)
{
    const sh_value_id x = node->in[0], w = node->in[1], dy = dout[0];
    sh_value_id out[SH_MAX_OUTPUTS];
    if (wanted[1] || (node->input_count > 2 && wanted[2])) {
        const sh_attributes attributes = {.no_bias = node->input_count < 3};
        sh_graph_add(graph, SH_OP_linear_grad_weight, &attributes, (sh_value_id[]){x, dy}, out);
        din[1] = out[0];
        din[2] = out[1];
    }
    if (wanted[0])
        din[0] = sh_graph_add(graph, SH_OP_linear_grad_input, NULL, (sh_value_id[]){dy, w}, out);
}

static double flops(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)a;
    return 2.0 * (double)sh_shape_count(&in[1].shape) * (double)out[0].shape.dim[0];
}

const sh_op_def sh_op_linear = {
    .name = "linear",
    .input_count = 3,
    .output_count = 1,
    .optional = 1, /* the bias */
    .infer = infer,
    .grad = grad,
    .flops = flops,
};

static sh_status infer_grad_input(const sh_attributes *a, const sh_type *in, uint32_t count,
                                  sh_type *out)
{
    (void)count;
    (void)a;
    SH_TRY(sh_op_expect("linear_grad_input", "dy", &in[0], SH_F32, 2));
    SH_TRY(sh_op_expect("linear_grad_input", "the weight", &in[1], SH_F32, 2));
    if (in[0].shape.dim[1] != in[1].shape.dim[0])
        return sh_fail(SH_INVALID, "linear_grad_input: dy of %zu outputs for weights of %zu",
                       in[0].shape.dim[1], in[1].shape.dim[0]);
    out[0] = (sh_type){SH_F32, sh_shape_of(2, (size_t[]){in[0].shape.dim[0], in[1].shape.dim[1]})};
    return SH_OK;
}

static double flops_grad_input(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)a;
    (void)out;
    return 2.0 * (double)sh_shape_count(&in[1].shape) * (double)in[0].shape.dim[0];
}

const sh_op_def sh_op_linear_grad_input = {
    .name = "linear_grad_input",
    .input_count = 2,
    .output_count = 1,
    .infer = infer_grad_input,
    .flops = flops_grad_input,
};

static uint32_t weight_outputs(const sh_attributes *a)
{
    return a->no_bias ? 1 : 2;
}

static sh_status infer_grad_weight(const sh_attributes *a, const sh_type *in, uint32_t count,
                                   sh_type *out)
{
    (void)count;
    SH_TRY(sh_op_expect("linear_grad_weight", "the input", &in[0], SH_F32, 2));
    SH_TRY(sh_op_expect("linear_grad_weight", "dy", &in[1], SH_F32, 2));
    if (in[0].shape.dim[0] != in[1].shape.dim[0])
        return sh_fail(SH_INVALID, "linear_grad_weight: %zu samples of input, %zu of dy",
                       in[0].shape.dim[0], in[1].shape.dim[0]);
    const size_t outputs = in[1].shape.dim[1], inputs = in[0].shape.dim[1];
    out[0] = (sh_type){SH_F32, sh_shape_of(2, (size_t[]){outputs, inputs})};
    if (!a->no_bias)
        out[1] = (sh_type){SH_F32, sh_shape_of(1, (size_t[]){outputs})};
    return SH_OK;
}

static double flops_grad_weight(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)a;
    return 2.0 * (double)sh_shape_count(&out[0].shape) * (double)in[0].shape.dim[0];
}

const sh_op_def sh_op_linear_grad_weight = {
    .name = "linear_grad_weight",
    .input_count = 2,
    .output_count = 2,
    .outputs = weight_outputs,
    .infer = infer_grad_weight,
    .flops = flops_grad_weight,
};
