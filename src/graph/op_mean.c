/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The averaged dimensions are removed: [2, 3, 4, 5] with axis 2 and axes 2 becomes [2, 3].
 */
#include "graph/graph.h"

static sh_status output_shape(const sh_op_types *t, const sh_shape *x, sh_shape *y)
{
    const sh_attributes *a = t->attributes;
    char text[SH_SHAPE_TEXT];
    if (a->axes == 0 || a->axis >= x->rank || a->axes > x->rank - a->axis)
        return sh_fail(SH_INVALID, "%s: %s does not have %zu dimensions from %zu on", t->op,
                       sh_shape_print(x, text), a->axes, a->axis);
    *y = sh_shape_of(a->axis, x->dim);
    for (size_t i = a->axis + a->axes; i < x->rank; i++)
        y->dim[y->rank++] = x->dim[i];
    return SH_OK;
}

static sh_status infer(const sh_op_types *t)
{
    SH_TRY(sh_op_expect(t->op, "the input", &t->in[0], SH_F32, t->in[0].shape.rank));
    t->out[0].dtype = SH_F32;
    return output_shape(t, &t->in[0].shape, &t->out[0].shape);
}

static void grad(const sh_op_backward *b)
{
    sh_graph_grad_of_first(b, SH_OP_mean_grad, SH_NO_VALUE);
}

const sh_op_def sh_op_mean = {.infer = infer, .grad = grad, .each_flops = 1};

static sh_status infer_grad(const sh_op_types *t)
{
    sh_type y = {.dtype = SH_F32};
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    SH_TRY(sh_op_expect(t->op, "the input", &t->out[0], SH_F32, t->out[0].shape.rank));
    SH_TRY(output_shape(t, &t->out[0].shape, &y.shape));
    return sh_op_expect_same(t->op, "dy", &t->in[0], "the output", &y);
}

const sh_op_def sh_op_mean_grad = {.infer = infer_grad};
