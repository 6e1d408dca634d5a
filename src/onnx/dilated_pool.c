/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Along each spatial dimension, x is padded and the elements of all windows are gathered. An
 * ordinary pooling then runs over them, with a stride equal to the kernel size. Its mean counts the
 * padding. Where padding must not count, the mean is multiplied by a correction factor.
 */
#include "onnx/dilated_pool.h"

#include <math.h>
#include <stdlib.h>

#include "graph/array_layers.h"
#include "graph/general_layers.h"
#include "onnx/import_constants.h"
#include "onnx/padding.h"

/* Windows along one dimension. Positions count from the first element of the padding. */
typedef struct side {
    size_t extent, kernel, stride, dilation, before, after;
    size_t windows;
    size_t needed; /* positions from the first to the last one in a window */
} side;

static sh_status measure(side *s, const sh_attributes *a, int axis, size_t extent, bool ceil)
{
    *s = (side){.extent = extent,
                .kernel = a->kernel[axis],
                .stride = a->stride[axis],
                .dilation = a->dilation[axis],
                .before = a->padding[axis],
                .after = a->end_padding[axis]};
    const size_t span = s->dilation * (s->kernel - 1) + 1, padded = extent + s->before + s->after;
    if (padded < span)
        return sh_fail(SH_INVALID, "a window of %zu does not fit %zu elements", span, padded);
    s->windows = (padded - span) / s->stride + 1;
    if (ceil && (padded - span) % s->stride != 0 && s->windows * s->stride < extent + s->before)
        s->windows++; /* it ends behind the padding but begins before it */
    s->needed = (s->windows - 1) * s->stride + span;
    return SH_OK;
}

/* Pads x as far as windows reach, with -inf if `largest`. Nothing is removed. */
static sh_status surround(sh_value_id *x, const sh_onnx_use *use, const side *s, size_t axis,
                          bool largest)
{
    sh_attributes more = {0};
    const size_t reached = s->before + s->extent;
    more.before[axis] = s->before;
    more.after[axis] = s->needed > reached ? s->needed - reached : 0;
    if (more.before[axis] + more.after[axis] == 0)
        return SH_OK;
    SH_TRY(sh_import_emit(x, use, SH_OP_pad, &more, x));
    if (!largest)
        return SH_OK;
    const sh_shape of_x = *sh_import_shape(use, *x);
    sh_shape line = {.rank = of_x.rank - axis}; /* broadcasting aligns dimensions at the end */
    for (size_t i = 0; i < line.rank; i++)
        line.dim[i] = i == 0 ? of_x.dim[axis] : 1;
    float *values = malloc(line.dim[0] * sizeof *values);
    if (values == NULL)
        return sh_fail_memory(line.dim[0] * sizeof *values, "a padding");
    for (size_t i = 0; i < line.dim[0]; i++)
        values[i] = i >= s->before && i < reached ? 0 : -INFINITY;
    sh_value_id around;
    const sh_status status =
        sh_import_frozen(&around, use, axis == of_x.rank - 1 ? "beside" : "above", line, values);
    free(values);
    SH_TRY(status);
    return sh_import_made(x, use, sh_layer_pair(use->importer->net, SH_PAIR_ADD, *x, around));
}

static sh_status spread(sh_value_id *x, const sh_onnx_use *use, const side *s, size_t axis)
{
    const size_t count = s->windows * s->kernel;
    size_t *places = malloc(count * sizeof *places);
    if (places == NULL)
        return sh_fail_memory(count * sizeof *places, "windows");
    for (size_t i = 0; i < count; i++)
        places[i] = i / s->kernel * s->stride + i % s->kernel * s->dilation;
    const sh_status status = sh_import_places(x, use, *x, axis, places, count);
    free(places);
    return status;
}

/* Counts the positions of a window that enter the mean: those of the padding only if `padding`. */
static size_t counted(const side *s, size_t window, bool padding)
{
    const size_t first = padding ? 0 : s->before;
    const size_t end = s->before + s->extent + (padding ? s->after : 0);
    size_t count = 0;
    for (size_t i = 0; i < s->kernel; i++) {
        const size_t at = window * s->stride + i * s->dilation;
        count += at >= first && at < end;
    }
    return count;
}

static sh_status correct(sh_value_id *y, const sh_onnx_use *use, const side *sides, size_t count,
                         bool padding)
{
    sh_shape shape = {.rank = count};
    sh_value_id factors;
    for (size_t i = 0; i < count; i++)
        shape.dim[i] = sides[i].windows;
    const size_t windows = sh_shape_count(&shape), last = sides[count - 1].windows;
    float *values = malloc(windows * sizeof *values);
    if (values == NULL)
        return sh_fail_memory(windows * sizeof *values, "windows");
    for (size_t i = 0; i < windows; i++) {
        size_t whole = sides[count - 1].kernel,
               part = counted(&sides[count - 1], i % last, padding);
        if (count == 2) {
            whole *= sides[0].kernel;
            part *= counted(&sides[0], i / last, padding);
        }
        values[i] = part == 0 ? 0 : (float)whole / (float)part;
    }
    const sh_status status = sh_import_frozen(&factors, use, "factors", shape, values);
    free(values);
    SH_TRY(status);
    return sh_import_made(y, use, sh_layer_pair(use->importer->net, SH_PAIR_MULTIPLY, *y, factors));
}

sh_status sh_import_dilated_pool(sh_value_id *y, const sh_onnx_use *use, sh_op op, sh_value_id x,
                                 const sh_attributes *attributes, bool ceil)
{
    sh_attributes apart = {0};
    side sides[2];
    const size_t rank = sh_import_shape(use, x)->rank, count = rank - 2;
    for (size_t i = 0; i < count; i++) {
        const size_t axis = 2 + i, pair = 2 - count + i;
        const size_t extent = sh_import_shape(use, x)->dim[axis];
        SH_TRY(measure(&sides[i], attributes, (int)pair, extent, ceil));
        SH_TRY(surround(&x, use, &sides[i], axis, op == SH_OP_max_pool));
        SH_TRY(spread(&x, use, &sides[i], axis));
        apart.kernel[pair] = apart.stride[pair] = sides[i].kernel;
    }
    SH_TRY(sh_import_made(y, use, sh_net_pool(use->importer->net, op, x, &apart, false)));
    if (op == SH_OP_max_pool)
        return SH_OK;
    return correct(y, use, sides, count, !attributes->inside);
}
