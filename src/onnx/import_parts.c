/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "graph/array_layers.h"
#include "onnx/import_constants.h"

#define PICKS_MOST 64 /* indices of a Gather that become slices */

static size_t product(const size_t *dim, size_t count)
{
    size_t all = 1;
    for (size_t i = 0; i < count; i++)
        all *= dim[i];
    return all;
}

sh_status sh_import_take(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, size_t axis,
                         size_t first, size_t count)
{
    const size_t dim = sh_import_shape(use, x)->dim[axis];
    sh_attributes a = {0};
    *y = x;
    if (count == dim)
        return SH_OK;
    if (first > dim || count > dim - first || count == 0)
        return sh_fail(SH_INVALID, "elements %zu to %zu of %zu", first, first + count, dim);
    a.before[axis] = first;
    a.after[axis] = dim - first - count;
    return sh_import_emit(y, use, SH_OP_slice, &a, &x);
}

/* Reshapes to rows of `step` elements and takes the first of each. */
static sh_status take_each(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, size_t axis,
                           const sh_onnx_range *range)
{
    const size_t step = (size_t)range->step;
    sh_shape shape = *sh_import_shape(use, x);
    const size_t there = shape.dim[axis] - range->first, needs = range->count * step;
    SH_TRY(sh_import_take(&x, use, x, axis, range->first, there < needs ? there : needs));
    if (there < needs) {
        sh_attributes more = {0};
        more.after[axis] = needs - there;
        SH_TRY(sh_import_emit(&x, use, SH_OP_pad, &more, &x));
    }
    const sh_shape rows =
        sh_shape_of(4, (size_t[]){product(shape.dim, axis), range->count, step,
                                  product(shape.dim + axis + 1, shape.rank - axis - 1)});
    SH_TRY(sh_import_reshape(&x, use, x, &rows));
    SH_TRY(sh_import_take(&x, use, x, 2, 0, 1));
    shape.dim[axis] = range->count;
    return sh_import_reshape(y, use, x, &shape);
}

static sh_status take_backwards(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, size_t axis,
                                const sh_onnx_range *range)
{
    size_t *places = malloc(range->count * sizeof *places);
    if (places == NULL)
        return sh_fail_memory(range->count * sizeof *places, "a slice");
    for (size_t i = 0; i < range->count; i++)
        places[i] = range->first - i * (size_t)-range->step;
    const sh_status status = sh_import_places(y, use, x, axis, places, range->count);
    free(places);
    return status;
}

sh_status sh_import_slice(sh_onnx_use *use)
{
    const sh_onnx_constant *in[5] = {NULL};
    sh_onnx_range ranges[SH_ONNX_RANK_MOST];
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 1, 5));
    SH_TRY(sh_import_value(&x, use, 0));
    for (size_t i = 1; i < use->in_count; i++)
        SH_TRY(sh_import_constant(&in[i], use, i));
    const sh_shape shape = *sh_import_shape(use, x);
    SH_TRY(sh_onnx_ranges(ranges, &use->node, shape.rank, shape.dim, in, use->in_count));
    for (size_t i = 0; i < shape.rank; i++) {
        const sh_onnx_range *range = &ranges[i];
        const bool whole = range->count == shape.dim[i] && range->step == 1;
        if (!whole && i == use->in[0]->batch)
            return sh_fail(SH_UNSUPPORTED, "it selects some of the samples");
        if (range->count == 0)
            return sh_fail(SH_UNSUPPORTED, "nothing is left of dimension %zu", i);
        if (range->count == 1 || range->step == 1)
            SH_TRY(sh_import_take(&x, use, x, i, range->first, range->count));
        else if (range->step < 0)
            SH_TRY(take_backwards(&x, use, x, i, range));
        else
            SH_TRY(take_each(&x, use, x, i, range));
    }
    sh_import_give(use, 0, x, use->in[0]->batch);
    return SH_OK;
}

