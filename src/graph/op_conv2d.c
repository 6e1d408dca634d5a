/* SPDX-License-Identifier: Apache-2.0 */
/*
 * 2-D convolution (cross-correlation, as in other frameworks) with stride, padding, dilation and
 * groups.
 *
 * x [N, C, H, W], w [O, C/groups, R, S], b [O] (optional), y [N, O, P, Q], where
 *
 *     P = floor((H + padding + end_padding - dilation (R - 1) - 1) / stride) + 1, and Q likewise
 *
 * The gradient of x is also a layer of its own, the transposed convolution, with a bias b [C]. The
 * gradient of its input is the convolution. The gradient of its weights is the convolution's with x
 * and dy exchanged.
 */
#include "graph/graph.h"

/* 0 if the kernel does not fit. */
static size_t window_count(size_t extent, size_t kernel, const sh_attributes *a, int axis)
{
    const size_t padded = extent + a->padding[axis] + a->end_padding[axis];
    const size_t reach = a->dilation[axis] * (kernel - 1) + 1;
    return padded < reach ? 0 : (padded - reach) / a->stride[axis] + 1;
}

static sh_status output_shape(const sh_op_types *t, const sh_shape *x, const sh_shape *w,
                              sh_shape *y)
{
    const sh_attributes *a = t->attributes;
    char x_text[SH_SHAPE_TEXT], w_text[SH_SHAPE_TEXT];
    for (int i = 0; i < 2; i++) {
        if (a->stride[i] == 0 || a->dilation[i] == 0)
            return sh_fail(SH_INVALID, "%s: stride and dilation must be at least 1", t->op);
        if (a->stride[i] > 1024 || a->dilation[i] > 1024 || a->padding[i] > 1024 ||
            a->end_padding[i] > 1024)
            return sh_fail(SH_LIMIT, "%s: stride, dilation and padding must be at most 1024",
                           t->op);
    }
    if (a->groups == 0)
        return sh_fail(SH_INVALID, "%s: groups must be at least 1", t->op);
    if (x->dim[1] % a->groups != 0 || w->dim[0] % a->groups != 0 ||
        x->dim[1] / a->groups != w->dim[1])
        return sh_fail(SH_INVALID, "%s: input %s and weights %s do not fit with %zu groups", t->op,
                       sh_shape_print(x, x_text), sh_shape_print(w, w_text), a->groups);
    const size_t p = window_count(x->dim[2], w->dim[2], a, 0);
    const size_t q = window_count(x->dim[3], w->dim[3], a, 1);
    if (p == 0 || q == 0)
        return sh_fail(SH_INVALID, "%s: the kernel of weights %s does not fit into input %s", t->op,
                       sh_shape_print(w, w_text), sh_shape_print(x, x_text));
    *y = sh_shape_of(4, (size_t[]){x->dim[0], w->dim[0], p, q});
    return SH_OK;
}

static sh_status expect_bias(const sh_op_types *t, size_t channels)
{
    if (t->count <= 2)
        return SH_OK;
    SH_TRY(sh_op_expect(t->op, "the bias", &t->in[2], SH_F32, 1));
    if (t->in[2].shape.dim[0] != channels)
        return sh_fail(SH_INVALID, "%s: bias of %zu for %zu output channels", t->op,
                       t->in[2].shape.dim[0], channels);
    return SH_OK;
}

static sh_status infer(const sh_op_types *t)
{
    const sh_type *x = &t->in[0], *w = &t->in[1];
    SH_TRY(sh_op_expect(t->op, "the input", x, SH_F32, 4));
    SH_TRY(sh_op_expect(t->op, "the weight", w, SH_F32, 4));
    SH_TRY(expect_bias(t, w->shape.dim[0]));
    t->out[0].dtype = SH_F32;
    return output_shape(t, &x->shape, &w->shape, &t->out[0].shape);
}

static void grad(const sh_op_backward *b)
{
    const sh_value_id x = b->node->in[0], w = b->node->in[1], dy = b->dout[0];
    sh_value_id out[SH_MAX_OUTPUTS];
    sh_attributes attributes = b->node->attributes;
    if (b->wanted[1] || (b->node->input_count > 2 && b->wanted[2])) {
        attributes.shape = sh_graph_type(b->graph, w)->shape;
        attributes.no_bias = b->node->input_count < 3;
        sh_graph_add(b->graph, SH_OP_conv2d_grad_weight, &attributes, (sh_value_id[]){x, dy}, out);
        b->din[1] = out[0];
        b->din[2] = out[1];
    }
    if (b->wanted[0]) {
        attributes.shape = sh_graph_type(b->graph, x)->shape;
        b->din[0] = sh_graph_add(b->graph, SH_OP_conv2d_grad_input, &attributes,
                                 (sh_value_id[]){dy, w, SH_NO_VALUE}, NULL);
    }
}

