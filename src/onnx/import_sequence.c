/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PyTorch's newest exporter writes sequences for chunk, split and unbind. A sequence is the value
 * before the split and the sizes of its parts. If the parts are single elements without the split
 * dimension, `sizes` has rank 0.
 */
#include "onnx/import_constants.h"

#define PARTS_MOST 4096

/* The last part may be smaller. */
static sh_status cut_evenly(sh_onnx_constant *sizes, const sh_onnx_use *use, size_t dim,
                            int64_t size)
{
    if (size < 1)
        return sh_fail(SH_INVALID, "its parts have %lld elements", (long long)size);
    const size_t each = (size_t)size, count = dim / each + (dim % each != 0);
    if (count > PARTS_MOST)
        return sh_fail(SH_LIMIT, "%zu parts, at most %d are supported", count, PARTS_MOST);
    SH_TRY(sh_onnx_constant_new(sizes, &use->importer->store, false, 1, &count));
    for (size_t i = 0; i < count; i++)
        sizes->cells[i].whole = (int64_t)(i + 1 < count ? each : dim - i * each);
    return SH_OK;
}

static sh_status check_sizes(const sh_onnx_constant *sizes, size_t dim)
{
    size_t left = dim;
    for (size_t i = 0; i < sizes->count; i++) {
        const int64_t size = sizes->cells[i].whole;
        if (size < 1 || (size_t)size > left)
            return sh_fail(SH_INVALID, "part %zu has %lld of the %zu elements that are left", i,
                           (long long)size, left);
        left -= (size_t)size;
    }
    return left == 0 ? SH_OK : sh_fail(SH_INVALID, "its parts have fewer than %zu elements", dim);
}

sh_status sh_import_split_to_sequence(sh_onnx_use *use)
{
    const sh_onnx_constant *given;
    sh_onnx_constant sizes;
    sh_value_id x;
    size_t axis;
    SH_TRY(sh_import_arity(use, 1, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_constant(&given, use, 1));
    const sh_shape shape = *sh_import_shape(use, x);
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(&use->node, "axis", 0), shape.rank));
    if (axis == use->in[0]->batch)
        return sh_fail(SH_UNSUPPORTED, "it divides the samples");
    if (given != NULL && (given->real || given->rank > 1 || given->count == 0))
        return sh_fail(SH_INVALID, "the sizes of its parts are not integers");
    if (given == NULL && sh_onnx_node_integer(&use->node, "keepdims", 1) == 0)
        SH_TRY(sh_onnx_constant_new(&sizes, &use->importer->store, false, 0, NULL));
    else if (given == NULL || given->rank == 0)
        SH_TRY(cut_evenly(&sizes, use, shape.dim[axis], given == NULL ? 1 : given->cells[0].whole));
    else
        sizes = *given;
    if (sizes.rank == 1)
        SH_TRY(check_sizes(&sizes, shape.dim[axis]));
    sh_import_give(use, 0, x, use->in[0]->batch);
    use->out[0]->kind = SH_ENTRY_SEQUENCE;
    use->out[0]->constant = sizes;
    use->out[0]->new_axis = axis;
    return SH_OK;
}

static sh_status take_one(const sh_onnx_use *use, int64_t position)
{
    const sh_onnx_entry *sequence = use->in[0];
    const sh_shape shape = *sh_import_shape(use, sequence->value);
    const size_t axis = sequence->new_axis, batch = sequence->batch;
    sh_shape rest = {0};
    sh_value_id y;
    size_t index;
    SH_TRY(sh_onnx_axis(&index, position, shape.dim[axis]));
    SH_TRY(sh_import_take(&y, use, sequence->value, axis, index, 1));
    for (size_t i = 0; i < shape.rank; i++)
        if (i != axis)
            rest.dim[rest.rank++] = shape.dim[i];
    SH_TRY(sh_import_reshape(&y, use, y, &rest));
    sh_import_give(use, 0, y, batch == SH_NO_AXIS || batch < axis ? batch : batch - 1);
    return SH_OK;
}

sh_status sh_import_sequence_at(sh_onnx_use *use)
{
    const sh_onnx_constant *position;
    size_t index, first = 0;
    sh_value_id y;
    SH_TRY(sh_import_arity(use, 2, 2));
    SH_TRY(sh_import_constant(&position, use, 1));
    const sh_onnx_entry *sequence = use->in[0];
    if (sequence->kind != SH_ENTRY_SEQUENCE)
        return sh_fail(SH_UNSUPPORTED, "its sequence is not made by SplitToSequence");
    if (position->real || position->count != 1)
        return sh_fail(SH_INVALID, "its position is not an integer");
    if (sequence->constant.rank == 0)
        return take_one(use, position->cells[0].whole);
    SH_TRY(sh_onnx_axis(&index, position->cells[0].whole, sequence->constant.count));
    for (size_t i = 0; i < index; i++)
        first += (size_t)sequence->constant.cells[i].whole;
    SH_TRY(sh_import_take(&y, use, sequence->value, sequence->new_axis, first,
                          (size_t)sequence->constant.cells[index].whole));
    sh_import_give(use, 0, y, sequence->batch);
    return SH_OK;
}
