/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that compute nothing: they rename elements, move them, and add or leave some out.
 *
 * slice leaves out before[d] elements at the beginning and after[d] at the end of each dimension d,
 * pad adds as many zeros there: with the same settings each is the gradient of the other. The
 * gradient of concat is a slice for each input.
 */
#include "graph/graph.h"

static sh_status infer_reshape(const sh_attributes *a, const sh_type *in, uint32_t count,
                               sh_type *out)
{
    (void)count;
    char from[SH_SHAPE_TEXT], to[SH_SHAPE_TEXT];
    SH_TRY(sh_shape_check(&in[0].shape));
    SH_TRY(sh_shape_check(&a->shape));
    if (sh_shape_count(&in[0].shape) != sh_shape_count(&a->shape))
        return sh_fail(SH_INVALID, "reshape: %s and %s have different numbers of elements",
                       sh_shape_print(&in[0].shape, from), sh_shape_print(&a->shape, to));
    out[0] = (sh_type){in[0].dtype, a->shape};
    return SH_OK;
}

static void grad_reshape(sh_graph *graph, const sh_node *node, const sh_value_id *dout,
                         const bool *wanted, sh_value_id *din)
{
    (void)wanted;
    const sh_attributes attributes = {.shape = sh_graph_type(graph, node->in[0])->shape};
    din[0] = sh_graph_add(graph, SH_OP_reshape, &attributes, dout, NULL);
}

const sh_op_def sh_op_reshape = {
    .name = "reshape",
    .input_count = 1,
    .output_count = 1,
    .infer = infer_reshape,
    .grad = grad_reshape,
};

static sh_status infer_concat(const sh_attributes *a, const sh_type *in, uint32_t count,
                              sh_type *out)
{
    SH_TRY(sh_op_expect("concat", "the input", &in[0], SH_F32, in[0].shape.rank));
    if (a->axis >= in[0].shape.rank)
        return sh_fail(SH_INVALID, "concat: inputs of %zu dimensions have no dimension %zu",
                       in[0].shape.rank, a->axis);
    out[0] = in[0];
    for (uint32_t i = 1; i < count; i++) {
        sh_type but_axis = in[i];
        SH_TRY(sh_op_expect("concat", "an input", &in[i], SH_F32, in[0].shape.rank));
        but_axis.shape.dim[a->axis] = in[0].shape.dim[a->axis];
        SH_TRY(sh_op_expect_same("concat", "apart from the joined dimension an input", &but_axis,
                                 "the first", &in[0]));
        out[0].shape.dim[a->axis] += in[i].shape.dim[a->axis];
    }
    return sh_shape_check(&out[0].shape);
}

static void grad_concat(sh_graph *graph, const sh_node *node, const sh_value_id *dout,
                        const bool *wanted, sh_value_id *din)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    const size_t axis = node->attributes.axis;
    const size_t whole = sh_graph_type(graph, node->out[0])->shape.dim[axis];
    size_t before = 0;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const size_t part = sh_graph_type(graph, node->in[i])->shape.dim[axis];
        sh_attributes attributes = {0};
        attributes.before[axis] = before;
        attributes.after[axis] = whole - before - part;
        if (wanted[i])
            din[i] = sh_graph_add(graph, SH_OP_slice, &attributes, dout, out);
        before += part;
    }
}

const sh_op_def sh_op_concat = {
    .name = "concat",
    .input_count = SH_MAX_INPUTS,
    .output_count = 1,
    .optional = SH_MAX_INPUTS - 1,
    .infer = infer_concat,
    .grad = grad_concat,
};

static sh_status infer_slice(const sh_attributes *a, const sh_type *in, uint32_t count,
                             sh_type *out)
{
    (void)count;
    char text[SH_SHAPE_TEXT];
    SH_TRY(sh_op_expect("slice", "the input", &in[0], SH_F32, in[0].shape.rank));
    out[0] = in[0];
    for (size_t i = 0; i < in[0].shape.rank; i++) {
        const size_t dim = in[0].shape.dim[i];
        if (a->before[i] >= dim || a->after[i] >= dim - a->before[i])
            return sh_fail(SH_INVALID, "slice: %zu + %zu left out of dimension %zu of %s: no rest",
                           a->before[i], a->after[i], i, sh_shape_print(&in[0].shape, text));
        out[0].shape.dim[i] = dim - a->before[i] - a->after[i];
    }
    return SH_OK;
}

static void grad_slice(sh_graph *graph, const sh_node *node, const sh_value_id *dout,
                       const bool *wanted, sh_value_id *din)
{
    (void)wanted;
    din[0] = sh_graph_add(graph, SH_OP_pad, &node->attributes, dout, NULL);
}

const sh_op_def sh_op_slice = {
    .name = "slice",
    .input_count = 1,
    .output_count = 1,
    .infer = infer_slice,
    .grad = grad_slice,
};

static sh_status infer_transpose(const sh_attributes *a, const sh_type *in, uint32_t count,
                                 sh_type *out)
{
    (void)count;
    bool used[SH_MAX_RANK] = {false};
    SH_TRY(sh_op_expect("transpose", "the input", &in[0], SH_F32, in[0].shape.rank));
    out[0] = in[0];
    for (size_t i = 0; i < in[0].shape.rank; i++) {
        const size_t from = a->order[i];
        if (from >= in[0].shape.rank || used[from])
            return sh_fail(SH_INVALID,
                           "transpose: the order names each of %zu dimensions once, not %zu again",
                           in[0].shape.rank, from);
        used[from] = true;
        out[0].shape.dim[i] = in[0].shape.dim[from];
    }
    return SH_OK;
}

static void grad_transpose(sh_graph *graph, const sh_node *node, const sh_value_id *dout,
                           const bool *wanted, sh_value_id *din)
{
    (void)wanted;
    sh_attributes back = {0};
    for (size_t i = 0; i < sh_graph_type(graph, node->in[0])->shape.rank; i++)
        back.order[node->attributes.order[i]] = i;
    din[0] = sh_graph_add(graph, SH_OP_transpose, &back, dout, NULL);
}

const sh_op_def sh_op_transpose = {
    .name = "transpose",
    .input_count = 1,
    .output_count = 1,
    .infer = infer_transpose,
    .grad = grad_transpose,
};

static sh_status infer_pad(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    SH_TRY(sh_op_expect("pad", "the input", &in[0], SH_F32, in[0].shape.rank));
    out[0] = in[0];
    for (size_t i = 0; i < in[0].shape.rank; i++)
        out[0].shape.dim[i] += a->before[i] + a->after[i];
    return sh_shape_check(&out[0].shape);
}

static void grad_pad(sh_graph *graph, const sh_node *node, const sh_value_id *dout,
                     const bool *wanted, sh_value_id *din)
{
    (void)wanted;
    din[0] = sh_graph_add(graph, SH_OP_slice, &node->attributes, dout, NULL);
}

const sh_op_def sh_op_pad = {
    .name = "pad",
    .input_count = 1,
    .output_count = 1,
    .infer = infer_pad,
    .grad = grad_pad,
};
