/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisation (Ioffe, Szegedy: "Batch normalization", 2015), in two operators: moments
 * measures a grain, batch_norm applies mean and variance, be they the grain's or running ones. So
 * evaluation, frozen layers and a later repetition of the forward pass are one operator.
 *
 * x, y, residual [N, C, ...], mean, variance, w, b [C]. With xh = (x - mean) / sqrt(variance +
 * epsilon), n elements a channel, and dy behind the activation's gradient:
 *
 *     db = sum dy      dw = sum dy xh      dx = w / sqrt(variance + epsilon) *
 *         (dy - (db + xh dw) / n)   where mean and variance are those of x (attribute training)
 *         dy                        where they are given
 *
 * so no gradients of mean and variance exist by themselves. The activation is part of the operator:
 * its gradient is found by computing y again, which saves reading it. With a residual, which dy
 * belongs to as well, the activation's gradient is a node of its own.
 */
#include "graph/graph.h"

static sh_status expect_image(const char *op, const sh_type *x)
{
    char text[SH_SHAPE_TEXT];
    if (x->shape.rank < 2)
        return sh_fail(SH_INVALID, "%s: the input is %s, expected [N, C, ...]", op,
                       sh_shape_print(&x->shape, text));
    return sh_op_expect(op, "the input", x, SH_F32, x->shape.rank);
}

/* Mean, variance, weight and bias are [C] for the channels of x, and epsilon is there. */
static sh_status expect_channels(const char *op, const sh_attributes *a, const sh_type *four,
                                 const sh_type *x)
{
    static const char *const names[] = {"the mean", "the variance", "the weight", "the bias"};
    const sh_type channels = {SH_F32, sh_shape_of(1, &x->shape.dim[1])};
    for (int i = 0; i < 4; i++)
        SH_TRY(sh_op_expect_same(op, names[i], &four[i], "a value for each channel", &channels));
    if (!(a->number > 0))
        return sh_fail(SH_INVALID, "%s: epsilon is above 0", op);
    return SH_OK;
}

static sh_status infer_moments(const sh_attributes *a, const sh_type *in, uint32_t count,
                               sh_type *out)
{
    (void)a;
    (void)count;
    SH_TRY(expect_image("moments", &in[0]));
    out[0] = out[1] = (sh_type){SH_F32, sh_shape_of(1, &in[0].shape.dim[1])};
    return SH_OK;
}

const sh_op_def sh_op_moments = {
    .name = "moments",
    .input_count = 1,
    .output_count = 2,
    .infer = infer_moments,
    .each_flops = 4,
};

static sh_status infer(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    static const char op[] = "batch_norm";
    SH_TRY(expect_image(op, &in[0]));
    SH_TRY(expect_channels(op, a, &in[1], &in[0]));
    if (count > 5)
        SH_TRY(sh_op_expect_same(op, "the residual", &in[5], "the input", &in[0]));
    out[0] = in[0];
    return SH_OK;
}

static void grad(sh_graph *graph, const sh_node *node, const sh_value_id *dout, const bool *wanted,
                 sh_value_id *din)
{
    sh_value_id out[SH_MAX_OUTPUTS], dy = dout[0];
    sh_attributes attributes = node->attributes;
    const bool residual = node->input_count > 5;
    if (residual && attributes.activation != SH_ACTIVATION_NONE) {
        const sh_op op =
            attributes.activation == SH_ACTIVATION_RELU ? SH_OP_relu_grad : SH_OP_relu6_grad;
        dy = sh_graph_add(graph, op, NULL, (sh_value_id[]){dy, node->out[0]}, out);
        attributes.activation = SH_ACTIVATION_NONE;
    }
    if (residual && wanted[5])
        din[5] = dy;
    if (wanted[0] || wanted[3] || wanted[4]) {
        const sh_value_id in[] = {dy,          node->in[0], node->in[1],
                                  node->in[2], node->in[3], node->in[4]};
        sh_graph_add(graph, SH_OP_batch_norm_grad, &attributes, in, out);
        din[0] = out[0];
        din[3] = out[1];
        din[4] = out[2];
    }
}

const sh_op_def sh_op_batch_norm = {
    .name = "batch_norm",
    .input_count = 6,
    .output_count = 1,
    .optional = 1, /* the residual */
    .over = SH_OVER(0) | SH_OVER(5),
    .infer = infer,
    .grad = grad,
    .each_flops = 4,
};

static sh_status infer_grad(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    static const char op[] = "batch_norm_grad";
    (void)count;
    SH_TRY(expect_image(op, &in[0]));
    SH_TRY(sh_op_expect_same(op, "dy", &in[0], "the input", &in[1]));
    SH_TRY(expect_channels(op, a, &in[2], &in[0]));
    out[0] = in[0];
    out[1] = out[2] = in[2];
    return SH_OK;
}

const sh_op_def sh_op_batch_norm_grad = {
    .name = "batch_norm_grad",
    .input_count = 6,
    .output_count = 3,
    .over = SH_OVER(0) | SH_OVER(1),
    .infer = infer_grad,
    .each_flops = 12,
};

/* in: a statistic [C], the weights of the samples' losses [N]; number: a factor. */
static sh_status infer_statistic(const sh_attributes *a, const sh_type *in, uint32_t count,
                                 sh_type *out)
{
    (void)a;
    (void)count;
    SH_TRY(sh_op_expect("statistic", "the input", &in[0], SH_F32, 1));
    SH_TRY(sh_op_expect("statistic", "the weights", &in[1], SH_F32, 1));
    out[0] = in[0];
    return SH_OK;
}

const sh_op_def sh_op_statistic = {
    .name = "statistic",
    .input_count = 2,
    .output_count = 1,
    .infer = infer_statistic,
};
