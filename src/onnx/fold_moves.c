/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every cell has 8 bytes, so operators that only move elements ignore the type. Those that omit or
 * reorder elements use a *view*: a stride in the input for each dimension of the output.
 */
#include <math.h>
#include <string.h>

#include "onnx/fold_work.h"

const sh_onnx_constant *sh_fold_input(const sh_fold_work *w, size_t index)
{
    return index < w->in_count ? w->in[index] : NULL;
}

bool sh_fold_next_place(size_t *place, size_t rank, const size_t *dim)
{
    for (size_t i = rank; i-- > 0;) {
        if (++place[i] < dim[i])
            return true;
        place[i] = 0;
    }
    return false;
}

static void strides_of(int64_t *stride, const sh_onnx_constant *of)
{
    int64_t step = 1;
    for (size_t i = of->rank; i-- > 0;) {
        stride[i] = step;
        step *= (int64_t)of->dim[i];
    }
}

static void view(const sh_onnx_constant *out, const sh_onnx_constant *in, int64_t offset,
                 const int64_t *stride)
{
    size_t place[SH_ONNX_RANK_MOST] = {0};
    for (size_t i = 0; i < out->count; i++) {
        int64_t from = offset;
        for (size_t j = 0; j < out->rank; j++)
            from += (int64_t)place[j] * stride[j];
        out->cells[i] = in->cells[from];
        sh_fold_next_place(place, out->rank, out->dim);
    }
}

static sh_status renamed(const sh_fold_work *w, size_t rank, const size_t *dim)
{
    size_t count = 1;
    sh_onnx_constant fresh = *w->in[0];
    if (rank > SH_ONNX_RANK_MOST)
        return sh_fail(SH_LIMIT, "%zu dimensions: at most %d are supported", rank,
                       SH_ONNX_RANK_MOST);
    for (size_t i = 0; i < rank; i++)
        if (!sh_size_mul(count, dim[i], &count))
            return sh_fail(SH_LIMIT, "a shape is too large");
    if (count != fresh.count)
        return sh_fail(SH_INVALID, "%zu elements for a shape of %zu", fresh.count, count);
    fresh.rank = rank;
    memset(fresh.dim, 0, sizeof fresh.dim);
    for (size_t i = 0; i < rank; i++)
        fresh.dim[i] = dim[i];
    w->out[0] = fresh;
    return SH_OK;
}

sh_status sh_fold_identity(const sh_fold_work *w)
{
    w->out[0] = *w->in[0];
    return SH_OK;
}

sh_status sh_fold_squeeze(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    int64_t axes[SH_ONNX_RANK_MOST];
    size_t count, dim[SH_ONNX_RANK_MOST], rank = 0;
    bool given, leave[SH_ONNX_RANK_MOST] = {false};
    SH_TRY(sh_onnx_list(&given, &count, axes, SH_ONNX_RANK_MOST, w->node, "axes",
                        sh_fold_input(w, 1)));
    for (size_t i = 0; i < count; i++) {
        size_t axis;
        SH_TRY(sh_onnx_axis(&axis, axes[i], x->rank));
        leave[axis] = true;
    }
    for (size_t i = 0; i < x->rank; i++)
        if (given ? !leave[i] : x->dim[i] != 1)
            dim[rank++] = x->dim[i];
    return renamed(w, rank, dim);
}

sh_status sh_fold_unsqueeze(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    int64_t axes[SH_ONNX_RANK_MOST];
    size_t count, dim[SH_ONNX_RANK_MOST] = {0}, taken = 0;
    bool given, added[SH_ONNX_RANK_MOST] = {false};
    SH_TRY(sh_onnx_list(&given, &count, axes, SH_ONNX_RANK_MOST, w->node, "axes",
                        sh_fold_input(w, 1)));
    const size_t rank = x->rank + count;
    if (rank > SH_ONNX_RANK_MOST)
        return sh_fail(SH_LIMIT, "%zu dimensions: at most %d are supported", rank,
                       SH_ONNX_RANK_MOST);
    for (size_t i = 0; i < count; i++) {
        size_t axis;
        SH_TRY(sh_onnx_axis(&axis, axes[i], rank));
        if (added[axis])
            return sh_fail(SH_INVALID, "axis %zu twice", axis);
        added[axis] = true;
    }
    for (size_t i = 0; i < rank; i++)
        dim[i] = added[i] ? 1 : x->dim[taken++];
    return renamed(w, rank, dim);
}

