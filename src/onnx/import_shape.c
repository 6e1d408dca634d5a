/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators that move elements.
 *
 * A file has a number of samples baked into the shapes that it asks for, 1 as a rule, and the graph
 * has N. A shape made of constants is therefore understood in the file's own world, where the
 * samples are as many as baked in, and the dimension that has them then becomes N's: the first one
 * before which lie as many elements as before the samples of the input. A shape that the file
 * computes from another one has N in it already.
 */
#include <string.h>

#include "onnx/importer.h"

/* A shape that a node asks for, and the dimension of the samples in it. */
typedef struct request {
    sh_shape shape;
    size_t batch;
} request;

static size_t product(const size_t *dim, size_t count)
{
    size_t all = 1;
    for (size_t i = 0; i < count; i++)
        all *= dim[i];
    return all;
}

/* The dimension of `to` that has the samples, whose number is a multiple of `samples`. */
static size_t find_batch(const sh_shape *to, size_t before, size_t samples)
{
    for (size_t i = 0; i < to->rank; i++)
        if (product(to->dim, i) == before && to->dim[i] % samples == 0)
            return i;
    return SH_NO_AXIS;
}

/* Fills in 0 (as the input has it) and -1 (what is left); false if that does not come out even. */
static bool complete(sh_shape *to, const int64_t *wanted, size_t rank, const sh_shape *x,
                     bool zeros)
{
    size_t known = 1, open = SIZE_MAX;
    *to = (sh_shape){.rank = rank};
    for (size_t i = 0; i < rank; i++) {
        if (wanted[i] < -1 || wanted[i] > (int64_t)1 << 40 || (wanted[i] == 0 && zeros) ||
            (wanted[i] == 0 && i >= x->rank) || (wanted[i] == -1 && open != SIZE_MAX))
            return false;
        if (wanted[i] == -1) {
            open = i;
            continue;
        }
        to->dim[i] = wanted[i] == 0 ? x->dim[i] : (size_t)wanted[i];
        if (!sh_size_mul(known, to->dim[i], &known))
            return false;
    }
    const size_t count = sh_shape_count(x);
    if (open == SIZE_MAX)
        return known == count;
    to->dim[open] = known == 0 ? 0 : count / known;
    return known > 0 && count % known == 0;
}

/* `x` as the file has it: with as many samples as are baked in. */
static bool as_baked(sh_shape *baked, const sh_onnx_use *use, const sh_shape *x, size_t batch)
{
    const sh_onnx_importer *importer = use->importer;
    *baked = *x;
    if (batch == SH_NO_AXIS)
        return true;
    if (x->dim[batch] % importer->samples != 0)
        return false;
    baked->dim[batch] = x->dim[batch] / importer->samples * importer->baked;
    return true;
}

/* In the file's world. */
static bool ask_baked(request *asked, const sh_onnx_use *use, const sh_shape *x, size_t batch,
                      const int64_t *wanted, size_t rank, bool zeros)
{
    const sh_onnx_importer *importer = use->importer;
    sh_shape baked;
    if (!as_baked(&baked, use, x, batch) || !complete(&asked->shape, wanted, rank, &baked, zeros))
        return false;
    asked->batch = batch;
    if (batch == SH_NO_AXIS)
        return true;
    asked->batch = find_batch(&asked->shape, product(x->dim, batch), importer->baked);
    if (asked->batch == SH_NO_AXIS)
        return false;
    asked->shape.dim[asked->batch] =
        asked->shape.dim[asked->batch] / importer->baked * importer->samples;
    return true;
}

/* In the graph's. */
static bool ask_real(request *asked, const sh_onnx_use *use, const sh_shape *x, size_t batch,
                     const int64_t *wanted, size_t rank, bool zeros)
{
    if (!complete(&asked->shape, wanted, rank, x, zeros))
        return false;
    asked->batch = batch;
    if (batch == SH_NO_AXIS)
        return true;
    asked->batch = find_batch(&asked->shape, product(x->dim, batch), use->importer->samples);
    return asked->batch != SH_NO_AXIS;
}

static sh_status to_shape(const sh_onnx_use *use, const sh_shape *shape, size_t batch)
{
    sh_value_id x, y;
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_reshape(&y, use, x, shape));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

