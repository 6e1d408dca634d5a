/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling over windows: x [N, C, H, W] -> y [N, C, P, Q] of kernel[0] x kernel[1] windows.
 *
 * Windows extend at most `padding` before the image and `end_padding` after it. after[2] and
 * after[3] extend the last ones beyond that: PyTorch's ceil_mode.
 *
 * max_pool returns the maximum of each window and `choice` (u8, same shape): the index of the
 * maximum in the window, row by row. The lowering decides the memory layout of `choice`, since
 * only max_pool_grad reads it. Elements outside the image are never the maximum.
 *
 * avg_pool divides by the number of elements of the window in image and padding, or with the
 * setting `inside` by the number in the image.
 */
#include "graph/graph.h"

static sh_status output_shape(const sh_op_types *t, const sh_shape *x, sh_shape *y)
{
    const sh_attributes *a = t->attributes;
    char text[SH_SHAPE_TEXT];
    *y = sh_shape_of(4, x->dim);
    if (a->kernel[0] == 0 || a->kernel[1] == 0 || a->stride[0] == 0 || a->stride[1] == 0)
        return sh_fail(SH_INVALID, "%s: kernel and stride must be at least 1", t->op);
    if (a->dilation[0] > 1 || a->dilation[1] > 1)
        return sh_fail(SH_INVALID, "%s: dilation is not supported", t->op);
    for (int i = 0; i < 2; i++) {
        const size_t size = x->dim[2 + i], end = a->end_padding[i];
        if (a->padding[i] >= a->kernel[i] || end >= a->kernel[i])
            return sh_fail(SH_INVALID, "%s: padding must be smaller than the kernel", t->op);
        const size_t extent = size + a->padding[i] + end + a->after[2 + i];
        if (extent < a->kernel[i])
            return sh_fail(SH_INVALID, "%s: a kernel of %zux%zu does not fit into input %s", t->op,
                           a->kernel[0], a->kernel[1], sh_shape_print(x, text));
        const size_t steps = (extent - a->kernel[i]) / a->stride[i];
        if (steps * a->stride[i] >= size + a->padding[i])
            return sh_fail(SH_INVALID, "%s: the last windows are outside of input %s", t->op,
                           sh_shape_print(x, text));
        y->dim[2 + i] = steps + 1;
    }
    return SH_OK;
}

/* Choices are bytes, which limits the size of windows. */
static sh_status max_output_shape(const sh_op_types *t, const sh_shape *x, sh_shape *y)
{
    const size_t *kernel = t->attributes->kernel;
    if (kernel[0] > 255 || kernel[1] > 255 || kernel[0] * kernel[1] > 255)
        return sh_fail(SH_LIMIT, "%s: a window can hold at most 255 elements", t->op);
    return output_shape(t, x, y);
}

static sh_status infer(const sh_op_types *t)
{
    SH_TRY(sh_op_expect(t->op, "the input", &t->in[0], SH_F32, 4));
    t->out[0].dtype = SH_F32;
    SH_TRY(max_output_shape(t, &t->in[0].shape, &t->out[0].shape));
    t->out[1] = (sh_type){SH_U8, t->out[0].shape};
    return SH_OK;
}

static void grad(const sh_op_backward *b)
{
    sh_graph_grad_of_first(b, SH_OP_max_pool_grad, b->node->out[1]);
}

const sh_op_def sh_op_max_pool = {.infer = infer, .grad = grad};

static sh_status infer_grad(const sh_op_types *t)
{
    sh_type y = {.dtype = SH_F32};
    SH_TRY(sh_op_expect(t->op, "dy", &t->in[0], SH_F32, 4));
    SH_TRY(sh_op_expect(t->op, "the choices", &t->in[1], SH_U8, 4));
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    SH_TRY(sh_op_expect(t->op, "the input", &t->out[0], SH_F32, 4));
    SH_TRY(max_output_shape(t, &t->out[0].shape, &y.shape));
    SH_TRY(sh_op_expect_same(t->op, "dy", &t->in[0], "the output", &y));
    y.dtype = SH_U8;
    return sh_op_expect_same(t->op, "the choices", &t->in[1], "the output", &y);
}

const sh_op_def sh_op_max_pool_grad = {.infer = infer_grad};

static sh_status infer_avg(const sh_op_types *t)
{
    SH_TRY(sh_op_expect(t->op, "the input", &t->in[0], SH_F32, 4));
    t->out[0].dtype = SH_F32;
    return output_shape(t, &t->in[0].shape, &t->out[0].shape);
}

static void grad_avg(const sh_op_backward *b)
{
    sh_graph_grad_of_first(b, SH_OP_avg_pool_grad, SH_NO_VALUE);
}

static double flops_windows(const sh_attributes *a, const sh_type *windows)
{
    return (double)(a->kernel[0] * a->kernel[1]) * (double)sh_shape_count(&windows->shape);
}

static double flops_avg(const sh_op_types *t)
{
    return flops_windows(t->attributes, &t->out[0]);
}

const sh_op_def sh_op_avg_pool = {.infer = infer_avg, .grad = grad_avg, .flops = flops_avg};

static sh_status infer_avg_grad(const sh_op_types *t)
{
    sh_type y = {.dtype = SH_F32};
    SH_TRY(sh_op_expect(t->op, "dy", &t->in[0], SH_F32, 4));
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    SH_TRY(sh_op_expect(t->op, "the input", &t->out[0], SH_F32, 4));
    SH_TRY(output_shape(t, &t->out[0].shape, &y.shape));
    return sh_op_expect_same(t->op, "dy", &t->in[0], "the output", &y);
}

static double flops_avg_grad(const sh_op_types *t)
{
    return flops_windows(t->attributes, &t->in[0]);
}

const sh_op_def sh_op_avg_pool_grad = {.infer = infer_avg_grad, .flops = flops_avg_grad};
