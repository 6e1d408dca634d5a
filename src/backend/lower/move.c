/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only move elements. Strides are in elements, by dimension. */
#include <string.h>

#include "backend/lower/lowering.h"

const sh_lowering sh_lower_reshape = {.alias = true};

/* By dimension of the shape, whichever way it lies. */
static void strides_of(const sh_shape *shape, bool channels_last, size_t stride[SH_MAX_RANK])
{
    size_t step = channels_last ? shape->dim[1] : 1;
    for (size_t i = shape->rank; i-- > 0;) {
        if (channels_last && i == 1) {
            stride[1] = 1;
            continue;
        }
        stride[i] = step;
        step *= shape->dim[i];
    }
}

/* Are any of the inputs images that lie channels-last? */
static bool any_channels_last(const sh_compiler *compiler, const sh_node *node)
{
    bool any = false;
    for (uint32_t i = 0; i < node->input_count; i++)
        any |= sh_compiler_layout(compiler, node->in[i]).channels_last;
    return any;
}

/* to[i, j, ...] = from[i, j, ...] for all indices below `dim`: those of a shape of this rank. */
static void copy_box(size_t rank, const size_t *dim, float *to, const size_t *to_stride,
                     const float *from, const size_t *from_stride, bool channels_last)
{
    size_t order[SH_MAX_RANK]; /* dimensions, the one that lies closest last */
    size_t used = 0;
    for (size_t i = 0; i < rank; i++)
        if (!channels_last || i != 1)
            order[used++] = i;
    if (channels_last)
        order[used] = 1;
    const size_t inner = order[rank - 1];
    size_t at[SH_MAX_RANK] = {0}, i;
    do {
        if (to_stride[inner] == 1 && from_stride[inner] == 1)
            memcpy(to, from, dim[inner] * sizeof *to);
        else
            for (size_t k = 0; k < dim[inner]; k++)
                to[k * to_stride[inner]] = from[k * from_stride[inner]];
        for (i = rank - 1; i-- > 0;) {
            const size_t d = order[i];
            to += to_stride[d];
            from += from_stride[d];
            if (++at[d] < dim[d])
                break;
            to -= dim[d] * to_stride[d];
            from -= dim[d] * from_stride[d];
            at[d] = 0;
        }
    } while (i < rank);
}

static size_t offset(const size_t *index, const size_t *stride, size_t rank)
{
    size_t sum = 0;
    for (size_t i = 0; i < rank; i++)
        sum += index[i] * stride[i];
    return sum;
}

static void slice(const sh_call *call)
{
    const sh_shape *x = &call->in_type[0].shape, *y = &call->out_type[0].shape;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK];
    strides_of(x, call->channels_last, x_stride);
    strides_of(y, call->channels_last, y_stride);
    const float *from = call->in[0];
    copy_box(y->rank, y->dim, call->out[0], y_stride,
             from + offset(call->attributes->before, x_stride, x->rank), x_stride,
             call->channels_last);
}

const sh_lowering sh_lower_slice = {.run = slice, .layout = SH_LAYOUT_OF_FIRST};

static void transpose(const sh_call *call)
{
    const sh_shape *x = &call->in_type[0].shape, *y = &call->out_type[0].shape;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK], from_stride[SH_MAX_RANK];
    strides_of(x, false, x_stride);
    strides_of(y, false, y_stride);
    for (size_t i = 0; i < y->rank; i++)
        from_stride[i] = x_stride[call->attributes->order[i]];
    copy_box(y->rank, y->dim, call->out[0], y_stride, call->in[0], from_stride, false);
}

const sh_lowering sh_lower_transpose = {.run = transpose};

static void pad(const sh_call *call)
{
    const sh_shape *x = &call->in_type[0].shape, *y = &call->out_type[0].shape;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK];
    strides_of(x, call->channels_last, x_stride);
    strides_of(y, call->channels_last, y_stride);
    float *to = call->out[0];
    memset(to, 0, sh_type_bytes(&call->out_type[0]));
    copy_box(x->rank, x->dim, to + offset(call->attributes->before, y_stride, y->rank), y_stride,
             call->in[0], x_stride, call->channels_last);
}

const sh_lowering sh_lower_pad = {.run = pad, .layout = SH_LAYOUT_OF_FIRST};

static void concat(const sh_call *call)
{
    const sh_shape *y = &call->out_type[0].shape;
    const size_t axis = call->attributes->axis;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK];
    strides_of(y, call->channels_last, y_stride);
    float *to = call->out[0];
    for (uint32_t i = 0; i < call->in_count; i++) {
        const sh_shape *x = &call->in_type[i].shape;
        strides_of(x, call->channels_last, x_stride);
        copy_box(x->rank, x->dim, to, y_stride, call->in[i], x_stride, call->channels_last);
        to += x->dim[axis] * y_stride[axis];
    }
}

const sh_lowering sh_lower_concat = {.run = concat, .channels_last = any_channels_last};
