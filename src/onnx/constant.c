/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/constant.h"

#include <math.h>
#include <stdlib.h>

void sh_onnx_store_release(sh_onnx_store *store)
{
    sh_arena_release(&store->arena);
}

sh_status sh_onnx_constant_new(sh_onnx_constant *constant, sh_onnx_store *store, bool real,
                               size_t rank, const size_t *dim)
{
    sh_onnx_constant fresh = {.real = real, .rank = rank, .count = 1};
    if (rank > SH_ONNX_RANK_MOST)
        return sh_fail(SH_LIMIT, "a constant of %zu dimensions: at most %d are supported", rank,
                       SH_ONNX_RANK_MOST);
    for (size_t i = 0; i < rank; i++) {
        fresh.dim[i] = dim[i];
        if (!sh_size_mul(fresh.count, dim[i], &fresh.count) || fresh.count > SH_ONNX_CELLS_MOST)
            return sh_fail(SH_LIMIT, "a constant has more than %zu elements", SH_ONNX_CELLS_MOST);
    }
    store->cells += fresh.count;
    if (store->cells > SH_ONNX_STORE_MOST)
        return sh_fail(SH_LIMIT, "the constants of the file have more than %zu elements in all",
                       SH_ONNX_STORE_MOST);
    fresh.cells = sh_arena_take(&store->arena, fresh.count + 1, sizeof *fresh.cells);
    if (fresh.cells == NULL)
        return sh_fail_memory(fresh.count * sizeof *fresh.cells, "a constant");
    *constant = fresh;
    return SH_OK;
}

bool sh_onnx_is_real(sh_onnx_type type)
{
    return type == SH_ONNX_FLOAT || type == SH_ONNX_FLOAT16 || type == SH_ONNX_BFLOAT16 ||
           type == SH_ONNX_DOUBLE;
}

sh_status sh_onnx_constant_load(sh_onnx_constant *constant, sh_onnx_store *store,
                                const sh_onnx *model, const Sh__Onnx__TensorProto *message)
{
    sh_onnx_tensor tensor;
    sh_onnx_constant fresh;
    sh_status status;
    SH_TRY(sh_onnx_tensor_of(&tensor, model, message));
    SH_TRY(
        sh_onnx_constant_new(&fresh, store, sh_onnx_is_real(tensor.type), tensor.rank, tensor.dim));
    void *values = malloc(fresh.count * sizeof(int64_t) + 1);
    if (values == NULL)
        return sh_fail_memory(fresh.count * sizeof(int64_t), "a constant");
    if (fresh.real) {
        SH_TRY_DONE(sh_onnx_floats(model, &tensor, values));
        for (size_t i = 0; i < fresh.count; i++)
            fresh.cells[i].real = (double)((const float *)values)[i];
    } else {
        SH_TRY_DONE(sh_onnx_integers(model, &tensor, values));
        for (size_t i = 0; i < fresh.count; i++)
            fresh.cells[i].whole = ((const int64_t *)values)[i];
    }
    *constant = fresh;
done:
    free(values);
    return status;
}

sh_status sh_onnx_constant_integers(size_t *count, int64_t *values, size_t most,
                                    const sh_onnx_constant *constant)
{
    if (constant->real || constant->rank > 1)
        return sh_fail(SH_INVALID, "expected a list of integers");
    if (constant->count > most)
        return sh_fail(SH_LIMIT, "a list of %zu integers: at most %zu are supported",
                       constant->count, most);
    for (size_t i = 0; i < constant->count; i++)
        values[i] = constant->cells[i].whole;
    *count = constant->count;
    return SH_OK;
}

sh_status sh_onnx_list(bool *given, size_t *count, int64_t *values, size_t most, sh_onnx_node *node,
                       const char *attribute, const sh_onnx_constant *input)
{
    const int64_t *listed;
    *given = true;
    *count = 0;
    if (input != NULL)
        return sh_onnx_constant_integers(count, values, most, input);
    *given = sh_onnx_node_has(node, attribute);
    const size_t found = sh_onnx_node_integers(node, attribute, &listed);
    if (found > most)
        return sh_fail(SH_LIMIT, "attribute %s has %zu integers: at most %zu are supported",
                       attribute, found, most);
    for (size_t i = 0; i < found; i++)
        values[i] = listed[i];
    *count = found;
    return SH_OK;
}

