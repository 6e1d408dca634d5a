/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shapes in a file contain a number of samples, usually 1, while the graph has N. A constant shape
 * is therefore first interpreted with the number of samples of the file. The sample dimension in it
 * is then scaled to N. This is the dimension that has the samples after as many elements as in the
 * input. A shape that the file computes from another shape already contains N.
 *
 * If the file has one sample, more than one dimension can qualify: [12, 1, 4, 8] reshaped to
 * [12, 32] is [12 N, 32] or [12, 32 N]. Both have the same elements in the same order, and
 * operators that mix samples are refused later. The samples join the dimension behind them, except
 * if that is the last one, which holds the features of a dense layer.
 */
#include <string.h>

#include "onnx/import_constants.h"

/* A shape that a node asks for, its sample dimension, and the number of rows of that dimension that
 * have all samples each. */
typedef struct request {
    sh_shape shape;
    size_t batch, outer;
} request;

static size_t product(const size_t *dim, size_t count)
{
    size_t all = 1;
    for (size_t i = 0; i < count; i++)
        all *= dim[i];
    return all;
}

/* The sample dimension contains `samples` samples after `before` elements. */
static void find_batch(request *to, size_t before, size_t samples)
{
    const sh_shape *shape = &to->shape;
    request joined = {.batch = SH_NO_AXIS, .outer = 1};
    to->batch = SH_NO_AXIS;
    to->outer = 1;
    for (size_t i = 0; i < shape->rank && to->batch == SH_NO_AXIS; i++) {
        const size_t front = product(shape->dim, i), outer = front == 0 ? 0 : before / front;
        if (front == before && shape->dim[i] % samples == 0)
            to->batch = i;
        else if (outer > 1 && before % front == 0 && shape->dim[i] % (outer * samples) == 0)
            joined = (request){.batch = i, .outer = outer};
    }
    const bool last =
        to->batch != SH_NO_AXIS && to->batch + 1 == shape->rank && shape->dim[to->batch] != samples;
    if (joined.batch != SH_NO_AXIS && (last || to->batch == SH_NO_AXIS)) {
        to->batch = joined.batch;
        to->outer = joined.outer;
    }
}

static size_t before_samples(const sh_onnx_use *use, const sh_shape *x)
{
    return product(x->dim, use->in[0]->batch) * use->in[0]->outer;
}

/* 0: the same as the input; -1: the remainder. False if the shape does not fit the elements. */
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

/* Uses the number of samples in the file. */
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

/* Uses the number of samples in the file. */
static bool ask_baked(request *asked, const sh_onnx_use *use, const sh_shape *x, size_t batch,
                      const int64_t *wanted, size_t rank, bool zeros)
{
    const sh_onnx_importer *importer = use->importer;
    sh_shape baked;
    if (!as_baked(&baked, use, x, batch) || !complete(&asked->shape, wanted, rank, &baked, zeros))
        return false;
    asked->batch = batch;
    asked->outer = 1;
    if (batch == SH_NO_AXIS)
        return true;
    find_batch(asked, before_samples(use, x), importer->baked);
    if (asked->batch == SH_NO_AXIS)
        return false;
    asked->shape.dim[asked->batch] =
        asked->shape.dim[asked->batch] / importer->baked * importer->samples;
    return true;
}

/* Uses the number of samples of the graph. */
static bool ask_real(request *asked, const sh_onnx_use *use, const sh_shape *x, size_t batch,
                     const int64_t *wanted, size_t rank, bool zeros)
{
    if (!complete(&asked->shape, wanted, rank, x, zeros))
        return false;
    asked->batch = batch;
    asked->outer = 1;
    if (batch == SH_NO_AXIS)
        return true;
    find_batch(asked, before_samples(use, x), use->importer->samples);
    return asked->batch != SH_NO_AXIS;
}

