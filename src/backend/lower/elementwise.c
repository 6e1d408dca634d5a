/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "backend/lower/lowering.h"

static void add(const sh_call *call)
{
    const float *a = call->in[0], *b = call->in[1];
    float *y = call->out[0];
    SH_EACH_ELEMENT (i, call->elements)
        y[i] = a[i] + b[i];
}

const sh_lowering sh_lower_add = {
    .run = add, .layout = SH_LAYOUT_OF_FIRST, .by_sample = SH_IN(0) | SH_IN(1) | SH_OUT(0)};

static void subtract(const sh_call *call)
{
    const float *a = call->in[0], *b = call->in[1];
    float *y = call->out[0];
    SH_EACH_ELEMENT (i, call->elements)
        y[i] = a[i] - b[i];
}

const sh_lowering sh_lower_subtract = {
    .run = subtract, .layout = SH_LAYOUT_OF_FIRST, .by_sample = SH_IN(0) | SH_IN(1) | SH_OUT(0)};

static void negate(const sh_call *call)
{
    const float *x = call->in[0];
    float *y = call->out[0];
    SH_EACH_ELEMENT (i, call->elements)
        y[i] = -x[i];
}

const sh_lowering sh_lower_negate = {
    .run = negate, .layout = SH_LAYOUT_OF_FIRST, .by_sample = SH_IN(0) | SH_OUT(0)};

static void multiply(const sh_call *call)
{
    const float *a = call->in[0], *b = call->in[1];
    float *y = call->out[0];
    SH_EACH_ELEMENT (i, call->elements)
        y[i] = a[i] * b[i];
}

const sh_lowering sh_lower_multiply = {
    .run = multiply, .layout = SH_LAYOUT_OF_FIRST, .by_sample = SH_IN(0) | SH_IN(1) | SH_OUT(0)};

/* x [rows, width], b [rows]. */
static void scale(const sh_call *call)
{
    const size_t rows = sh_shape_count(&call->in_type[1].shape);
    const size_t width = sh_shape_count(&call->in_type[0].shape) / rows;
    const float *x = call->in[0], *restrict b = call->in[1];
    float *y = call->out[0];
    for (size_t row = 0; row < rows; row++, x += width, y += width) {
        SH_EACH_ELEMENT (i, width)
            y[i] = x[i] * b[row];
    }
}

const sh_lowering sh_lower_scale = {.run = scale};

static void scale_grad(const sh_call *call)
{
    const size_t rows = sh_shape_count(&call->out_type[0].shape);
    const size_t width = sh_shape_count(&call->in_type[0].shape) / rows;
    const float *restrict dy = call->in[0], *restrict x = call->in[1];
    float *restrict db = call->out[0];
    for (size_t row = 0; row < rows; row++, x += width, dy += width)
        db[row] = (float)call->kernels->wide_sum(SH_WIDE_PRODUCTS, width, dy, x, 0);
}

const sh_lowering sh_lower_scale_grad = {.run = scale_grad};
