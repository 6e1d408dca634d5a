/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resizes images x [N, C, H, W] to the setting `shape`. Along each axis an element of y is a
 * weighted sum of 1, 2 or 4 elements of x. The gradient distributes dy with the same weights.
 */
#include "graph/graph.h"

/* Both must be images with the same number of samples and channels. */
static sh_status expect_images(const sh_op_types *t, const sh_type *a, const sh_type *b)
{
    char text[SH_SHAPE_TEXT], other[SH_SHAPE_TEXT];
    SH_TRY(sh_op_expect(t->op, "the input", a, SH_F32, 4));
    SH_TRY(sh_op_expect(t->op, "the output", b, SH_F32, 4));
    if (a->shape.dim[0] != b->shape.dim[0] || a->shape.dim[1] != b->shape.dim[1])
        return sh_fail(SH_INVALID, "%s: %s cannot become %s: samples and channels must not change",
                       t->op, sh_shape_print(&a->shape, text), sh_shape_print(&b->shape, other));
    for (int i = 0; i < 2; i++) {
        const float scale = t->attributes->scale[i];
        if (!(scale >= 1.0f / SH_RESIZE_MAX && scale <= SH_RESIZE_MAX))
            return sh_fail(SH_INVALID, "%s: a scale of %g is not between 1/%d and %d", t->op,
                           (double)scale, SH_RESIZE_MAX, SH_RESIZE_MAX);
    }
    return SH_OK;
}

static sh_status infer(const sh_op_types *t)
{
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    return expect_images(t, &t->in[0], &t->out[0]);
}

static void grad(const sh_op_backward *b)
{
    sh_graph_grad_of_first(b, SH_OP_resize_grad, SH_NO_VALUE);
}

/* Two flops per element of out[0] and tap. */
static double flops(const sh_op_types *t)
{
    const sh_resize_method method = t->attributes->method;
    const double taps = method == SH_RESIZE_CUBIC ? 16 : method == SH_RESIZE_LINEAR ? 4 : 0.5;
    return 2 * taps * (double)sh_shape_count(&t->out[0].shape);
}

const sh_op_def sh_op_resize = {.infer = infer, .grad = grad, .flops = flops};

static sh_status infer_grad(const sh_op_types *t)
{
    t->out[0] = (sh_type){SH_F32, t->attributes->shape};
    return expect_images(t, &t->in[0], &t->out[0]);
}

const sh_op_def sh_op_resize_grad = {.infer = infer_grad, .flops = flops};