sh_status sh_import_reshape_op(sh_onnx_use *use)
{
    const sh_onnx_constant *input;
    int64_t wanted[SH_MAX_RANK];
    size_t rank;
    bool given;
    sh_value_id x;
    request asked;
    SH_TRY(sh_import_arity(use, 1, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_constant(&input, use, 1));
    SH_TRY(sh_onnx_list(&given, &rank, wanted, SH_MAX_RANK, &use->node, "shape", input));
    const sh_shape shape = *sh_import_shape(use, x);
    const size_t batch = use->in[0]->batch, old = use->importer->old_outputs;
    const bool zeros = sh_onnx_node_integer(&use->node, "allowzero", 0) != 0;
    const bool derived = input != NULL && input->derived;
    if (old > 0 && rank > 0 && wanted[rank - 1] == (int64_t)old && shape.rank > 0 &&
        batch != SH_NO_AXIS &&
        sh_shape_count(&shape) / shape.dim[batch] == use->importer->wish->outputs)
        wanted[rank - 1] = (int64_t)use->importer->wish->outputs;
    bool found = derived ? ask_real(&asked, use, &shape, batch, wanted, rank, zeros)
                         : ask_baked(&asked, use, &shape, batch, wanted, rank, zeros);
    if (!found)
        found = derived ? ask_baked(&asked, use, &shape, batch, wanted, rank, zeros)
                        : ask_real(&asked, use, &shape, batch, wanted, rank, zeros);
    char text[SH_SHAPE_TEXT];
    if (!given || !found)
        return sh_fail(SH_UNSUPPORTED,
                       "its shape does not fit an input of %s; export with a dynamic batch size",
                       sh_shape_print(&shape, text));
    return to_shape(use, &asked.shape, asked.batch);
}

sh_status sh_import_flatten(sh_onnx_use *use)
{
    sh_value_id x;
    size_t axis, batch = use->in_count > 0 && use->in[0] != NULL ? use->in[0]->batch : SH_NO_AXIS;
    SH_TRY(sh_import_arity(use, 1, 1));
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    const int64_t given = sh_onnx_node_integer(&use->node, "axis", 1);
    axis = shape.rank;
    if (given != (int64_t)shape.rank)
        SH_TRY(sh_onnx_axis(&axis, given, shape.rank));
    const sh_shape flat = sh_shape_of(
        2, (size_t[]){product(shape.dim, axis), product(shape.dim + axis, shape.rank - axis)});
    if (batch != SH_NO_AXIS)
        batch = find_batch(&flat, product(shape.dim, batch), use->importer->samples);
    if (batch == SH_NO_AXIS && use->in[0]->batch != SH_NO_AXIS)
        return sh_fail(SH_UNSUPPORTED, "it joins the samples with another dimension");
    return to_shape(use, &flat, batch);
}

/* The axes of Squeeze, Unsqueeze and the like, as marks of `rank` dimensions. */
static sh_status mark_axes(bool *marked, bool *given, sh_onnx_use *use, size_t input, size_t more,
                           size_t *rank)
{
    const sh_onnx_constant *axes;
    int64_t listed[SH_ONNX_RANK_MOST];
    size_t count;
    SH_TRY(sh_import_constant(&axes, use, input));
    SH_TRY(sh_onnx_list(given, &count, listed, SH_ONNX_RANK_MOST, &use->node, "axes", axes));
    *rank += more * count;
    if (*rank > SH_MAX_RANK)
        return sh_fail(SH_LIMIT, "%zu dimensions: at most %d are supported", *rank, SH_MAX_RANK);
    for (size_t i = 0; i < *rank; i++)
        marked[i] = false;
    for (size_t i = 0; i < count; i++) {
        size_t axis;
        SH_TRY(sh_onnx_axis(&axis, listed[i], *rank));
        if (marked[axis])
            return sh_fail(SH_INVALID, "axis %zu twice", axis);
        marked[axis] = true;
    }
    return SH_OK;
}

sh_status sh_import_squeeze(sh_onnx_use *use)
{
    bool leave[SH_MAX_RANK], given;
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 1, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    size_t rank = shape.rank, batch = use->in[0]->batch, moved = batch;
    sh_shape rest = {0};
    SH_TRY(mark_axes(leave, &given, use, 1, 0, &rank));
    for (size_t i = 0; i < rank; i++) {
        const bool left_out = given ? leave[i] : shape.dim[i] == 1 && i != batch;
        if (left_out && shape.dim[i] != 1)
            return sh_fail(SH_INVALID, "dimension %zu is %zu, expected 1", i, shape.dim[i]);
        if (left_out && i == batch)
            return sh_fail(SH_UNSUPPORTED,
                           "it removes the dimension of the samples; export with a dynamic batch "
                           "size");
        if (left_out && batch != SH_NO_AXIS && i < batch)
            moved--;
        if (!left_out)
            rest.dim[rest.rank++] = shape.dim[i];
    }
    return to_shape(use, &rest, moved);
}

sh_status sh_import_unsqueeze(sh_onnx_use *use)
{
    bool added[SH_MAX_RANK], given;
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 1, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    size_t rank = shape.rank, from = 0, batch = SH_NO_AXIS;
    sh_shape more = {0};
    SH_TRY(mark_axes(added, &given, use, 1, 1, &rank));
    more.rank = rank;
    for (size_t i = 0; i < rank; i++) {
        if (!added[i] && from == use->in[0]->batch)
            batch = i;
        more.dim[i] = added[i] ? 1 : shape.dim[from++];
    }
    return to_shape(use, &more, batch);
}

sh_status sh_import_transpose(sh_onnx_use *use)
{
    const int64_t *order;
    sh_value_id x, y;
    sh_attributes a = {0};
    SH_TRY(sh_import_arity(use, 1, 1));
    SH_TRY(sh_import_value(&x, use, 0));
    const size_t rank = sh_import_shape(use, x)->rank;
    const size_t count = sh_onnx_node_integers(&use->node, "perm", &order);
    size_t batch = SH_NO_AXIS;
    if (count != 0 && count != rank)
        return sh_fail(SH_INVALID, "perm has %zu numbers for %zu dimensions", count, rank);
    for (size_t i = 0; i < rank; i++) {
        a.order[i] = rank - 1 - i;
        if (count > 0)
            SH_TRY(sh_onnx_axis(&a.order[i], order[i], rank));
        if (a.order[i] == use->in[0]->batch)
            batch = i;
    }
    SH_TRY(sh_import_emit(&y, use, SH_OP_transpose, &a, &x));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

/* ---- parts ------------------------------------------------------------------------------------
 */

/* Elements [first, first + count) of a dimension. */
static sh_status take(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, size_t axis,
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

/* Each `step`th of `count * step` elements: the first of each row of so many. */
static sh_status take_each(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, size_t axis,
                           const sh_onnx_range *range)
{
    const size_t step = (size_t)range->step;
    sh_shape shape = *sh_import_shape(use, x);
    const size_t there = shape.dim[axis] - range->first, needs = range->count * step;
    SH_TRY(take(&x, use, x, axis, range->first, there < needs ? there : needs));
    if (there < needs) {
        sh_attributes more = {0};
        more.after[axis] = needs - there;
        SH_TRY(sh_import_emit(&x, use, SH_OP_pad, &more, &x));
    }
    const sh_shape rows =
        sh_shape_of(4, (size_t[]){product(shape.dim, axis), range->count, step,
                                  product(shape.dim + axis + 1, shape.rank - axis - 1)});
    SH_TRY(sh_import_reshape(&x, use, x, &rows));
    SH_TRY(take(&x, use, x, 2, 0, 1));
    shape.dim[axis] = range->count;
    return sh_import_reshape(y, use, x, &shape);
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
            return sh_fail(SH_UNSUPPORTED, "it takes some of the samples");
        if (range->count == 0)
            return sh_fail(SH_UNSUPPORTED, "nothing is left of dimension %zu", i);
        if (range->step < 0 && range->count > 1)
            return sh_fail(SH_UNSUPPORTED, "a negative step is not supported");
        if (range->count == 1 || range->step == 1)
            SH_TRY(take(&x, use, x, i, range->first, range->count));
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
        SH_TRY(take(&y, use, x, axis, first, size));
        sh_import_give(use, i, y, use->in[0]->batch);
        first += size;
    }
    return SH_OK;
}

/* Any number of values, so many at a time as the graph joins. */
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

sh_status sh_import_concat(sh_onnx_use *use)
{
    size_t axis, batch = SH_NO_AXIS;
    sh_value_id y;
    SH_TRY(sh_import_arity(use, 1, SIZE_MAX));
    sh_value_id *x = sh_arena_take(&use->importer->store.arena, use->in_count, sizeof *x);
    if (x == NULL)
        return sh_fail_memory(use->in_count * sizeof *x, "the inputs of a node");
    for (size_t i = 0; i < use->in_count; i++) {
        SH_TRY(sh_import_value(&x[i], use, i));
        if (use->in[i]->batch != SH_NO_AXIS)
            batch = use->in[i]->batch;
    }
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(&use->node, "axis", 1),
                        sh_import_shape(use, x[0])->rank));
    if (axis == batch)
        return sh_fail(SH_UNSUPPORTED, "it joins samples");
    SH_TRY(join(&y, use, x, use->in_count, axis));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}

