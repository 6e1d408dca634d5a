/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All losses are per sample. The seed of the differentiation (1/B for every sample) computes the
 * mean over the batch, so a grain needs no weighting.
 *
 * cross_entropy takes logits [N, K] and labels [N] (i32, 0 .. K-1). With label smoothing s (the
 * attribute `number`; Szegedy et al. 2016) the target distribution is (1 - s) on the label plus s/K
 * on every class. binary_cross_entropy takes logits and targets [N, ...]; a target is 0 or 1. mse
 * takes predictions and targets [N, ...] of any numbers.
 */
#include "graph/graph.h"

/* Checks what forward and gradient share. */
static sh_status expect_classes(const sh_op_types *t)
{
    const sh_type *logits = &t->in[0], *labels = &t->in[1];
    const float smoothing = t->attributes->number;
    SH_TRY(sh_op_expect(t->op, "the logits", logits, SH_F32, 2));
    SH_TRY(sh_op_expect(t->op, "the labels", labels, SH_I32, 1));
    if (logits->shape.dim[0] != labels->shape.dim[0])
        return sh_fail(SH_INVALID, "%s: logits of %zu samples, labels of %zu", t->op,
                       logits->shape.dim[0], labels->shape.dim[0]);
    if (!(smoothing >= 0 && smoothing < 1))
        return sh_fail(SH_INVALID, "%s: the label smoothing %g is not in [0, 1)", t->op,
                       (double)smoothing);
    return SH_OK;
}

static sh_status infer(const sh_op_types *t)
{
    SH_TRY(expect_classes(t));
    t->out[0] = (sh_type){SH_F32, t->in[1].shape};
    return SH_OK;
}

static void grad(const sh_op_backward *b)
{
    const sh_value_id in[] = {b->node->in[0], b->node->in[1], b->dout[0]};
    if (b->wanted[0])
        b->din[0] =
            sh_graph_add(b->graph, SH_OP_cross_entropy_grad, &b->node->attributes, in, NULL);
}

const sh_op_def sh_op_cross_entropy = {.infer = infer, .grad = grad};

static sh_status infer_grad(const sh_op_types *t)
{
    SH_TRY(expect_classes(t));
    const sh_type loss = {SH_F32, t->in[1].shape};
    t->out[0] = t->in[0];
    return sh_op_expect_same(t->op, "d loss", &t->in[2], "the loss", &loss);
}

const sh_op_def sh_op_cross_entropy_grad = {.infer = infer_grad};

static sh_status infer_argmax(const sh_op_types *t)
{
    SH_TRY(sh_op_expect(t->op, "the logits", &t->in[0], SH_F32, 2));
    t->out[0] = (sh_type){SH_I32, sh_shape_of(1, t->in[0].shape.dim)};
    return SH_OK;
}

const sh_op_def sh_op_argmax = {.infer = infer_argmax};

/* Sets *loss to the type of the loss. */
static sh_status expect_pair(const sh_op_types *t, sh_type *loss)
{
    const sh_type *prediction = &t->in[0];
    if (prediction->shape.rank == 0)
        return sh_fail(SH_INVALID, "%s: the prediction is a scalar, expected [N, ...]", t->op);
    SH_TRY(sh_op_expect(t->op, "the prediction", prediction, SH_F32, prediction->shape.rank));
    *loss = (sh_type){SH_F32, sh_shape_of(1, prediction->shape.dim)};
    return sh_op_expect_same(t->op, "the prediction", prediction, "the target", &t->in[1]);
}

static sh_status infer_pair(const sh_op_types *t)
{
    return expect_pair(t, &t->out[0]);
}

/* For the gradient of the target the two inputs are exchanged. */
static void grad_mse(const sh_op_backward *b)
{
    for (int i = 0; i < 2; i++) {
        const sh_value_id in[] = {b->node->in[i], b->node->in[1 - i], b->dout[0]};
        if (b->wanted[i])
            b->din[i] = sh_graph_add(b->graph, SH_OP_mse_grad, NULL, in, NULL);
    }
}

const sh_op_def sh_op_mse = {.infer = infer_pair, .grad = grad_mse, .each_flops = 3};

static void grad_binary(const sh_op_backward *b)
{
    const sh_value_id in[] = {b->node->in[0], b->node->in[1], b->dout[0]};
    if (b->wanted[0])
        b->din[0] = sh_graph_add(b->graph, SH_OP_binary_cross_entropy_grad, NULL, in, NULL);
}

const sh_op_def sh_op_binary_cross_entropy = {
    .infer = infer_pair, .grad = grad_binary, .each_flops = 8};

static sh_status infer_pair_grad(const sh_op_types *t)
{
    sh_type loss;
    SH_TRY(expect_pair(t, &loss));
    t->out[0] = t->in[0];
    return sh_op_expect_same(t->op, "d loss", &t->in[2], "the loss", &loss);
}

const sh_op_def sh_op_mse_grad = {.infer = infer_pair_grad, .each_flops = 3};
const sh_op_def sh_op_binary_cross_entropy_grad = {.infer = infer_pair_grad, .each_flops = 8};
