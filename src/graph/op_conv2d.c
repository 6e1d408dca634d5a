/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 2-D convolution (cross-correlation, as in every framework) with stride, padding, dilation,
 * groups.
 *
 * x [N, C, H, W], w [O, C/groups, R, S], b [O] (optional), y [N, O, P, Q] with
 * P = floor((H + 2 padding - dilation (R - 1) - 1) / stride) + 1, and Q alike.
 */
#include "graph/graph.h"

/* One side of the output; 0 where the kernel does not fit. */
static size_t window_count(size_t extent, size_t kernel, size_t stride, size_t padding,
                           size_t dilation)
{
    const size_t padded = extent + 2 * padding, reach = dilation * (kernel - 1) + 1;
    return padded < reach ? 0 : (padded - reach) / stride + 1;
}

/* The output's shape from those of input and weights. */
static sh_status output_shape(const char *op, const sh_attributes *a, const sh_shape *x,
                              const sh_shape *w, sh_shape *y)
{
    char x_text[SH_SHAPE_TEXT], w_text[SH_SHAPE_TEXT];
    for (int i = 0; i < 2; i++) {
        if (a->stride[i] == 0 || a->dilation[i] == 0)
            return sh_fail(SH_INVALID, "%s: stride and dilation are at least 1", op);
        if (a->stride[i] > 1024 || a->dilation[i] > 1024 || a->padding[i] > 1024)
            return sh_fail(SH_LIMIT, "%s: stride, dilation and padding are at most 1024", op);
    }
    if (a->groups == 0)
        return sh_fail(SH_INVALID, "%s: groups is at least 1", op);
    if (x->dim[1] % a->groups != 0 || w->dim[0] % a->groups != 0 ||
        x->dim[1] / a->groups != w->dim[1])
        return sh_fail(SH_INVALID, "%s: input %s and weights %s do not fit with %zu groups", op,
                       sh_shape_print(x, x_text), sh_shape_print(w, w_text), a->groups);
    const size_t p =
        window_count(x->dim[2], w->dim[2], a->stride[0], a->padding[0], a->dilation[0]);
    const size_t q =
        window_count(x->dim[3], w->dim[3], a->stride[1], a->padding[1], a->dilation[1]);
    if (p == 0 || q == 0)
        return sh_fail(SH_INVALID, "%s: the kernel of weights %s does not fit into input %s", op,
                       sh_shape_print(w, w_text), sh_shape_print(x, x_text));
    *y = sh_shape_of(4, (size_t[]){x->dim[0], w->dim[0], p, q});
    return SH_OK;
}

static sh_status infer(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    SH_TRY(sh_op_expect("conv2d", "the input", &in[0], SH_F32, 4));
    SH_TRY(sh_op_expect("conv2d", "the weight", &in[1], SH_F32, 4));
    if (count > 2)
        SH_TRY(sh_op_expect("conv2d", "the bias", &in[2], SH_F32, 1));
    if (count > 2 && in[2].shape.dim[0] != in[1].shape.dim[0])
        return sh_fail(SH_INVALID, "conv2d: bias of %zu for %zu output channels",
                       in[2].shape.dim[0], in[1].shape.dim[0]);
    out[0].dtype = SH_F32;
    return output_shape("conv2d", a, &in[0].shape, &in[1].shape, &out[0].shape);
}

static void grad(sh_graph *graph, const sh_node *node, const sh_value_id *dout, const bool *wanted,
                 sh_value_id *din)
{
    const sh_value_id x = node->in[0], w = node->in[1], dy = dout[0];
    sh_value_id out[SH_MAX_OUTPUTS];
    sh_attributes attributes = node->attributes;
    if (wanted[1] || (node->input_count > 2 && wanted[2])) {
        attributes.shape = sh_graph_type(graph, w)->shape;
        attributes.no_bias = node->input_count < 3;
        sh_graph_add(graph, SH_OP_conv2d_grad_weight, &attributes, (sh_value_id[]){x, dy}, out);
        din[1] = out[0];
        din[2] = out[1];
    }
    if (wanted[0]) {
        attributes.shape = sh_graph_type(graph, x)->shape;
        din[0] =
            sh_graph_add(graph, SH_OP_conv2d_grad_input, &attributes, (sh_value_id[]){dy, w}, out);
    }
}

/* Two for each product: a product for each output element and each weight that reaches it. */
static double products(const sh_shape *w, const sh_shape *y)
{
    return 2.0 * (double)sh_shape_count(y) * (double)(w->dim[1] * w->dim[2] * w->dim[3]);
}

static double flops(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)a;
    return products(&in[1].shape, &out[0].shape);
}

const sh_op_def sh_op_conv2d = {
    .name = "conv2d",
    .input_count = 3,
    .output_count = 1,
    .optional = 1, /* the bias */
    .infer = infer,
    .grad = grad,
    .flops = flops,
};

/* For both gradients: dy is what the forward operator would give. */
static sh_status expect_output(const char *op, const sh_attributes *a, const sh_shape *x,
                               const sh_shape *w, const sh_type *dy)
{
    sh_type y = {.dtype = SH_F32};
    SH_TRY(output_shape(op, a, x, w, &y.shape));
    return sh_op_expect_same(op, "dy", dy, "the output", &y);
}

static sh_status infer_grad_input(const sh_attributes *a, const sh_type *in, uint32_t count,
                                  sh_type *out)
{
    (void)count;
    static const char op[] = "conv2d_grad_input";
    SH_TRY(sh_op_expect(op, "dy", &in[0], SH_F32, 4));
    SH_TRY(sh_op_expect(op, "the weight", &in[1], SH_F32, 4));
    out[0] = (sh_type){SH_F32, a->shape};
    SH_TRY(sh_op_expect(op, "the input", &out[0], SH_F32, 4));
    return expect_output(op, a, &a->shape, &in[1].shape, &in[0]);
}

static double flops_grad_input(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)a;
    (void)out;
    return products(&in[1].shape, &in[0].shape);
}

const sh_op_def sh_op_conv2d_grad_input = {
    .name = "conv2d_grad_input",
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
    static const char op[] = "conv2d_grad_weight";
    SH_TRY(sh_op_expect(op, "the input", &in[0], SH_F32, 4));
    SH_TRY(sh_op_expect(op, "dy", &in[1], SH_F32, 4));
    out[0] = (sh_type){SH_F32, a->shape};
    SH_TRY(sh_op_expect(op, "the weight", &out[0], SH_F32, 4));
    if (!a->no_bias)
        out[1] = (sh_type){SH_F32, sh_shape_of(1, a->shape.dim)};
    return expect_output(op, a, &in[0].shape, &a->shape, &in[1]);
}

static double flops_grad_weight(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)a;
    return products(&out[0].shape, &in[1].shape) + (double)sh_shape_count(&in[1].shape);
}

const sh_op_def sh_op_conv2d_grad_weight = {
    .name = "conv2d_grad_weight",
    .input_count = 2,
    .output_count = 2,
    .outputs = weight_outputs,
    .infer = infer_grad_weight,
    .flops = flops_grad_weight,
};