/* Two flops for each pair of an output element and a weight that contributes to it. */
static double products(const sh_type *w, const sh_type *y)
{
    const size_t *dim = w->shape.dim;
    return 2.0 * (double)sh_shape_count(&y->shape) * (double)(dim[1] * dim[2] * dim[3]);
}

static double flops(const sh_op_types *t)
{
    return products(&t->in[1], &t->out[0]);
}

const sh_op_def sh_op_conv2d = {
    .optional = 1, /* the bias */
    .infer = infer,
    .grad = grad,
    .flops = flops,
};

/* For both gradients: dy must have the type of the output. */
static sh_status expect_output(const sh_op_types *t, const sh_shape *x, const sh_shape *w,
                               const sh_type *dy)
{
    sh_type y = {.dtype = SH_F32};
    SH_TRY(output_shape(t, x, w, &y.shape));
    return sh_op_expect_same(t->op, "dy", dy, "the output", &y);
}

static sh_status infer_grad_input(const sh_op_types *t)
{
    SH_TRY(sh_op_expect(t->op, "dy", &t->in[0], SH_F32, 4));
    SH_TRY(sh_op_expect(t->op, "the weight", &t->in[1], SH_F32, 4));
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    SH_TRY(sh_op_expect(t->op, "the input", &t->out[0], SH_F32, 4));
    SH_TRY(expect_bias(t, t->out[0].shape.dim[1]));
    return expect_output(t, &t->out[0].shape, &t->in[1].shape, &t->in[0]);
}

static void grad_grad_input(const sh_op_backward *b)
{
    const sh_value_id x = b->node->in[0], w = b->node->in[1], dy = b->dout[0];
    sh_attributes attributes = b->node->attributes;
    attributes.no_bias = true;
    attributes.shape = sh_graph_type(b->graph, w)->shape;
    if (b->wanted[1])
        b->din[1] = sh_graph_add(b->graph, SH_OP_conv2d_grad_weight, &attributes,
                                 (sh_value_id[]){dy, x}, NULL);
    if (b->node->input_count > 2 && b->wanted[2])
        b->din[2] = sh_graph_add(b->graph, SH_OP_bias_grad, NULL, &dy, NULL);
    if (b->wanted[0])
        b->din[0] = sh_graph_add(b->graph, SH_OP_conv2d, &attributes,
                                 (sh_value_id[]){dy, w, SH_NO_VALUE}, NULL);
}

static double flops_grad_input(const sh_op_types *t)
{
    return products(&t->in[1], &t->in[0]);
}

const sh_op_def sh_op_conv2d_grad_input = {
    .optional = 1, /* the bias */
    .infer = infer_grad_input,
    .grad = grad_grad_input,
    .flops = flops_grad_input,
};

static sh_status infer_bias_grad(const sh_op_types *t)
{
    const sh_shape *x = &t->in[0].shape;
    char text[SH_SHAPE_TEXT];
    SH_TRY(sh_op_expect(t->op, "the input", &t->in[0], SH_F32, x->rank));
    if (x->rank < 2)
        return sh_fail(SH_INVALID, "%s: the input is %s, expected [N, C, ...]", t->op,
                       sh_shape_print(x, text));
    t->out[0] = (sh_type){SH_F32, sh_shape_of(1, &x->dim[1])};
    return SH_OK;
}

const sh_op_def sh_op_bias_grad = {.infer = infer_bias_grad, .each_flops = 1};

static sh_status infer_grad_weight(const sh_op_types *t)
{
    SH_TRY(sh_op_expect(t->op, "the input", &t->in[0], SH_F32, 4));
    SH_TRY(sh_op_expect(t->op, "dy", &t->in[1], SH_F32, 4));
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    SH_TRY(sh_op_expect(t->op, "the weight", &t->out[0], SH_F32, 4));
    if (!t->attributes->no_bias)
        t->out[1] = (sh_type){SH_F32, sh_shape_of(1, t->out[0].shape.dim)};
    return expect_output(t, &t->in[0].shape, &t->out[0].shape, &t->in[1]);
}

static double flops_grad_weight(const sh_op_types *t)
{
    return products(&t->out[0], &t->in[1]) + (double)sh_shape_count(&t->in[1].shape);
}

const sh_op_def sh_op_conv2d_grad_weight = {
    .gives_bias = true,
    .infer = infer_grad_weight,
    .flops = flops_grad_weight,
};