/* How much is added to each end of each dimension; less than 0: left out. */
static sh_status read_pads(int64_t *pads, sh_onnx_use *use, size_t rank)
{
    const sh_onnx_constant *given, *axes;
    int64_t listed[2 * SH_MAX_RANK], at[SH_MAX_RANK];
    size_t count, named = 0;
    bool has;
    for (size_t i = 0; i < rank; i++)
        at[i] = (int64_t)i;
    SH_TRY(sh_import_constant(&given, use, 1));
    SH_TRY(sh_import_constant(&axes, use, 3));
    SH_TRY(sh_onnx_list(&has, &count, listed, 2 * rank, &use->node, "pads", given));
    if (axes != NULL)
        SH_TRY(sh_onnx_constant_integers(&named, at, rank, axes));
    else
        named = rank;
    if (!has || count != 2 * named)
        return sh_fail(SH_INVALID, "pads has %zu numbers for %zu dimensions", count, named);
    for (size_t i = 0; i < named; i++) {
        size_t axis;
        SH_TRY(sh_onnx_axis(&axis, at[i], rank));
        for (size_t end = 0; end < 2; end++) {
            const int64_t size = listed[end * named + i];
            if (size < -(1 << 20) || size > 1 << 20)
                return sh_fail(SH_LIMIT, "pads has %lld", (long long)size);
            pads[end * rank + axis] = size;
        }
    }
    return SH_OK;
}