sh_status sh_import_split(sh_onnx_use *use)
{
    enum { MOST = 256 };
    const sh_onnx_constant *sizes;
    int64_t listed[MOST];
    size_t count, axis, first = 0;
    bool given;
    sh_value_id x, y;
    SH_TRY(sh_import_arity(use, 1, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_constant(&sizes, use, 1));
    SH_TRY(sh_onnx_list(&given, &count, listed, MOST, &use->node, "split", sizes));
    const sh_shape shape = *sh_import_shape(use, x);
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(&use->node, "axis", 0), shape.rank));
    if (axis == use->in[0]->batch)
        return sh_fail(SH_UNSUPPORTED, "it divides the samples");
    const size_t each = (shape.dim[axis] + use->out_count - 1) / use->out_count;
    if (given && count != use->out_count)
        return sh_fail(SH_INVALID, "%zu sizes for %zu outputs", count, use->out_count);
    for (size_t i = 0; i < use->out_count; i++) {
        const size_t left = shape.dim[axis] - first;
        const size_t size = !given          ? (each < left ? each : left)
                            : listed[i] < 0 ? SIZE_MAX
                                            : (size_t)listed[i];
        if (size > left)
            return sh_fail(SH_INVALID, "its parts are more than %zu elements", shape.dim[axis]);
        SH_TRY(sh_import_take(&y, use, x, axis, first, size));
        sh_import_give(use, i, y, use->in[0]->batch);
        first += size;
    }
    return SH_OK;
}

/* Joins SH_MAX_INPUTS values at a time. */
static sh_status join(sh_value_id *y, const sh_onnx_use *use, sh_value_id *x, size_t count,
                      size_t axis)
{
    const sh_attributes along = {.axis = axis};
    while (count > 1) {
        size_t made = 0;
        for (size_t i = 0; i < count; i += SH_MAX_INPUTS) {
            sh_value_id in[SH_MAX_INPUTS];
            for (size_t j = 0; j < SH_MAX_INPUTS; j++)
                in[j] = i + j < count ? x[i + j] : SH_NO_VALUE;
            sh_value_id joined = in[0];
            if (i + 1 < count)
                SH_TRY(sh_import_emit(&joined, use, SH_OP_concat, &along, in));
            x[made++] = joined;
        }
        count = made;
    }
    *y = x[0];
    return SH_OK;
}

/* Repeats x for each sample, along dimension `batch`. Input `like` has the samples. */
static sh_status repeat_samples(sh_value_id *x, const sh_onnx_use *use, size_t input, size_t like,
                                size_t batch)
{
    sh_shape shape = *sh_import_shape(use, *x);
    const sh_onnx_change change = {
        .input = input, .count = shape.rank, .repeats = true, .like = like, .axis = batch};
    if (use->in[input]->batch != SH_NO_AXIS || batch >= shape.rank || shape.dim[batch] != 1)
        return SH_OK;
    shape.dim[batch] = use->importer->samples;
    SH_TRY(sh_import_trace(use, &change));
    return sh_import_made(x, use, sh_layer_expand(use->importer->net, *x, shape));
}

sh_status sh_import_concat(sh_onnx_use *use)
{
    size_t axis, batch = SH_NO_AXIS, like = 0;
    sh_value_id y;
    SH_TRY(sh_import_arity(use, 1, SIZE_MAX));
    sh_value_id *x = sh_arena_take(&use->importer->store.arena, use->in_count, sizeof *x);
    if (x == NULL)
        return sh_fail_memory(use->in_count * sizeof *x, "the inputs of a node");
    for (size_t i = 0; i < use->in_count; i++) {
        SH_TRY(sh_import_value(&x[i], use, i));
        if (use->in[i]->batch != SH_NO_AXIS) {
            batch = use->in[i]->batch;
            like = i;
        }
    }
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(&use->node, "axis", 1),
                        sh_import_shape(use, x[0])->rank));
    if (axis == batch)
        return sh_fail(SH_UNSUPPORTED, "it joins samples");
    for (size_t i = 0; i < use->in_count && batch != SH_NO_AXIS; i++)
        SH_TRY(repeat_samples(&x[i], use, i, like, batch));
    SH_TRY(join(&y, use, x, use->in_count, axis));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

/* The indices are values of the graph. */
static sh_status look_up(sh_onnx_use *use, sh_value_id indices, size_t batch)
{
    sh_value_id x, y;
    size_t axis;
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(&use->node, "axis", 0),
                        sh_import_shape(use, x)->rank));
    const size_t of_x = use->in[0]->batch;
    if (axis == of_x || (of_x != SH_NO_AXIS && batch != SH_NO_AXIS))
        return sh_fail(SH_UNSUPPORTED, "it selects from samples by indices from samples");
    if (batch != SH_NO_AXIS)
        batch += axis;
    else if (of_x != SH_NO_AXIS)
        batch = of_x < axis ? of_x : of_x + sh_import_shape(use, indices)->rank - 1;
    SH_TRY(sh_import_made(&y, use, sh_layer_gather(use->importer->net, x, indices, axis)));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

static sh_status look_up_constant(sh_onnx_use *use)
{
    sh_value_id indices;
    SH_TRY(sh_import_number(&indices, use, 1));
    return look_up(use, indices, SH_NO_AXIS);
}

