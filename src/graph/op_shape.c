/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With the same settings `before` and `after`, slice and pad are each other's gradients. The
 * gradient of concat is one slice per input.
 */
#include "graph/graph.h"

static sh_status infer_reshape(const sh_op_types *t)
{
    const sh_shape *from = &t->in[0].shape, *to = &t->attributes->shape;
    char from_text[SH_SHAPE_TEXT], to_text[SH_SHAPE_TEXT];
    SH_TRY(sh_shape_check(from));
    SH_TRY(sh_shape_check(to));
    if (sh_shape_count(from) != sh_shape_count(to))
        return sh_fail(SH_INVALID, "reshape: %s and %s have different numbers of elements",
                       sh_shape_print(from, from_text), sh_shape_print(to, to_text));
    t->out[0] = (sh_type){t->in[0].dtype, *to};
    return SH_OK;
}

static void grad_reshape(const sh_op_backward *b)
{
    sh_graph_grad_of_first(b, SH_OP_reshape, SH_NO_VALUE);
}

const sh_op_def sh_op_reshape = {.infer = infer_reshape, .grad = grad_reshape};

static sh_status begin_as_input(const sh_op_types *t)
{
    t->out[0] = t->in[0];
    return sh_op_expect(t->op, "the input", &t->in[0], SH_F32, t->in[0].shape.rank);
}

static sh_status infer_concat(const sh_op_types *t)
{
    const size_t axis = t->attributes->axis, rank = t->in[0].shape.rank;
    SH_TRY(begin_as_input(t));
    if (axis >= rank)
        return sh_fail(SH_INVALID, "concat: inputs of %zu dimensions have no dimension %zu", rank,
                       axis);
    for (uint32_t i = 1; i < t->count; i++) {
        sh_type but_axis = t->in[i];
        SH_TRY(sh_op_expect(t->op, "an input", &t->in[i], SH_F32, rank));
        but_axis.shape.dim[axis] = t->in[0].shape.dim[axis];
        SH_TRY(sh_op_expect_same(t->op, "apart from the joined dimension an input", &but_axis,
                                 "the first", &t->in[0]));
        t->out[0].shape.dim[axis] += t->in[i].shape.dim[axis];
    }
    return sh_shape_check(&t->out[0].shape);
}

static void grad_concat(const sh_op_backward *b)
{
    const size_t axis = b->node->attributes.axis;
    const size_t whole = sh_graph_type(b->graph, b->node->out[0])->shape.dim[axis];
    size_t before = 0;
    for (uint32_t i = 0; i < b->node->input_count; i++) {
        const size_t part = sh_graph_type(b->graph, b->node->in[i])->shape.dim[axis];
        sh_attributes attributes = {0};
        attributes.before[axis] = before;
        attributes.after[axis] = whole - before - part;
        if (b->wanted[i])
            b->din[i] = sh_graph_add(b->graph, SH_OP_slice, &attributes, b->dout, NULL);
        before += part;
    }
}

const sh_op_def sh_op_concat = {
    .optional = SH_MAX_INPUTS - 1,
    .infer = infer_concat,
    .grad = grad_concat,
};

static sh_status infer_slice(const sh_op_types *t)
{
    const size_t *before = t->attributes->before, *after = t->attributes->after;
    char text[SH_SHAPE_TEXT];
    SH_TRY(begin_as_input(t));
    for (size_t i = 0; i < t->in[0].shape.rank; i++) {
        const size_t dim = t->in[0].shape.dim[i];
        if (before[i] >= dim || after[i] >= dim - before[i])
            return sh_fail(SH_INVALID,
                           "slice: %zu + %zu left out of dimension %zu of %s: nothing remains",
                           before[i], after[i], i, sh_shape_print(&t->in[0].shape, text));
        t->out[0].shape.dim[i] = dim - before[i] - after[i];
    }
    return SH_OK;
}

static void grad_slice(const sh_op_backward *b)
{
    sh_graph_grad_of_first(b, SH_OP_pad, SH_NO_VALUE);
}

const sh_op_def sh_op_slice = {.infer = infer_slice, .grad = grad_slice};

static sh_status infer_transpose(const sh_op_types *t)
{
    const sh_shape *x = &t->in[0].shape;
    bool used[SH_MAX_RANK] = {false};
    SH_TRY(begin_as_input(t));
    for (size_t i = 0; i < x->rank; i++) {
        const size_t from = t->attributes->order[i];
        if (from >= x->rank || used[from])
            return sh_fail(
                SH_INVALID,
                "transpose: the order must name each of %zu dimensions once, not %zu again",
                x->rank, from);
        used[from] = true;
        t->out[0].shape.dim[i] = x->dim[from];
    }
    return SH_OK;
}

static void grad_transpose(const sh_op_backward *b)
{
    sh_attributes back = {0};
    for (size_t i = 0; i < sh_graph_type(b->graph, b->node->in[0])->shape.rank; i++)
        back.order[b->node->attributes.order[i]] = (uint8_t)i;
    b->din[0] = sh_graph_add(b->graph, SH_OP_transpose, &back, b->dout, NULL);
}

const sh_op_def sh_op_transpose = {.infer = infer_transpose, .grad = grad_transpose};

static sh_status infer_pad(const sh_op_types *t)
{
    SH_TRY(begin_as_input(t));
    for (size_t i = 0; i < t->in[0].shape.rank; i++)
        t->out[0].shape.dim[i] += t->attributes->before[i] + t->attributes->after[i];
    return sh_shape_check(&t->out[0].shape);
}

static void grad_pad(const sh_op_backward *b)
{
    sh_graph_grad_of_first(b, SH_OP_slice, SH_NO_VALUE);
}

const sh_op_def sh_op_pad = {.infer = infer_pad, .grad = grad_pad};
