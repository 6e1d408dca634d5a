/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands at the end: of a classifier logits [N, K] and labels [N] (i32, 0 .. K-1).
 *
 * cross_entropy gives the loss of each sample, not their mean: the mean over the batch is made by
 * the seed of the differentiation (1/B for every sample), so a grain needs no weighting. With label
 * smoothing s (the attribute `number`; Szegedy et al. 2016) the label's distribution is (1 - s) on
 * the label plus s/K on every class. mse is the same for numbers: prediction and target [N, ...].
 */
#include "graph/graph.h"

static sh_status expect_classes(const char *op, const sh_type *logits, const sh_type *labels)
{
    SH_TRY(sh_op_expect(op, "the logits", logits, SH_F32, 2));
    SH_TRY(sh_op_expect(op, "the labels", labels, SH_I32, 1));
    if (logits->shape.dim[0] != labels->shape.dim[0])
        return sh_fail(SH_INVALID, "%s: logits of %zu samples, labels of %zu", op,
                       logits->shape.dim[0], labels->shape.dim[0]);
    return SH_OK;
}

static sh_status expect_smoothing(const char *op, const sh_attributes *a)
{
    if (!(a->number >= 0 && a->number < 1))
        return sh_fail(SH_INVALID, "%s: the label smoothing %g is not in [0, 1)", op,
                       (double)a->number);
    return SH_OK;
}

static sh_status infer(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    SH_TRY(expect_classes("cross_entropy", &in[0], &in[1]));
    SH_TRY(expect_smoothing("cross_entropy", a));
    out[0] = (sh_type){SH_F32, in[1].shape};
    return SH_OK;
}

static void grad(sh_graph *graph, const sh_node *node, const sh_value_id *dout, const bool *wanted,
                 sh_value_id *din)
{
    if (wanted[0])
        din[0] = sh_graph_add(graph, SH_OP_cross_entropy_grad, &node->attributes,
                              (sh_value_id[]){node->in[0], node->in[1], dout[0]}, NULL);
}

const sh_op_def sh_op_cross_entropy = {
    .name = "cross_entropy",
    .input_count = 2,
    .output_count = 1,
    .infer = infer,
    .grad = grad,
};

static sh_status infer_grad(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    const sh_type loss = {SH_F32, in[1].shape};
    SH_TRY(expect_classes("cross_entropy_grad", &in[0], &in[1]));
    SH_TRY(expect_smoothing("cross_entropy_grad", a));
    out[0] = in[0];
    return sh_op_expect_same("cross_entropy_grad", "d loss", &in[2], "the loss", &loss);
}

const sh_op_def sh_op_cross_entropy_grad = {
    .name = "cross_entropy_grad",
    .input_count = 3,
    .output_count = 1,
    .infer = infer_grad,
};

static sh_status infer_argmax(const sh_attributes *a, const sh_type *in, uint32_t count,
                              sh_type *out)
{
    (void)count;
    (void)a;
    SH_TRY(sh_op_expect("argmax", "the logits", &in[0], SH_F32, 2));
    out[0] = (sh_type){SH_I32, sh_shape_of(1, in[0].shape.dim)};
    return SH_OK;
}

const sh_op_def sh_op_argmax = {
    .name = "argmax",
    .input_count = 1,
    .output_count = 1,
    .infer = infer_argmax,
};

static sh_status expect_pair(const char *op, const sh_type *prediction, const sh_type *target)
{
    if (prediction->shape.rank == 0)
        return sh_fail(SH_INVALID, "%s: the prediction is a scalar, expected [N, ...]", op);
    SH_TRY(sh_op_expect(op, "the prediction", prediction, SH_F32, prediction->shape.rank));
    return sh_op_expect_same(op, "the prediction", prediction, "the target", target);
}

static sh_status infer_mse(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    (void)a;
    SH_TRY(expect_pair("mse", &in[0], &in[1]));
    out[0] = (sh_type){SH_F32, sh_shape_of(1, in[0].shape.dim)};
    return SH_OK;
}

/* The two inputs change places for the gradient of the second one. */
static void grad_mse(sh_graph *graph, const sh_node *node, const sh_value_id *dout,
                     const bool *wanted, sh_value_id *din)
{
    for (int i = 0; i < 2; i++)
        if (wanted[i])
            din[i] = sh_graph_add(graph, SH_OP_mse_grad, NULL,
                                  (sh_value_id[]){node->in[i], node->in[1 - i], dout[0]}, NULL);
}

const sh_op_def sh_op_mse = {
    .name = "mse",
    .input_count = 2,
    .output_count = 1,
    .infer = infer_mse,
    .grad = grad_mse,
    .each_flops = 3,
};

static sh_status infer_mse_grad(const sh_attributes *a, const sh_type *in, uint32_t count,
                                sh_type *out)
{
    (void)count;
    (void)a;
    SH_TRY(expect_pair("mse_grad", &in[0], &in[1]));
    const sh_type loss = {SH_F32, sh_shape_of(1, in[0].shape.dim)};
    out[0] = in[0];
    return sh_op_expect_same("mse_grad", "d loss", &in[2], "the loss", &loss);
}

const sh_op_def sh_op_mse_grad = {
    .name = "mse_grad",
    .input_count = 3,
    .output_count = 1,
    .infer = infer_mse_grad,
    .each_flops = 3,
};