sh_status sh_fold_reshape(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0], *to = sh_fold_input(w, 1);
    int64_t wanted[SH_ONNX_RANK_MOST];
    size_t rank, dim[SH_ONNX_RANK_MOST] = {0}, known = 1, open = SIZE_MAX;
    const bool zeros = sh_onnx_node_integer(w->node, "allowzero", 0) != 0;
    if (to == NULL)
        return sh_fail(SH_INVALID, "it has no shape");
    SH_TRY(sh_onnx_constant_integers(&rank, wanted, SH_ONNX_RANK_MOST, to));
    for (size_t i = 0; i < rank; i++) {
        if (wanted[i] < -1 || wanted[i] > (int64_t)SH_ONNX_CELLS_MOST ||
            (wanted[i] == 0 && !zeros && i >= x->rank) || (wanted[i] < 0 && open != SIZE_MAX))
            return sh_fail(SH_INVALID, "dimension %zu of the shape is %lld", i,
                           (long long)wanted[i]);
        dim[i] = wanted[i] < 0 ? 1 : wanted[i] > 0 || zeros ? (size_t)wanted[i] : x->dim[i];
        open = wanted[i] < 0 ? i : open;
        if (!sh_size_mul(known, dim[i], &known))
            return sh_fail(SH_LIMIT, "a shape is too large");
    }
    if (open != SIZE_MAX && known > 0)
        dim[open] = x->count / known;
    return renamed(w, rank, dim);
}

sh_status sh_fold_flatten(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    size_t axis = x->rank, dim[2] = {1, 1};
    const int64_t given = sh_onnx_node_integer(w->node, "axis", 1);
    if (given != (int64_t)x->rank)
        SH_TRY(sh_onnx_axis(&axis, given, x->rank));
    for (size_t i = 0; i < x->rank; i++)
        dim[i >= axis] *= x->dim[i];
    return renamed(w, 2, dim);
}

sh_status sh_fold_slice(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    sh_onnx_range ranges[SH_ONNX_RANK_MOST];
    int64_t stride[SH_ONNX_RANK_MOST], offset = 0;
    size_t dim[SH_ONNX_RANK_MOST];
    SH_TRY(sh_onnx_ranges(ranges, w->node, x->rank, x->dim, w->in, w->in_count));
    strides_of(stride, x);
    for (size_t i = 0; i < x->rank; i++) {
        dim[i] = ranges[i].count;
        offset += (int64_t)ranges[i].first * stride[i];
        if (ranges[i].count > 1) /* otherwise the step can be any number */
            stride[i] *= ranges[i].step;
    }
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, x->rank, dim));
    view(&w->out[0], x, offset, stride);
    return SH_OK;
}

sh_status sh_fold_transpose(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    const int64_t *order;
    const size_t count = sh_onnx_node_integers(w->node, "perm", &order);
    int64_t from[SH_ONNX_RANK_MOST], stride[SH_ONNX_RANK_MOST];
    size_t dim[SH_ONNX_RANK_MOST], seen = 0;
    if (count != 0 && count != x->rank)
        return sh_fail(SH_INVALID, "perm has %zu of %zu dimensions", count, x->rank);
    strides_of(from, x);
    for (size_t i = 0; i < x->rank; i++) {
        size_t axis = x->rank - 1 - i;
        if (count > 0)
            SH_TRY(sh_onnx_axis(&axis, order[i], x->rank));
        seen |= (size_t)1 << axis;
        dim[i] = x->dim[axis];
        stride[i] = from[axis];
    }
    if (seen + 1 != (size_t)1 << x->rank)
        return sh_fail(SH_INVALID, "perm does not name each dimension once");
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, x->rank, dim));
    view(&w->out[0], x, 0, stride);
    return SH_OK;
}

sh_status sh_fold_broadcast(size_t *rank, size_t *dim, size_t a_rank, const size_t *a,
                            size_t b_rank, const size_t *b)
{
    *rank = a_rank > b_rank ? a_rank : b_rank;
    for (size_t i = 0; i < *rank; i++) {
        const size_t of_a = i + a_rank < *rank ? 1 : a[i + a_rank - *rank];
        const size_t of_b = i + b_rank < *rank ? 1 : b[i + b_rank - *rank];
        if (of_a != of_b && of_a != 1 && of_b != 1)
            return sh_fail(SH_INVALID, "dimensions of %zu and %zu", of_a, of_b);
        dim[i] = of_a == 1 ? of_b : of_a;
    }
    return SH_OK;
}

