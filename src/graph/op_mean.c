/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mean over `axes` dimensions from `axis` on, which disappear: [2, 3, 4, 5] with axis 2 and
 * axes 2 becomes [2, 3], which is global average pooling.
 */
#include "graph/graph.h"

static sh_status output_shape(const char *op, const sh_attributes *a, const sh_shape *x,
                              sh_shape *y)
{
    char text[SH_SHAPE_TEXT];
    if (a->axes == 0 || a->axis >= x->rank || a->axes > x->rank - a->axis)
        return sh_fail(SH_INVALID, "%s: %s has no %zu dimensions from %zu on", op,
                       sh_shape_print(x, text), a->axes, a->axis);
    *y = sh_shape_of(a->axis, x->dim);
    for (size_t i = a->axis + a->axes; i < x->rank; i++)
        y->dim[y->rank++] = x->dim[i];
    return SH_OK;
}

static sh_status infer(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    SH_TRY(sh_op_expect("mean", "the input", &in[0], SH_F32, in[0].shape.rank));
    out[0].dtype = SH_F32;
    return output_shape("mean", a, &in[0].shape, &out[0].shape);
}

static void grad(sh_graph *graph, const sh_node *node, const sh_value_id *dout, const bool *wanted,
                 sh_value_id *din)
{
    (void)wanted;
    sh_attributes attributes = node->attributes;
    attributes.shape = sh_graph_type(graph, node->in[0])->shape;
    din[0] = sh_graph_add(graph, SH_OP_mean_grad, &attributes, dout, NULL);
}

const sh_op_def sh_op_mean = {
    .name = "mean",
    .input_count = 1,
    .output_count = 1,
    .infer = infer,
    .grad = grad,
    .each_flops = 1,
};

static sh_status infer_grad(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    sh_type y = {.dtype = SH_F32};
    out[0] = (sh_type){SH_F32, a->shape};
    SH_TRY(sh_op_expect("mean_grad", "the input", &out[0], SH_F32, a->shape.rank));
    SH_TRY(output_shape("mean_grad", a, &a->shape, &y.shape));
    return sh_op_expect_same("mean_grad", "dy", &in[0], "the output", &y);
}

const sh_op_def sh_op_mean_grad = {
    .name = "mean_grad",
    .input_count = 1,
    .output_count = 1,
    .infer = infer_grad,
};
