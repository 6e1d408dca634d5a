/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "onnx/fold_work.h"
#include "onnx/padding.h"

static sh_status copy(sh_onnx_constant *y, const sh_fold_work *w, const sh_onnx_constant *x)
{
    SH_TRY(sh_onnx_constant_new(y, w->store, x->real, x->rank, x->dim));
    if (x->count > 0)
        memcpy(y->cells, x->cells, x->count * sizeof *y->cells);
    return SH_OK;
}

static sh_status read_integer(int64_t *value, const sh_fold_work *w, size_t input,
                              int64_t otherwise)
{
    const sh_onnx_constant *given = sh_fold_input(w, input);
    *value = otherwise;
    if (given == NULL)
        return SH_OK;
    if (given->real || given->count != 1)
        return sh_fail(SH_INVALID, "input %zu is not one integer", input);
    *value = given->cells->whole;
    return SH_OK;
}

sh_status sh_fold_trilu(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    const bool upper = sh_onnx_node_integer(w->node, "upper", 1) != 0;
    int64_t k;
    SH_TRY(read_integer(&k, w, 1, 0));
    if (x->rank < 2)
        return sh_fail(SH_INVALID, "its input is not a matrix");
    SH_TRY(copy(&w->out[0], w, x));
    const size_t columns = x->dim[x->rank - 1], rows = x->dim[x->rank - 2];
    for (size_t i = 0; i < x->count; i++) {
        const int64_t row = (int64_t)(i / columns % rows), column = (int64_t)(i % columns);
        if (upper ? column - row < k : column - row > k)
            w->out[0].cells[i] = (sh_onnx_cell){0};
    }
    return SH_OK;
}

sh_status sh_fold_cumsum(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0];
    const bool exclusive = sh_onnx_node_integer(w->node, "exclusive", 0) != 0;
    const bool reverse = sh_onnx_node_integer(w->node, "reverse", 0) != 0;
    int64_t given;
    size_t axis, inner = 1;
    SH_TRY(read_integer(&given, w, 1, 0));
    SH_TRY(sh_onnx_axis(&axis, given, x->rank));
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, x->rank, x->dim));
    for (size_t i = axis + 1; i < x->rank; i++)
        inner *= x->dim[i];
    const size_t length = x->dim[axis];
    for (size_t line = 0; line * length < x->count; line++) {
        sh_onnx_cell sum = {0};
        for (size_t i = 0; i < length; i++) {
            const size_t step = reverse ? length - 1 - i : i;
            const size_t at = (line / inner * length + step) * inner + line % inner;
            sh_onnx_cell next = sum;
            if (x->real)
                next.real = (double)(float)(sum.real + x->cells[at].real);
            else
                next.whole = (int64_t)((uint64_t)sum.whole + (uint64_t)x->cells[at].whole);
            w->out[0].cells[at] = exclusive ? sum : next;
            sum = next;
        }
    }
    return SH_OK;
}

static sh_status find_place(size_t *place, const sh_onnx_constant *x, const sh_onnx_cell *index,
                            size_t count)
{
    *place = 0;
    for (size_t i = 0; i < count; i++) {
        size_t at;
        SH_TRY(sh_onnx_axis(&at, index[i].whole, x->dim[i]));
        *place = *place * x->dim[i] + at;
    }
    for (size_t i = count; i < x->rank; i++)
        *place *= x->dim[i];
    return SH_OK;
}

/* NULL: new elements replace old ones. */
static sh_status read_reduction(const char **how, sh_onnx_node *node)
{
    static const char *const all[] = {"add", "mul", "max", "min"};
    *how = NULL;
    if (!sh_onnx_node_has(node, "reduction") || sh_onnx_node_says(node, "reduction", "none"))
        return SH_OK;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (sh_onnx_node_says(node, "reduction", all[i]))
            *how = all[i];
    return *how != NULL ? SH_OK : sh_fail(SH_INVALID, "its reduction is unknown");
}

/* Each row of indices selects a part of x. */
sh_status sh_fold_scatter_nd(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0], *indices = sh_fold_input(w, 1),
                           *updates = sh_fold_input(w, 2);
    const char *how;
    if (indices == NULL || updates == NULL || indices->real || indices->rank == 0 ||
        updates->real != x->real)
        return sh_fail(SH_INVALID, "expected integers and updates of the input's type");
    SH_TRY(read_reduction(&how, w->node));
    const size_t count = indices->dim[indices->rank - 1];
    size_t part = 1;
    if (count == 0 || count > x->rank)
        return sh_fail(SH_INVALID, "rows of %zu indices for %zu dimensions", count, x->rank);
    for (size_t i = count; i < x->rank; i++)
        part *= x->dim[i];
    if (updates->count != indices->count / count * part)
        return sh_fail(SH_INVALID, "%zu updates for %zu places", updates->count,
                       indices->count / count * part);
    SH_TRY(copy(&w->out[0], w, x));
    for (size_t i = 0; i < indices->count / count && part > 0; i++) {
        size_t place;
        SH_TRY(find_place(&place, x, indices->cells + i * count, count));
        sh_onnx_cell *to = w->out[0].cells + place;
        const sh_onnx_cell *from = updates->cells + i * part;
        for (size_t j = 0; j < part; j++)
            if (how == NULL)
                to[j] = from[j];
            else
                SH_TRY(sh_fold_combine(&to[j], x->real, how, to[j], from[j]));
    }
    return SH_OK;
}