/* True if the shape allows any number of samples. */
static bool is_open(const int64_t *wanted, const request *asked, size_t batch)
{
    return wanted[asked->batch] == -1 || (wanted[asked->batch] == 0 && asked->batch == batch);
}

static sh_status trace_shape(const sh_onnx_use *use, const request *asked, bool reshapes)
{
    sh_onnx_change change = {.input = 1, .count = asked->shape.rank, .reshapes = reshapes};
    for (size_t i = 0; i < change.count; i++)
        change.integers[i] = i == asked->batch ? -1 : (int64_t)asked->shape.dim[i];
    return sh_import_trace(use, &change);
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
    bool renewed = false;
    if (old > 0 && rank > 0 && wanted[rank - 1] == (int64_t)old && shape.rank > 0 &&
        batch != SH_NO_AXIS &&
        sh_shape_count(&shape) / shape.dim[batch] == use->importer->wish->outputs) {
        wanted[rank - 1] = (int64_t)use->importer->wish->outputs;
        renewed = true;
    }
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
    if (batch != SH_NO_AXIS && (renewed || (!derived && !is_open(wanted, &asked, batch))))
        SH_TRY(trace_shape(use, &asked, false));
    SH_TRY(to_shape(use, &asked.shape, asked.batch));
    use->out[0]->outer = asked.outer;
    return SH_OK;
}

sh_status sh_import_gather_all(bool *all, const sh_onnx_use *use, const sh_onnx_constant *indices)
{
    int64_t wanted[SH_MAX_RANK];
    sh_value_id x;
    request asked;
    *all = false;
    if (use->in[0]->batch != 0 || indices->rank > SH_MAX_RANK)
        return SH_OK;
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    for (size_t i = 0; i < indices->count; i++)
        if (shape.rank != 1 || indices->cells[i].whole != (int64_t)i)
            return SH_OK;
    for (size_t i = 0; i < indices->rank; i++)
        wanted[i] = (int64_t)indices->dim[i];
    *all = ask_baked(&asked, use, &shape, 0, wanted, indices->rank, true);
    if (!*all)
        return SH_OK;
    SH_TRY(trace_shape(use, &asked, true));
    SH_TRY(to_shape(use, &asked.shape, asked.batch));
    use->out[0]->outer = asked.outer;
    return SH_OK;
}

sh_status sh_import_flatten(sh_onnx_use *use)
{
    sh_value_id x;
    size_t axis;
    SH_TRY(sh_import_arity(use, 1, 1));
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    const size_t batch = use->in[0]->batch;
    const int64_t given = sh_onnx_node_integer(&use->node, "axis", 1);
    axis = shape.rank;
    if (given != (int64_t)shape.rank)
        SH_TRY(sh_onnx_axis(&axis, given, shape.rank));
    request flat = {.batch = SH_NO_AXIS, .outer = 1};
    flat.shape = sh_shape_of(
        2, (size_t[]){product(shape.dim, axis), product(shape.dim + axis, shape.rank - axis)});
    if (batch != SH_NO_AXIS)
        find_batch(&flat, before_samples(use, &shape), use->importer->samples);
    if (flat.batch == SH_NO_AXIS && batch != SH_NO_AXIS)
        return sh_fail(SH_UNSUPPORTED, "it joins the samples with another dimension");
    SH_TRY(to_shape(use, &flat.shape, flat.batch));
    use->out[0]->outer = flat.outer;
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
    SH_TRY(sh_import_axes(leave, &given, use, 1, 0, &rank));
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
    SH_TRY(sh_import_axes(added, &given, use, 1, 1, &rank));
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
        size_t from = rank - 1 - i;
        if (count > 0)
            SH_TRY(sh_onnx_axis(&from, order[i], rank));
        a.order[i] = (uint8_t)from;
        if (from == use->in[0]->batch)
            batch = i;
    }
    SH_TRY(sh_import_emit(&y, use, SH_OP_transpose, &a, &x));
    sh_import_give(use, 0, y, batch);
    return SH_OK;
}
