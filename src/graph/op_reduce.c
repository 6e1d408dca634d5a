/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reduce works on the dimensions where the setting `shape` has a 1 and x does not. `shape` is
 * aligned with the last dimensions of x and may have fewer. expand repeats x to the shape. Each is
 * the gradient of the other, except that the gradient of the maximum is reduce_grad.
 *
 *     reduce to 1x3x1 of 2x3x4 -> 1x3x1      expand to 2x3x4 of 3x1 -> 2x3x4
 */
#include "graph/formulas.h"
#include "graph/graph.h"

static sh_status expect_repeats(const sh_op_types *t, const sh_shape *small, const sh_shape *whole)
{
    char small_text[SH_SHAPE_TEXT], whole_text[SH_SHAPE_TEXT];
    bool fits = small->rank <= whole->rank;
    SH_TRY(sh_shape_check(small));
    SH_TRY(sh_shape_check(whole));
    for (size_t i = 1; fits && i <= small->rank; i++) {
        const size_t dim = small->dim[small->rank - i];
        fits = dim == 1 || dim == whole->dim[whole->rank - i];
    }
    if (!fits)
        return sh_fail(SH_INVALID, "%s: %s cannot be repeated to be %s", t->op,
                       sh_shape_print(small, small_text), sh_shape_print(whole, whole_text));
    return SH_OK;
}

static sh_status expect_function(const sh_op_types *t, uint32_t count)
{
    if (t->attributes->function >= count)
        return sh_fail(SH_INVALID, "%s: function %u is unknown", t->op, t->attributes->function);
    return sh_op_expect(t->op, "the input", &t->in[0], SH_F32, t->in[0].shape.rank);
}

static sh_status infer_reduce(const sh_op_types *t)
{
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    SH_TRY(expect_function(t, SH_REDUCE_COUNT));
    return expect_repeats(t, &t->out[0].shape, &t->in[0].shape);
}

static void grad_reduce(const sh_op_backward *b)
{
    if (b->node->attributes.function != SH_REDUCE_LARGEST) {
        sh_graph_grad_of_first(b, SH_OP_expand, SH_NO_VALUE);
        return;
    }
    const sh_value_id in[] = {b->dout[0], b->node->in[0], b->node->out[0]};
    b->din[0] = sh_graph_add(b->graph, SH_OP_reduce_grad, NULL, in, NULL);
}

const sh_op_def sh_op_reduce = {.infer = infer_reduce, .grad = grad_reduce, .each_flops = 1};

static sh_status infer_reduce_grad(const sh_op_types *t)
{
    t->out[0] = t->in[1];
    SH_TRY(sh_op_expect(t->op, "dy", &t->in[0], SH_F32, t->in[0].shape.rank));
    SH_TRY(sh_op_expect(t->op, "x", &t->in[1], SH_F32, t->in[1].shape.rank));
    SH_TRY(sh_op_expect_same(t->op, "dy", &t->in[0], "y", &t->in[2]));
    return expect_repeats(t, &t->in[0].shape, &t->in[1].shape);
}

static double flops_of_grad(const sh_op_types *t)
{
    return (double)sh_shape_count(&t->out[0].shape);
}

const sh_op_def sh_op_reduce_grad = {.infer = infer_reduce_grad, .flops = flops_of_grad};

static sh_status infer_expand(const sh_op_types *t)
{
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    SH_TRY(expect_function(t, SH_REDUCE_LARGEST));
    return expect_repeats(t, &t->in[0].shape, &t->out[0].shape);
}

static void grad_expand(const sh_op_backward *b)
{
    sh_graph_grad_of_first(b, SH_OP_reduce, SH_NO_VALUE);
}

const sh_op_def sh_op_expand = {.infer = infer_expand, .grad = grad_expand};