static sh_status pick(sh_onnx_use *use, const sh_onnx_constant *which)
{
    sh_value_id x, y, picked[PICKS_MOST];
    size_t axis, batch = SH_NO_AXIS, index = 0;
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(&use->node, "axis", 0), shape.rank));
    if (axis == use->in[0]->batch)
        return sh_fail(SH_UNSUPPORTED, "it selects some of the samples");
    for (size_t i = 0; i < which->count; i++) {
        SH_TRY(sh_onnx_axis(&index, which->cells[i].whole, shape.dim[axis]));
        SH_TRY(sh_import_take(&picked[i], use, x, axis, index, 1));
    }
    SH_TRY(join(&y, use, picked, which->count, axis));
    sh_shape rest = {0};
    for (size_t i = 0; i < shape.rank; i++) {
        if (i == use->in[0]->batch)
            batch = rest.rank;
        if (i != axis || which->rank == 1)
            rest.dim[rest.rank++] = i == axis ? which->count : shape.dim[i];
    }
    SH_TRY(sh_import_reshape(&y, use, y, &rest));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

sh_status sh_import_gather(sh_onnx_use *use)
{
    const sh_onnx_constant *which;
    sh_value_id indices;
    bool all;
    SH_TRY(sh_import_arity(use, 2, 2));
    if (use->in[1]->kind == SH_ENTRY_VALUE) {
        SH_TRY(sh_import_value(&indices, use, 1));
        return look_up(use, indices, use->in[1]->batch);
    }
    SH_TRY(sh_import_constant(&which, use, 1));
    if (which->real || which->count == 0)
        return sh_fail(SH_INVALID, "its indices are not integers, or missing");
    SH_TRY(sh_import_gather_all(&all, use, which));
    if (all)
        return SH_OK;
    return which->rank > 1 || which->count > PICKS_MOST ? look_up_constant(use) : pick(use, which);
}

/* The graph's number of samples replaces that in the file's shape. */
sh_status sh_import_expand(sh_onnx_use *use)
{
    const sh_onnx_constant *to;
    int64_t wanted[SH_MAX_RANK];
    sh_value_id x, y;
    sh_shape target = {0};
    sh_onnx_change change = {.input = 1};
    const sh_onnx_importer *importer = use->importer;
    SH_TRY(sh_import_arity(use, 2, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_constant(&to, use, 1));
    SH_TRY(sh_onnx_constant_integers(&target.rank, wanted, SH_MAX_RANK, to));
    const sh_shape shape = *sh_import_shape(use, x);
    size_t batch = use->in[0]->batch;
    if (batch != SH_NO_AXIS)
        batch += target.rank > shape.rank ? target.rank - shape.rank : 0;
    for (size_t i = 0; i < target.rank; i++) {
        if (wanted[i] < 1)
            return sh_fail(SH_UNSUPPORTED, "dimension %zu of its shape is %lld", i,
                           (long long)wanted[i]);
        target.dim[i] = (size_t)wanted[i];
        if (batch == SH_NO_AXIS && to->derived && target.dim[i] == importer->samples)
            batch = i;
        else if (i == batch && !to->derived && target.dim[i] == importer->baked)
            target.dim[i] = importer->samples;
        change.integers[i] = i == batch ? 1 : wanted[i]; /* 1 keeps the number of samples */
    }
    change.count = target.rank;
    if (batch != SH_NO_AXIS && !to->derived)
        SH_TRY(sh_import_trace(use, &change));
    SH_TRY(sh_import_made(&y, use, sh_layer_expand(importer->net, x, target)));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

sh_status sh_import_tile(sh_onnx_use *use)
{
    const sh_onnx_constant *given;
    int64_t listed[SH_MAX_RANK];
    size_t copies[SH_MAX_RANK], count;
    sh_value_id x, y;
    SH_TRY(sh_import_arity(use, 2, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_constant(&given, use, 1));
    SH_TRY(sh_onnx_constant_integers(&count, listed, SH_MAX_RANK, given));
    if (count != sh_import_shape(use, x)->rank)
        return sh_fail(SH_INVALID, "%zu numbers of copies for %zu dimensions", count,
                       sh_import_shape(use, x)->rank);
    for (size_t i = 0; i < count; i++) {
        if (listed[i] < 1 || listed[i] > 1 << 20 || (i == use->in[0]->batch && listed[i] != 1))
            return sh_fail(SH_UNSUPPORTED, "%lld copies along dimension %zu", (long long)listed[i],
                           i);
        copies[i] = (size_t)listed[i];
    }
    SH_TRY(sh_import_made(&y, use, sh_layer_tile(use->importer->net, x, copies)));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}