sh_status sh_import_pad(sh_onnx_use *use)
{
    const sh_onnx_constant *value;
    int64_t pads[2 * SH_MAX_RANK] = {0};
    sh_value_id x;
    sh_attributes less = {0}, more = {0};
    bool any_less = false, any_more = false;
    SH_TRY(sh_import_arity(use, 1, 4));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_constant(&value, use, 2));
    const size_t rank = sh_import_shape(use, x)->rank;
    if (sh_onnx_node_has(&use->node, "mode") && !sh_onnx_node_says(&use->node, "mode", "constant"))
        return sh_fail(SH_UNSUPPORTED, "only padding by zeros is supported");
    if ((value != NULL && value->count > 0 && (!value->real || value->cells[0].real != 0)) ||
        sh_onnx_node_number(&use->node, "value", 0) != 0)
        return sh_fail(SH_UNSUPPORTED, "only padding by zeros is supported");
    SH_TRY(read_pads(pads, use, rank));
    for (size_t i = 0; i < 2 * rank; i++) {
        const size_t axis = i % rank;
        sh_attributes *of = pads[i] < 0 ? &less : &more;
        size_t *side = i < rank ? of->before : of->after;
        side[axis] = (size_t)(pads[i] < 0 ? -pads[i] : pads[i]);
        any_less |= pads[i] < 0;
        any_more |= pads[i] > 0;
        if (pads[i] != 0 && axis == use->in[0]->batch)
            return sh_fail(SH_UNSUPPORTED, "it adds samples");
    }
    if (any_less)
        SH_TRY(sh_import_emit(&x, use, SH_OP_slice, &less, &x));
    if (any_more)
        SH_TRY(sh_import_emit(&x, use, SH_OP_pad, &more, &x));
    sh_import_give(use, 0, x, use->in[0]->batch);
    return SH_OK;
}

/* The mean over neighbouring dimensions is one operator; others are taken one after the other, the
 * last first, so that the numbers of those before them stay. */
sh_status sh_import_reduce_mean(sh_onnx_use *use)
{
    bool over[SH_MAX_RANK], given;
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 1, 2));
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    size_t rank = shape.rank, batch = use->in[0]->batch, left = 0;
    sh_shape kept = {0};
    SH_TRY(mark_axes(over, &given, use, 1, 0, &rank));
    const bool keep = sh_onnx_node_integer(&use->node, "keepdims", 1) != 0;
    if (!given || (batch != SH_NO_AXIS && over[batch]))
        return sh_fail(SH_UNSUPPORTED, "a mean over the samples is not supported");
    for (size_t i = 0; i < rank; i++) {
        if (keep || !over[i])
            kept.dim[kept.rank++] = over[i] ? 1 : shape.dim[i];
        left += over[i] && !keep && batch != SH_NO_AXIS && i < batch;
    }
    for (size_t end = rank; end > 0; end--) {
        size_t first = end;
        while (first > 0 && over[first - 1])
            first--;
        const sh_attributes range = {.axis = first, .axes = end - first};
        if (first < end)
            SH_TRY(sh_import_emit(&x, use, SH_OP_mean, &range, &x));
        end = first < end ? first + 1 : end;
    }
    SH_TRY(sh_import_reshape(&x, use, x, &kept));
    sh_import_give(use, 0, x, batch == SH_NO_AXIS ? batch : batch - left);
    return SH_OK;
}
