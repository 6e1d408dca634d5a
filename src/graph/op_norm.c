/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation (Ioffe, Szegedy: "Batch normalization", 2015) in two operators: moments
 * computes mean and variance of a grain, and batch_norm applies these or the running ones.
 *
 * x, y, residual [N, C, ...], mean, variance, w, b [C]. With xh = (x - mean) / sqrt(variance +
 * epsilon), n elements per channel, and dy after the activation's gradient:
 *
 *     db = sum dy      dw = sum dy xh      dx = w / sqrt(variance + epsilon) *
 *         (dy - (db + xh dw) / n)   where mean and variance are those of x (attribute training)
 *         dy                        where they are given
 *
 * batch_norm_sums computes dw, db and their contribution to dx; batch_norm_grad computes dx. Both
 * compute y again for the gradient of the activation, which saves reading it. With a residual, dy
 * after the activation is also the gradient of the residual, so the activation's gradient is a node
 * of its own.
 */
#include "graph/graph.h"

static sh_status expect_image(const sh_op_types *t)
{
    const sh_type *x = &t->in[0];
    char text[SH_SHAPE_TEXT];
    if (x->shape.rank < 2)
        return sh_fail(SH_INVALID, "%s: the input is %s, expected [N, C, ...]", t->op,
                       sh_shape_print(&x->shape, text));
    return sh_op_expect(t->op, "the input", x, SH_F32, x->shape.rank);
}

/* Mean, variance, weight and bias are each [C] for the channels of input 0. */
static sh_status expect_channels(const sh_op_types *t, const sh_type *four)
{
    static const char *const names[] = {"the mean", "the variance", "the weight", "the bias"};
    const sh_type channels = {SH_F32, sh_shape_of(1, &t->in[0].shape.dim[1])};
    for (int i = 0; i < 4; i++)
        SH_TRY(sh_op_expect_same(t->op, names[i], &four[i], "a value for each channel", &channels));
    if (!(t->attributes->number > 0))
        return sh_fail(SH_INVALID, "%s: epsilon must be above 0", t->op);
    return SH_OK;
}

static sh_status infer_moments(const sh_op_types *t)
{
    SH_TRY(expect_image(t));
    t->out[0] = t->out[1] = (sh_type){SH_F32, sh_shape_of(1, &t->in[0].shape.dim[1])};
    return SH_OK;
}

const sh_op_def sh_op_moments = {.infer = infer_moments, .each_flops = 4};

static sh_status infer(const sh_op_types *t)
{
    SH_TRY(expect_image(t));
    SH_TRY(expect_channels(t, &t->in[1]));
    if (t->count > 5)
        SH_TRY(sh_op_expect_same(t->op, "the residual", &t->in[5], "the input", &t->in[0]));
    t->out[0] = t->in[0];
    return SH_OK;
}

static void grad(const sh_op_backward *b)
{
    sh_value_id out[SH_MAX_OUTPUTS], dy = b->dout[0];
    const sh_value_id *in = b->node->in;
    sh_attributes attributes = b->node->attributes;
    const bool residual = b->node->input_count > 5;
    if (residual && attributes.activation != SH_ACTIVATION_NONE) {
        const sh_op op =
            attributes.activation == SH_ACTIVATION_RELU ? SH_OP_relu_grad : SH_OP_relu6_grad;
        dy = sh_graph_add(b->graph, op, NULL, (sh_value_id[]){dy, b->node->out[0]}, out);
        attributes.activation = SH_ACTIVATION_NONE;
    }
    if (residual && b->wanted[5])
        b->din[5] = dy;
    if (!b->wanted[0] && !b->wanted[3] && !b->wanted[4])
        return;
    sh_graph_add(b->graph, SH_OP_batch_norm_sums, &attributes,
                 (sh_value_id[]){dy, in[0], in[1], in[2], in[3], in[4]}, out);
    b->din[3] = out[0];
    b->din[4] = out[1];
    if (b->wanted[0])
        b->din[0] =
            sh_graph_add(b->graph, SH_OP_batch_norm_grad, &attributes,
                         (sh_value_id[]){dy, in[0], in[1], in[2], in[3], in[4], out[2]}, out);
}

const sh_op_def sh_op_batch_norm = {
    .optional = 1, /* the residual */
    .over = SH_OVER(0) | SH_OVER(5),
    .infer = infer,
    .grad = grad,
    .each_flops = 4,
};

static sh_type parts_of(const sh_type *dy)
{
    return (sh_type){SH_F32, sh_shape_of(2, (size_t[]){2, dy->shape.dim[1]})};
}

static sh_status infer_sums(const sh_op_types *t)
{
    SH_TRY(expect_image(t));
    SH_TRY(sh_op_expect_same(t->op, "dy", &t->in[0], "the input", &t->in[1]));
    SH_TRY(expect_channels(t, &t->in[2]));
    t->out[0] = t->out[1] = t->in[2];
    t->out[2] = parts_of(&t->in[0]);
    return SH_OK;
}

const sh_op_def sh_op_batch_norm_sums = {.infer = infer_sums, .each_flops = 6};

static sh_status infer_grad(const sh_op_types *t)
{
    const sh_type parts = parts_of(&t->in[0]);
    SH_TRY(expect_image(t));
    SH_TRY(sh_op_expect_same(t->op, "dy", &t->in[0], "the input", &t->in[1]));
    SH_TRY(expect_channels(t, &t->in[2]));
    SH_TRY(sh_op_expect_same(t->op, "the sums", &t->in[6], "two for each channel", &parts));
    t->out[0] = t->in[0];
    return SH_OK;
}

const sh_op_def sh_op_batch_norm_grad = {
    .over = SH_OVER(0) | SH_OVER(1),
    .infer = infer_grad,
    .each_flops = 6,
};

/* Inputs: a statistic [C] and the loss weights of the samples [N]. `number` is a factor. */
static sh_status infer_statistic(const sh_op_types *t)
{
    SH_TRY(sh_op_expect(t->op, "the input", &t->in[0], SH_F32, 1));
    SH_TRY(sh_op_expect(t->op, "the weights", &t->in[1], SH_F32, 1));
    t->out[0] = t->in[0];
    return SH_OK;
}

const sh_op_def sh_op_statistic = {.infer = infer_statistic};
