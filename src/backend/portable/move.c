/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only move elements. Strides are in elements, by dimension. */
#include <string.h>

#include "backend/portable/portable.h"

const sh_portable_def sh_portable_reshape = {.alias = true};

static void row_major(const sh_shape *shape, size_t stride[SH_MAX_RANK])
{
    size_t step = 1;
    for (size_t i = shape->rank; i-- > 0; step *= shape->dim[i])
        stride[i] = step;
}

/* to[i, j, ...] = from[i, j, ...] for all indices below `dim`. */
static void copy_box(size_t rank, const size_t *dim, float *to, const size_t *to_stride,
                     const float *from, const size_t *from_stride)
{
    if (rank == 0) {
        *to = *from;
        return;
    }
    if (rank == 1 && to_stride[0] == 1 && from_stride[0] == 1) {
        memcpy(to, from, dim[0] * sizeof *to);
        return;
    }
    for (size_t i = 0; i < dim[0]; i++)
        copy_box(rank - 1, dim + 1, to + i * to_stride[0], to_stride + 1, from + i * from_stride[0],
                 from_stride + 1);
}

static size_t offset(const size_t *index, const size_t *stride, size_t rank)
{
    size_t sum = 0;
    for (size_t i = 0; i < rank; i++)
        sum += index[i] * stride[i];
    return sum;
}

static void slice(const sh_portable_call *call)
{
    const sh_shape *x = &call->in_type[0].shape, *y = &call->out_type[0].shape;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK];
    row_major(x, x_stride);
    row_major(y, y_stride);
    const float *from = call->in[0];
    copy_box(y->rank, y->dim, call->out[0], y_stride,
             from + offset(call->attributes->before, x_stride, x->rank), x_stride);
}

const sh_portable_def sh_portable_slice = {.run = slice};

static void transpose(const sh_portable_call *call)
{
    const sh_shape *x = &call->in_type[0].shape, *y = &call->out_type[0].shape;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK], from_stride[SH_MAX_RANK];
    row_major(x, x_stride);
    row_major(y, y_stride);
    for (size_t i = 0; i < y->rank; i++)
        from_stride[i] = x_stride[call->attributes->order[i]];
    copy_box(y->rank, y->dim, call->out[0], y_stride, call->in[0], from_stride);
}

const sh_portable_def sh_portable_transpose = {.run = transpose};

static void pad(const sh_portable_call *call)
{
    const sh_shape *x = &call->in_type[0].shape, *y = &call->out_type[0].shape;
    size_t x_stride[SH_MAX_RANK], y_stride[SH_MAX_RANK];
    row_major(x, x_stride);
    row_major(y, y_stride);
    float *to = call->out[0];
    memset(to, 0, sh_type_bytes(&call->out_type[0]));
    copy_box(x->rank, x->dim, to + offset(call->attributes->before, y_stride, y->rank), y_stride,
             call->in[0], x_stride);
}

const sh_portable_def sh_portable_pad = {.run = pad};

static void concat(const sh_portable_call *call)
{
    const sh_shape *y = &call->out_type[0].shape;
    const size_t axis = call->attributes->axis;
    size_t stride[SH_MAX_RANK], outer = 1;
    row_major(y, stride);
    for (size_t i = 0; i < axis; i++)
        outer *= y->dim[i];
    float *to = call->out[0];
    for (uint32_t i = 0; i < call->in_count; i++) {
        const float *from = call->in[i];
        const size_t run = call->in_type[i].shape.dim[axis] * stride[axis];
        for (size_t j = 0; j < outer; j++)
            memcpy(to + j * y->dim[axis] * stride[axis], from + j * run, run * sizeof *to);
        to += run;
    }
}

const sh_portable_def sh_portable_concat = {.run = concat};
