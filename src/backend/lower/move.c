/* SPDX-License-Identifier: Apache-2.0 */
/* expand also divides for the gradient of mean. */
#include <string.h>

#include "backend/lower/lowering.h"
#include "backend/lower/walk.h"
#include "graph/formulas.h"

const sh_lowering sh_lower_reshape = {.alias = true};

static void copy_box(const sh_shape *shape, float *to, const size_t *to_stride, const float *from,
                     const size_t *from_stride, bool channels_last)
{
    sh_walk w = sh_walk_over(shape, channels_last, to_stride, from_stride);
    do {
        float *const row = to + w.offset[0];
        const float *const source = from + w.offset[1];
        if (w.step[0] == 1 && w.step[1] == 1)
            memcpy(row, source, w.length * sizeof *row);
        else
            for (size_t k = 0; k < w.length; k++)
                row[k * w.step[0]] = source[k * w.step[1]];
    } while (sh_walk_next(&w));
}

static void expand(const sh_call *call)
{
    const sh_shape *x = &call->in_type[0].shape, *y = &call->out_type[0].shape;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK];
    sh_strides_repeated(x_stride, x, false, y);
    sh_strides(y_stride, y, false);
    float *to = call->out[0];
    copy_box(y, to, y_stride, call->in[0], x_stride, false);
    if (call->attributes->function != SH_REDUCE_MEAN)
        return;
    const size_t count = sh_shape_count(y);
    const size_t each = count / call->elements; /* copies of an element */
    const float copies = (float)each;
    SH_EACH_ELEMENT (i, count)
        to[i] /= copies;
}

const sh_lowering sh_lower_expand = {.run = expand};

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
    sh_strides(x_stride, x, call->channels_last);
    sh_strides(y_stride, y, call->channels_last);
    const float *from = call->in[0];
    copy_box(y, call->out[0], y_stride, from + offset(call->attributes->before, x_stride, x->rank),
             x_stride, call->channels_last);
}

const sh_lowering sh_lower_slice = {.run = slice, .layout = SH_LAYOUT_OF_FIRST};

static void transpose(const sh_call *call)
{
    const sh_shape *x = &call->in_type[0].shape, *y = &call->out_type[0].shape;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK], from_stride[SH_MAX_RANK];
    sh_strides(x_stride, x, false);
    sh_strides(y_stride, y, false);
    for (size_t i = 0; i < y->rank; i++)
        from_stride[i] = x_stride[call->attributes->order[i]];
    copy_box(y, call->out[0], y_stride, call->in[0], from_stride, false);
}

const sh_lowering sh_lower_transpose = {.run = transpose};

static void pad(const sh_call *call)
{
    const sh_shape *x = &call->in_type[0].shape, *y = &call->out_type[0].shape;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK];
    sh_strides(x_stride, x, call->channels_last);
    sh_strides(y_stride, y, call->channels_last);
    float *to = call->out[0];
    memset(to, 0, sh_type_bytes(&call->out_type[0]));
    copy_box(x, to + offset(call->attributes->before, y_stride, y->rank), y_stride, call->in[0],
             x_stride, call->channels_last);
}

const sh_lowering sh_lower_pad = {.run = pad, .layout = SH_LAYOUT_OF_FIRST};

static void concat(const sh_call *call)
{
    const sh_shape *y = &call->out_type[0].shape;
    const size_t axis = call->attributes->axis;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK];
    sh_strides(y_stride, y, call->channels_last);
    float *to = call->out[0];
    for (uint32_t i = 0; i < call->in_count; i++) {
        const sh_shape *x = &call->in_type[i].shape;
        sh_strides(x_stride, x, call->channels_last);
        copy_box(x, to, y_stride, call->in[i], x_stride, call->channels_last);
        to += x->dim[axis] * y_stride[axis];
    }
}

const sh_lowering sh_lower_concat = {.run = concat, .channels_last = sh_any_channels_last};