sh_status sh_onnx_axis(size_t *axis, int64_t given, size_t rank)
{
    if (given < -(int64_t)rank || given >= (int64_t)rank)
        return sh_fail(SH_INVALID, "axis %lld of %zu dimensions", (long long)given, rank);
    *axis = (size_t)(given < 0 ? given + (int64_t)rank : given);
    return SH_OK;
}

/* Negative positions count from the end. */
static int64_t clamped(int64_t at, int64_t dim, int64_t low, int64_t high)
{
    if (at < 0)
        at = at < -dim ? low : at + dim;
    return at < low ? low : at > high ? high : at;
}

static sh_status range_of(sh_onnx_range *range, size_t dim, int64_t start, int64_t end,
                          int64_t step)
{
    const int64_t extent = (int64_t)dim;
    if (step == 0 || step == INT64_MIN)
        return sh_fail(SH_INVALID, "a step of %lld", (long long)step);
    const bool up = step > 0;
    const int64_t from = clamped(start, extent, 0, up ? extent : extent - 1);
    const int64_t to = clamped(end, extent, up ? 0 : -1, up ? extent : extent - 1);
    const int64_t length = up ? to - from : from - to, width = up ? step : -step;
    *range = (sh_onnx_range){0, 0, step};
    if (length > 0)
        *range = (sh_onnx_range){(size_t)from, (size_t)((length - 1) / width) + 1, step};
    return SH_OK;
}

static const sh_onnx_constant *input(const sh_onnx_constant *const *in, size_t count, size_t index)
{
    return index < count ? in[index] : NULL;
}

sh_status sh_onnx_ranges(sh_onnx_range *ranges, sh_onnx_node *node, size_t rank, const size_t *dim,
                         const sh_onnx_constant *const *in, size_t in_count)
{
    enum { STARTS, ENDS, AXES, STEPS };
    static const char *const names[] = {"starts", "ends", "axes", "steps"};
    int64_t lists[4][SH_ONNX_RANK_MOST];
    size_t counts[4];
    bool given[4];
    for (size_t i = 0; i < rank; i++)
        ranges[i] = (sh_onnx_range){0, dim[i], 1};
    for (size_t i = 0; i < 4; i++) {
        SH_TRY(sh_onnx_list(&given[i], &counts[i], lists[i], SH_ONNX_RANK_MOST, node, names[i],
                            input(in, in_count, i + 1)));
        if (i > 0 && given[i] && counts[i] != counts[STARTS])
            return sh_fail(SH_INVALID, "%zu starts, but %zu %s", counts[STARTS], counts[i],
                           names[i]);
    }
    if (!given[STARTS] || !given[ENDS])
        return sh_fail(SH_INVALID, "it has no starts or no ends");
    for (size_t i = 0; i < counts[STARTS]; i++) {
        size_t axis;
        SH_TRY(sh_onnx_axis(&axis, given[AXES] ? lists[AXES][i] : (int64_t)i, rank));
        SH_TRY(range_of(&ranges[axis], dim[axis], lists[STARTS][i], lists[ENDS][i],
                        given[STEPS] ? lists[STEPS][i] : 1));
    }
    return SH_OK;
}

sh_status sh_onnx_constant_cast(sh_onnx_constant *constant, sh_onnx_store *store,
                                const sh_onnx_constant *x, bool real)
{
    sh_onnx_constant fresh = *x;
    if (real != x->real)
        SH_TRY(sh_onnx_constant_new(&fresh, store, real, x->rank, x->dim));
    for (size_t i = 0; i < x->count && real != x->real; i++)
        if (real)
            fresh.cells[i].real = (double)(float)x->cells[i].whole;
        else if (fabs(x->cells[i].real) < 0x1p62)
            fresh.cells[i].whole = (int64_t)x->cells[i].real;
        else
            return sh_fail(SH_INVALID, "a number does not fit an integer");
    fresh.derived = x->derived;
    *constant = fresh;
    return SH_OK;
}