void sh_fold_broadcast_strides(int64_t *stride, const sh_onnx_constant *x, size_t rank)
{
    int64_t own[SH_ONNX_RANK_MOST];
    strides_of(own, x);
    for (size_t i = 0; i < rank; i++) {
        const bool has = i + x->rank >= rank;
        const size_t j = i + x->rank - rank;
        stride[i] = has && x->dim[j] != 1 ? own[j] : 0;
    }
}

sh_status sh_fold_expand(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0], *to = sh_fold_input(w, 1);
    int64_t wanted[SH_ONNX_RANK_MOST], stride[SH_ONNX_RANK_MOST];
    size_t count, target[SH_ONNX_RANK_MOST], rank, dim[SH_ONNX_RANK_MOST];
    if (to == NULL)
        return sh_fail(SH_INVALID, "it has no shape");
    SH_TRY(sh_onnx_constant_integers(&count, wanted, SH_ONNX_RANK_MOST, to));
    for (size_t i = 0; i < count; i++) {
        if (wanted[i] < 0)
            return sh_fail(SH_INVALID, "dimension %zu of the shape is %lld", i,
                           (long long)wanted[i]);
        target[i] = (size_t)wanted[i];
    }
    SH_TRY(sh_fold_broadcast(&rank, dim, x->rank, x->dim, count, target));
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, rank, dim));
    sh_fold_broadcast_strides(stride, x, rank);
    view(&w->out[0], x, 0, stride);
    return SH_OK;
}

sh_status sh_fold_gather(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0], *which = sh_fold_input(w, 1);
    size_t axis, dim[2 * SH_ONNX_RANK_MOST], rank = 0, outer = 1, inner = 1;
    if (which == NULL || which->real)
        return sh_fail(SH_INVALID, "its indices are not integers");
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(w->node, "axis", 0), x->rank));
    for (size_t i = 0; i < axis; i++)
        outer *= dim[rank++] = x->dim[i];
    for (size_t i = 0; i < which->rank; i++)
        dim[rank++] = which->dim[i];
    for (size_t i = axis + 1; i < x->rank; i++)
        inner *= dim[rank++] = x->dim[i];
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, rank, dim));
    sh_onnx_cell *to = w->out[0].cells;
    for (size_t i = 0; i < outer; i++)
        for (size_t j = 0; j < which->count; j++) {
            size_t index;
            SH_TRY(sh_onnx_axis(&index, which->cells[j].whole, x->dim[axis]));
            memcpy(to, x->cells + (i * x->dim[axis] + index) * inner, inner * sizeof *to);
            to += inner;
        }
    return SH_OK;
}

sh_status sh_fold_concat(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    size_t axis, dim[SH_ONNX_RANK_MOST], outer = 1, inner = 1;
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(w->node, "axis", 0), x->rank));
    memcpy(dim, x->dim, sizeof dim);
    for (size_t i = 1; i < w->in_count; i++) {
        const sh_onnx_constant *other = w->in[i];
        if (other == NULL || other->rank != x->rank || other->real != x->real)
            return sh_fail(SH_INVALID, "input %zu does not fit the first", i);
        for (size_t j = 0; j < x->rank; j++)
            if (j != axis && other->dim[j] != x->dim[j])
                return sh_fail(SH_INVALID, "input %zu does not fit the first", i);
        dim[axis] += other->dim[axis];
    }
    for (size_t i = 0; i < x->rank; i++) {
        outer *= i < axis ? dim[i] : 1;
        inner *= i > axis ? dim[i] : 1;
    }
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, x->rank, dim));
    sh_onnx_cell *to = w->out[0].cells;
    for (size_t i = 0; i < outer; i++)
        for (size_t j = 0; j < w->in_count; j++) {
            const size_t part = w->in[j]->dim[axis] * inner;
            memcpy(to, w->in[j]->cells + i * part, part * sizeof *to);
            to += part;
        }
    return SH_OK;
}

