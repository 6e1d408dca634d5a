/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Indices are integers, or floats whose fraction is ignored. A negative index counts from the end.
 * An index out of range gives NaN, so that training stops.
 */
#include "graph/graph.h"

static sh_status infer_with(const sh_op_types *t, const sh_type *x, sh_type *y)
{
    const sh_type *indices = &t->in[1];
    const size_t axis = t->attributes->axis;
    char text[SH_SHAPE_TEXT];
    SH_TRY(sh_op_expect(t->op, "the indices", indices, indices->dtype == SH_I32 ? SH_I32 : SH_F32,
                        indices->shape.rank));
    SH_TRY(sh_op_expect(t->op, "x", x, SH_F32, x->shape.rank));
    if (axis >= x->shape.rank)
        return sh_fail(SH_INVALID, "%s: %s has no dimension %zu", t->op,
                       sh_shape_print(&x->shape, text), axis);
    const size_t rank = x->shape.rank - 1 + indices->shape.rank;
    if (rank > SH_MAX_RANK)
        return sh_fail(SH_INVALID, "%s: the result has %zu dimensions, more than %d", t->op, rank,
                       SH_MAX_RANK);
    *y = (sh_type){.dtype = SH_F32, .shape = {.rank = rank}};
    for (size_t i = 0; i < axis; i++)
        y->shape.dim[i] = x->shape.dim[i];
    for (size_t i = 0; i < indices->shape.rank; i++)
        y->shape.dim[axis + i] = indices->shape.dim[i];
    for (size_t i = axis + 1; i < x->shape.rank; i++)
        y->shape.dim[i - 1 + indices->shape.rank] = x->shape.dim[i];
    return sh_shape_check(&y->shape);
}

static sh_status infer(const sh_op_types *t)
{
    return infer_with(t, &t->in[0], &t->out[0]);
}

static void grad(const sh_op_backward *b)
{
    if (b->wanted[0])
        sh_graph_grad_of_first(b, SH_OP_gather_grad, b->node->in[1]);
}

const sh_op_def sh_op_gather = {.infer = infer, .grad = grad};

static sh_status infer_grad(const sh_op_types *t)
{
    sh_type y;
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    SH_TRY(infer_with(t, &t->out[0], &y));
    return sh_op_expect_same(t->op, "dy", &t->in[0], "the output", &y);
}

const sh_op_def sh_op_gather_grad = {.infer = infer_grad, .each_flops = 1};
