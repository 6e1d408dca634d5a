/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling over windows: x [N, C, H, W] -> y [N, C, P, Q] of kernel[0] x kernel[1] windows.
 *
 * max_pool gives the largest of each window, and `choice` (u8, as y): which one it was, counted row
 * by row within the window. How `choice` is laid out is the business of the backend that made it;
 * only max_pool_grad reads it, from the same backend. Its windows may reach further beyond the end
 * (after[2], after[3]) than beyond the beginning: PyTorch's ceil_mode.
 *
 * avg_pool divides by the elements of the whole window, zeros of the padding among them: PyTorch's
 * default, count_include_pad.
 */
#include "graph/graph.h"

static sh_status output_shape(const char *op, const sh_attributes *a, const sh_shape *x,
                              sh_shape *y)
{
    char text[SH_SHAPE_TEXT];
    *y = sh_shape_of(4, x->dim);
    if (a->kernel[0] == 0 || a->kernel[1] == 0 || a->stride[0] == 0 || a->stride[1] == 0)
        return sh_fail(SH_INVALID, "%s: kernel and stride are at least 1", op);
    if (a->padding[0] > a->kernel[0] / 2 || a->padding[1] > a->kernel[1] / 2)
        return sh_fail(SH_INVALID, "%s: padding is at most half of the kernel", op);
    for (int i = 0; i < 2; i++) {
        const size_t size = x->dim[2 + i], extent = size + 2 * a->padding[i] + a->after[2 + i];
        if (extent < a->kernel[i])
            return sh_fail(SH_INVALID, "%s: a kernel of %zux%zu does not fit into input %s", op,
                           a->kernel[0], a->kernel[1], sh_shape_print(x, text));
        const size_t steps = (extent - a->kernel[i]) / a->stride[i];
        if (steps * a->stride[i] >= size + a->padding[i])
            return sh_fail(SH_INVALID, "%s: the last windows lie outside of input %s", op,
                           sh_shape_print(x, text));
        y->dim[2 + i] = steps + 1;
    }
    return SH_OK;
}

/* Choices are bytes. */
static sh_status max_output_shape(const char *op, const sh_attributes *a, const sh_shape *x,
                                  sh_shape *y)
{
    if (a->kernel[0] > 255 || a->kernel[1] > 255 || a->kernel[0] * a->kernel[1] > 255)
        return sh_fail(SH_LIMIT, "%s: a window holds at most 255 elements", op);
    return output_shape(op, a, x, y);
}

static sh_status infer(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    SH_TRY(sh_op_expect("max_pool", "the input", &in[0], SH_F32, 4));
    out[0].dtype = SH_F32;
    SH_TRY(max_output_shape("max_pool", a, &in[0].shape, &out[0].shape));
    out[1] = (sh_type){SH_U8, out[0].shape};
    return SH_OK;
}

static void grad(sh_graph *graph, const sh_node *node, const sh_value_id *dout, const bool *wanted,
                 sh_value_id *din)
{
    (void)wanted;
    sh_value_id out[SH_MAX_OUTPUTS];
    sh_attributes attributes = node->attributes;
    attributes.shape = sh_graph_type(graph, node->in[0])->shape;
    din[0] = sh_graph_add(graph, SH_OP_max_pool_grad, &attributes,
                          (sh_value_id[]){dout[0], node->out[1]}, out);
}

const sh_op_def sh_op_max_pool = {
    .name = "max_pool",
    .input_count = 1,
    .output_count = 2,
    .infer = infer,
    .grad = grad,
};

static sh_status infer_grad(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    static const char op[] = "max_pool_grad";
    sh_type y = {.dtype = SH_F32};
    SH_TRY(sh_op_expect(op, "dy", &in[0], SH_F32, 4));
    SH_TRY(sh_op_expect(op, "the choices", &in[1], SH_U8, 4));
    out[0] = (sh_type){SH_F32, a->shape};
    SH_TRY(sh_op_expect(op, "the input", &out[0], SH_F32, 4));
    SH_TRY(max_output_shape(op, a, &a->shape, &y.shape));
    SH_TRY(sh_op_expect_same(op, "dy", &in[0], "the output", &y));
    y.dtype = SH_U8;
    return sh_op_expect_same(op, "the choices", &in[1], "the output", &y);
}

const sh_op_def sh_op_max_pool_grad = {
    .name = "max_pool_grad",
    .input_count = 2,
    .output_count = 1,
    .infer = infer_grad,
};

static double flops_windows(const sh_attributes *a, const sh_type *windows)
{
    return (double)(a->kernel[0] * a->kernel[1]) * (double)sh_shape_count(&windows->shape);
}

/* What reaches beyond the padding would count in no way that is everybody's. */
static sh_status avg_output_shape(const char *op, const sh_attributes *a, const sh_shape *x,
                                  sh_shape *y)
{
    if (a->after[2] != 0 || a->after[3] != 0)
        return sh_fail(SH_INVALID, "%s: the padding is the same on both sides", op);
    return output_shape(op, a, x, y);
}

static sh_status infer_avg(const sh_attributes *a, const sh_type *in, uint32_t count, sh_type *out)
{
    (void)count;
    SH_TRY(sh_op_expect("avg_pool", "the input", &in[0], SH_F32, 4));
    out[0].dtype = SH_F32;
    return avg_output_shape("avg_pool", a, &in[0].shape, &out[0].shape);
}

static void grad_avg(sh_graph *graph, const sh_node *node, const sh_value_id *dout,
                     const bool *wanted, sh_value_id *din)
{
    (void)wanted;
    sh_attributes attributes = node->attributes;
    attributes.shape = sh_graph_type(graph, node->in[0])->shape;
    din[0] = sh_graph_add(graph, SH_OP_avg_pool_grad, &attributes, dout, NULL);
}

static double flops_avg(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)in;
    return flops_windows(a, &out[0]);
}

const sh_op_def sh_op_avg_pool = {
    .name = "avg_pool",
    .input_count = 1,
    .output_count = 1,
    .infer = infer_avg,
    .grad = grad_avg,
    .flops = flops_avg,
};

static sh_status infer_avg_grad(const sh_attributes *a, const sh_type *in, uint32_t count,
                                sh_type *out)
{
    (void)count;
    static const char op[] = "avg_pool_grad";
    sh_type y = {.dtype = SH_F32};
    SH_TRY(sh_op_expect(op, "dy", &in[0], SH_F32, 4));
    out[0] = (sh_type){SH_F32, a->shape};
    SH_TRY(sh_op_expect(op, "the input", &out[0], SH_F32, 4));
    SH_TRY(avg_output_shape(op, a, &a->shape, &y.shape));
    return sh_op_expect_same(op, "dy", &in[0], "the output", &y);
}

static double flops_avg_grad(const sh_attributes *a, const sh_type *in, const sh_type *out)
{
    (void)out;
    return flops_windows(a, &in[0]);
}

const sh_op_def sh_op_avg_pool_grad = {
    .name = "avg_pool_grad",
    .input_count = 1,
    .output_count = 1,
    .infer = infer_avg_grad,
    .flops = flops_avg_grad,
};
