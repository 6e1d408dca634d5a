/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/padding.h"

#define SIDE_MOST (1 << 20)

static sh_status read_mode(sh_onnx_pad_mode *mode, sh_onnx_node *node)
{
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    *mode = SH_ONNX_PAD_CONSTANT;
    if (!sh_onnx_node_has(node, "mode"))
        return SH_OK;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (sh_onnx_node_says(node, "mode", names[i])) {
            *mode = (sh_onnx_pad_mode)i;
            return SH_OK;
        }
    return sh_fail(SH_INVALID, "its mode is not constant, reflect, edge or wrap");
}

sh_status sh_onnx_padding_of(sh_onnx_padding *padding, sh_onnx_node *node, size_t rank,
                             const sh_onnx_constant *pads, const sh_onnx_constant *axes)
{
    sh_onnx_padding fresh = {0};
    int64_t listed[2 * SH_ONNX_RANK_MOST], at[SH_ONNX_RANK_MOST];
    size_t count, named = rank;
    bool has;
    for (size_t i = 0; i < rank; i++)
        at[i] = (int64_t)i;
    SH_TRY(read_mode(&fresh.mode, node));
    SH_TRY(sh_onnx_list(&has, &count, listed, 2 * rank, node, "pads", pads));
    if (axes != NULL)
        SH_TRY(sh_onnx_constant_integers(&named, at, rank, axes));
    if (!has || count != 2 * named)
        return sh_fail(SH_INVALID, "pads has %zu numbers for %zu dimensions", count, named);
    for (size_t i = 0; i < named; i++) {
        size_t axis;
        SH_TRY(sh_onnx_axis(&axis, at[i], rank));
        for (size_t end = 0; end < 2; end++) {
            const int64_t size = listed[end * named + i];
            if (size < -SIDE_MOST || size > SIDE_MOST)
                return sh_fail(SH_LIMIT, "pads has %lld", (long long)size);
            (end == 0 ? fresh.before : fresh.after)[axis] = size;
        }
    }
    *padding = fresh;
    return SH_OK;
}

sh_status sh_onnx_padding_size(size_t *size, const sh_onnx_padding *padding, size_t axis,
                               size_t dim)
{
    const int64_t before = padding->before[axis], after = padding->after[axis];
    const int64_t sum = (int64_t)dim + before + after;
    if (sum < 0 || (dim == 0 && sum > 0 && padding->mode != SH_ONNX_PAD_CONSTANT))
        return sh_fail(SH_INVALID, "pads of %lld and %lld for a dimension of %zu",
                       (long long)before, (long long)after, dim);
    *size = (size_t)sum;
    return SH_OK;
}

bool sh_onnx_padding_place(size_t *place, const sh_onnx_padding *padding, size_t axis, size_t i,
                           size_t dim)
{
    const int64_t extent = (int64_t)dim, period = extent > 1 ? 2 * (extent - 1) : 1;
    int64_t at = (int64_t)i - padding->before[axis];
    switch (padding->mode) {
    case SH_ONNX_PAD_CONSTANT:
        if (at < 0 || at >= extent)
            return false;
        break;
    case SH_ONNX_PAD_REFLECT:
        at = (at % period + period) % period;
        at = at < extent ? at : period - at;
        break;
    case SH_ONNX_PAD_EDGE:
        at = at < 0 ? 0 : at < extent ? at : extent - 1;
        break;
    case SH_ONNX_PAD_WRAP:
        at = (at % extent + extent) % extent;
        break;
    }
    *place = (size_t)at;
    return true;
}
