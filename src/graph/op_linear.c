/* SPDX-License-Identifier: Apache-2.0 */
/* x [N, I], w [O, I], b [O] (optional), y [N, O]. */
#include "graph/graph.h"

static sh_status infer(const sh_op_types *t)
{
    const size_t *x = t->in[0].shape.dim, *w = t->in[1].shape.dim;
    SH_TRY(sh_op_expect(t->op, "the input", &t->in[0], SH_F32, 2));
    SH_TRY(sh_op_expect(t->op, "the weight", &t->in[1], SH_F32, 2));
    if (t->count > 2)
        SH_TRY(sh_op_expect(t->op, "the bias", &t->in[2], SH_F32, 1));
    if (x[1] != w[1])
        return sh_fail(SH_INVALID, "linear: an input of %zu features, weights for %zu", x[1], w[1]);
    if (t->count > 2 && t->in[2].shape.dim[0] != w[0])
        return sh_fail(SH_INVALID, "linear: bias of %zu for %zu outputs", t->in[2].shape.dim[0],
                       w[0]);
    t->out[0] = (sh_type){SH_F32, sh_shape_of(2, (size_t[]){x[0], w[0]})};
    return SH_OK;
}

static void grad(const sh_op_backward *b)
{
    const sh_value_id x = b->node->in[0], w = b->node->in[1], dy = b->dout[0];
    sh_value_id out[SH_MAX_OUTPUTS];
    if (b->wanted[1] || (b->node->input_count > 2 && b->wanted[2])) {
        const sh_attributes attributes = {.no_bias = b->node->input_count < 3};
        sh_graph_add(b->graph, SH_OP_linear_grad_weight, &attributes, (sh_value_id[]){x, dy}, out);
        b->din[1] = out[0];
        b->din[2] = out[1];
    }
    if (b->wanted[0])
        b->din[0] =
            sh_graph_add(b->graph, SH_OP_linear_grad_input, NULL, (sh_value_id[]){dy, w}, NULL);
}

/* Two flops for each weight and row of x. */
static double flops(const sh_op_types *t)
{
    return 2.0 * (double)sh_shape_count(&t->in[1].shape) * (double)t->in[0].shape.dim[0];
}

const sh_op_def sh_op_linear = {
    .optional = 1, /* the bias */
    .infer = infer,
    .grad = grad,
    .flops = flops,
};

static sh_status infer_grad_input(const sh_op_types *t)
{
    const size_t *dy = t->in[0].shape.dim, *w = t->in[1].shape.dim;
    SH_TRY(sh_op_expect(t->op, "dy", &t->in[0], SH_F32, 2));
    SH_TRY(sh_op_expect(t->op, "the weight", &t->in[1], SH_F32, 2));
    if (dy[1] != w[0])
        return sh_fail(SH_INVALID, "linear_grad_input: dy of %zu outputs for weights of %zu", dy[1],
                       w[0]);
    t->out[0] = (sh_type){SH_F32, sh_shape_of(2, (size_t[]){dy[0], w[1]})};
    return SH_OK;
}

const sh_op_def sh_op_linear_grad_input = {.infer = infer_grad_input, .flops = flops};

static sh_status infer_grad_weight(const sh_op_types *t)
{
    const size_t *x = t->in[0].shape.dim, *dy = t->in[1].shape.dim;
    SH_TRY(sh_op_expect(t->op, "the input", &t->in[0], SH_F32, 2));
    SH_TRY(sh_op_expect(t->op, "dy", &t->in[1], SH_F32, 2));
    if (x[0] != dy[0])
        return sh_fail(SH_INVALID, "linear_grad_weight: %zu samples of input, %zu of dy", x[0],
                       dy[0]);
    t->out[0] = (sh_type){SH_F32, sh_shape_of(2, (size_t[]){dy[1], x[1]})};
    if (!t->attributes->no_bias)
        t->out[1] = (sh_type){SH_F32, sh_shape_of(1, (size_t[]){dy[1]})};
    return SH_OK;
}

static double flops_grad_weight(const sh_op_types *t)
{
    return 2.0 * (double)sh_shape_count(&t->out[0].shape) * (double)t->in[0].shape.dim[0];
}

const sh_op_def sh_op_linear_grad_weight = {
    .gives_bias = true,
    .infer = infer_grad_weight,
    .flops = flops_grad_weight,
};