sh_status sh_fold_constant(const sh_fold_work *w)
{
    const size_t one = 1;
    const Sh__Onnx__TensorProto *tensor = sh_onnx_node_tensor(w->node, "value");
    if (tensor != NULL)
        return sh_onnx_constant_load(&w->out[0], w->store, w->model, tensor);
    const bool real =
        sh_onnx_node_has(w->node, "value_float") || sh_onnx_node_has(w->node, "value_floats");
    const bool list =
        sh_onnx_node_has(w->node, "value_ints") || sh_onnx_node_has(w->node, "value_floats");
    const int64_t *wholes = NULL;
    const float *reals = NULL;
    size_t count = 1;
    if (list)
        count = real ? sh_onnx_node_numbers(w->node, "value_floats", &reals)
                     : sh_onnx_node_integers(w->node, "value_ints", &wholes);
    else if (!real && !sh_onnx_node_has(w->node, "value_int"))
        return sh_fail(SH_UNSUPPORTED, "its value is neither a tensor nor numbers");
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, real, list ? 1 : 0, list ? &count : &one));
    sh_onnx_cell *cells = w->out[0].cells;
    for (size_t i = 0; list && i < count; i++)
        if (real)
            cells[i].real = (double)reals[i];
        else
            cells[i].whole = wholes[i];
    if (!list && real)
        cells->real = (double)sh_onnx_node_number(w->node, "value_float", 0);
    else if (!list)
        cells->whole = sh_onnx_node_integer(w->node, "value_int", 0);
    return SH_OK;
}

sh_status sh_fold_constant_of_shape(const sh_fold_work *w)
{
    int64_t wanted[SH_ONNX_RANK_MOST];
    size_t rank, dim[SH_ONNX_RANK_MOST];
    sh_onnx_constant value = {.real = true};
    const Sh__Onnx__TensorProto *tensor = sh_onnx_node_tensor(w->node, "value");
    SH_TRY(sh_onnx_constant_integers(&rank, wanted, SH_ONNX_RANK_MOST, w->in[0]));
    for (size_t i = 0; i < rank; i++) {
        if (wanted[i] < 0)
            return sh_fail(SH_INVALID, "dimension %zu of the shape is %lld", i,
                           (long long)wanted[i]);
        dim[i] = (size_t)wanted[i];
    }
    if (tensor != NULL) {
        SH_TRY(sh_onnx_constant_load(&value, w->store, w->model, tensor));
        if (value.count != 1)
            return sh_fail(SH_INVALID, "its value has %zu elements, expected one", value.count);
    }
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, value.real, rank, dim));
    for (size_t i = 0; i < w->out[0].count && tensor != NULL; i++)
        w->out[0].cells[i] = value.cells[0];
    return SH_OK;
}

sh_status sh_fold_range(const sh_fold_work *w)
{
    const sh_onnx_constant *start = w->in[0], *limit = sh_fold_input(w, 1),
                           *delta = sh_fold_input(w, 2);
    if (limit == NULL || delta == NULL || start->count != 1 || limit->count != 1 ||
        delta->count != 1 || start->real != limit->real || start->real != delta->real)
        return sh_fail(SH_INVALID, "expected three numbers of one type");
    double length;
    if (start->real)
        length = ceil((limit->cells->real - start->cells->real) / delta->cells->real);
    else
        length = ceil(((double)limit->cells->whole - (double)start->cells->whole) /
                      (double)delta->cells->whole);
    if (!(length <= (double)SH_ONNX_CELLS_MOST)) /* also true for NaN */
        return sh_fail(SH_LIMIT, "a range of more than %zu elements", SH_ONNX_CELLS_MOST);
    const size_t count = length > 0 ? (size_t)length : 0;
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, start->real, 1, &count));
    for (size_t i = 0; i < count; i++)
        if (start->real)
            w->out[0].cells[i].real =
                (double)(float)(start->cells->real + (double)i * delta->cells->real);
        else
            w->out[0].cells[i].whole = (int64_t)((uint64_t)start->cells->whole +
                                                 (uint64_t)i * (uint64_t)delta->cells->whole);
    return SH_OK;
}

sh_status sh_fold_cast(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    const int64_t to = sh_onnx_node_integer(w->node, "to", 0);
    if (to != SH_ONNX_BOOL)
        return sh_onnx_constant_cast(&w->out[0], w->store, x, sh_onnx_is_real((sh_onnx_type)to));
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, false, x->rank, x->dim));
    for (size_t i = 0; i < x->count; i++)
        w->out[0].cells[i].whole = x->real ? x->cells[i].real != 0 : x->cells[i].whole != 0;
    return SH_OK;
}