/* The index replaces the position along `axis`. */
sh_status sh_fold_gather_elements(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0], *indices = sh_fold_input(w, 1);
    size_t axis, place[SH_ONNX_RANK_MOST] = {0};
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(w->node, "axis", 0), x->rank));
    if (indices == NULL || indices->real || indices->rank != x->rank)
        return sh_fail(SH_INVALID, "its indices do not fit its input");
    for (size_t i = 0; i < x->rank; i++)
        if (i != axis && indices->dim[i] > x->dim[i])
            return sh_fail(SH_INVALID, "its indices do not fit its input");
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, x->rank, indices->dim));
    for (size_t i = 0; i < indices->count; i++) {
        size_t at = 0, index;
        SH_TRY(sh_onnx_axis(&index, indices->cells[i].whole, x->dim[axis]));
        for (size_t j = 0; j < x->rank; j++)
            at = at * x->dim[j] + (j == axis ? index : place[j]);
        w->out[0].cells[i] = x->cells[at];
        sh_fold_next_place(place, x->rank, indices->dim);
    }
    return SH_OK;
}

sh_status sh_fold_tile(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0], *given = sh_fold_input(w, 1);
    int64_t copies[SH_ONNX_RANK_MOST];
    size_t count, dim[SH_ONNX_RANK_MOST], place[SH_ONNX_RANK_MOST] = {0};
    if (given == NULL)
        return sh_fail(SH_INVALID, "it lacks the numbers of copies");
    SH_TRY(sh_onnx_constant_integers(&count, copies, SH_ONNX_RANK_MOST, given));
    if (count != x->rank)
        return sh_fail(SH_INVALID, "%zu numbers of copies for %zu dimensions", count, x->rank);
    for (size_t i = 0; i < count; i++) {
        if (copies[i] < 0 || copies[i] > (int64_t)SH_ONNX_CELLS_MOST)
            return sh_fail(SH_INVALID, "%lld copies", (long long)copies[i]);
        if (!sh_size_mul(x->dim[i], (size_t)copies[i], &dim[i]))
            return sh_fail(SH_LIMIT, "a shape is too large");
    }
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, x->rank, dim));
    for (size_t i = 0; i < w->out[0].count; i++) {
        size_t at = 0;
        for (size_t j = 0; j < x->rank; j++)
            at = at * x->dim[j] + place[j] % x->dim[j];
        w->out[0].cells[i] = x->cells[at];
        sh_fold_next_place(place, x->rank, dim);
    }
    return SH_OK;
}

sh_status sh_fold_pad(const sh_fold_work *w)
{
    const sh_onnx_constant *x = w->in[0], *value = sh_fold_input(w, 2);
    sh_onnx_padding padding;
    size_t dim[SH_ONNX_RANK_MOST], place[SH_ONNX_RANK_MOST] = {0};
    sh_onnx_cell around = {0};
    if (x->real)
        around.real = (double)sh_onnx_node_number(w->node, "value", 0);
    if (value != NULL && value->count > 0 && value->real == x->real)
        around = value->cells[0];
    SH_TRY(
        sh_onnx_padding_of(&padding, w->node, x->rank, sh_fold_input(w, 1), sh_fold_input(w, 3)));
    for (size_t i = 0; i < x->rank; i++)
        SH_TRY(sh_onnx_padding_size(&dim[i], &padding, i, x->dim[i]));
    SH_TRY(sh_onnx_constant_new(&w->out[0], w->store, x->real, x->rank, dim));
    for (size_t i = 0; i < w->out[0].count; i++) {
        size_t at = 0;
        bool inside = true;
        for (size_t j = 0; j < x->rank; j++) {
            size_t from = 0;
            inside &= sh_onnx_padding_place(&from, &padding, j, place[j], x->dim[j]);
            at = at * x->dim[j] + from;
        }
        w->out[0].cells[i] = inside ? x->cells[at] : around;
        sh_fold_next_place(place, x->rank, dim);
    }
    return SH_OK;
}
