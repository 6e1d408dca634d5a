/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/general_layers.h"
#include "onnx/dilated_pool.h"
#include "onnx/importer.h"

#define SIDE_MOST 65536              /* of kernels, strides, paddings */
#define INPUT_MOST ((size_t)1 << 30) /* pixels on a side of an image */

/* Reads height and width, or width alone for a line. Without the attribute the values stay
 * unchanged. */
static sh_status read_pair(size_t pair[2], sh_onnx_use *use, const char *name, size_t sides)
{
    const int64_t *values;
    const size_t count = sh_onnx_node_integers(&use->node, name, &values);
    if (count != 0 && count != sides)
        return sh_fail(SH_FORMAT, "%s has %zu numbers for %zu dimensions", name, count, sides);
    for (size_t i = 0; i < count; i++) {
        if (values[i] < 1 || values[i] > SIDE_MOST)
            return sh_fail(SH_LIMIT, "%s has %lld", name, (long long)values[i]);
        pair[2 - sides + i] = (size_t)values[i];
    }
    return SH_OK;
}

static sh_status read_pads(sh_attributes *a, sh_onnx_use *use, size_t sides)
{
    const int64_t *values;
    const size_t count = sh_onnx_node_integers(&use->node, "pads", &values);
    if (count != 0 && count != 2 * sides)
        return sh_fail(SH_FORMAT, "pads has %zu numbers for %zu dimensions", count, sides);
    for (size_t i = 0; i < count; i++) {
        if (values[i] < 0 || values[i] > SIDE_MOST)
            return sh_fail(SH_UNSUPPORTED, "pads has %lld", (long long)values[i]);
        size_t *pair = i < sides ? a->padding : a->end_padding;
        pair[2 - sides + (i < sides ? i : i - sides)] = (size_t)values[i];
    }
    return SH_OK;
}

/* Each side of the output becomes the side of the input divided by the stride, rounded up. */
static void pad_same(sh_attributes *a, size_t axis, size_t extent, bool upper)
{
    const size_t outputs = (extent + a->stride[axis] - 1) / a->stride[axis];
    const size_t needs =
        (outputs - 1) * a->stride[axis] + a->dilation[axis] * (a->kernel[axis] - 1) + 1;
    const size_t total = needs > extent ? needs - extent : 0;
    a->padding[axis] = upper ? total / 2 : total - total / 2;
    a->end_padding[axis] = total - a->padding[axis];
}

/* `a` holds the kernel's sides if the node may omit them. */
static sh_status read_windows(sh_attributes *a, sh_onnx_use *use, const sh_shape *x)
{
    if (x->rank != 3 && x->rank != 4)
        return sh_fail(SH_UNSUPPORTED,
                       "its input has %zu dimensions, images [N, C, H, W] and "
                       "lines [N, C, L] are supported",
                       x->rank);
    const size_t sides = x->rank - 2;
    for (size_t i = 0; i < 2; i++)
        a->stride[i] = a->dilation[i] = 1;
    SH_TRY(read_pair(a->kernel, use, "kernel_shape", sides));
    SH_TRY(read_pair(a->stride, use, "strides", sides));
    SH_TRY(read_pair(a->dilation, use, "dilations", sides));
    SH_TRY(read_pads(a, use, sides));
    const bool upper = sh_onnx_node_says(&use->node, "auto_pad", "SAME_UPPER");
    const bool lower = sh_onnx_node_says(&use->node, "auto_pad", "SAME_LOWER");
    for (size_t i = 2 - sides; i < 2; i++) {
        if (a->kernel[i] == 0 || a->kernel[i] > SIDE_MOST)
            return sh_fail(SH_FORMAT, "kernel_shape has %zu", a->kernel[i]);
        if (x->dim[x->rank - 2 + i] > INPUT_MOST)
            return sh_fail(SH_LIMIT, "its input has a side of %zu", x->dim[x->rank - 2 + i]);
        if (upper || lower)
            pad_same(a, i, x->dim[x->rank - 2 + i], upper);
    }
    return SH_OK;
}

static bool has_bias(const sh_onnx_use *use, size_t input)
{
    if (!sh_import_given(use, input))
        return false;
    const sh_onnx_entry *entry = use->in[input];
    for (size_t i = 0; entry->kind == SH_ENTRY_CONSTANT && i < entry->constant.count; i++)
        if (!entry->constant.real || entry->constant.cells[i].real != 0)
            return true;
    return entry->kind != SH_ENTRY_CONSTANT;
}

sh_status sh_import_conv(sh_onnx_use *use)
{
    sh_value_id x, w, b = SH_NO_VALUE, y;
    sh_attributes a = {0};
    SH_TRY(sh_import_arity(use, 2, 3));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_value(&w, use, 1));
    if (has_bias(use, 2))
        SH_TRY(sh_import_weights(&b, use, 2, SH_IMPORT_ZERO));
    const sh_shape of_x = *sh_import_shape(use, x), of_w = *sh_import_shape(use, w);
    if (of_x.rank != of_w.rank)
        return sh_fail(SH_INVALID, "an input of %zu dimensions for weights of %zu", of_x.rank,
                       of_w.rank);
    for (size_t i = 2; i < of_w.rank; i++)
        a.kernel[i + 2 - of_w.rank] = of_w.dim[i];
    const sh_attributes sides = a;
    SH_TRY(read_windows(&a, use, &of_x));
    if (a.kernel[0] != sides.kernel[0] || a.kernel[1] != sides.kernel[1])
        return sh_fail(SH_INVALID, "kernel_shape is not that of the weights");
    const int64_t groups = sh_onnx_node_integer(&use->node, "group", 1);
    if (groups < 1 || groups > INT32_MAX)
        return sh_fail(SH_FORMAT, "group is %lld", (long long)groups);
    a.groups = (size_t)groups;
    a.kernel[0] = a.kernel[1] = 0; /* follows from the weights */
    SH_TRY(sh_import_made(&y, use, sh_net_convolve(use->importer->net, x, w, b, &a)));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

/* Makes side `axis` of the output `wanted` long. An odd element goes to the end for SAME_UPPER,
 * otherwise to the beginning. */
static sh_status pad_output(sh_attributes *a, size_t *more, int axis, size_t extent, size_t wanted,
                            bool upper)
{
    const size_t reached =
        a->stride[axis] * (extent - 1) + a->dilation[axis] * (a->kernel[axis] - 1);
    const size_t whole = reached + 1 + *more;
    if (wanted == 0)
        return sh_fail(SH_INVALID, "a side of its output is 0");
    if (wanted > whole)
        *more += wanted - whole;
    const size_t total = wanted < whole ? whole - wanted : 0;
    a->padding[axis] = upper ? total / 2 : total - total / 2;
    a->end_padding[axis] = total - a->padding[axis];
    return SH_OK;
}

/* `a` holds the kernel's sides, and `more` receives the output padding. If the node gives the sides
 * of the output, the padding follows from them. */
static sh_status read_transposed(sh_attributes *a, size_t more[2], sh_onnx_use *use,
                                 const sh_shape *x)
{
    const size_t sides = x->rank - 2;
    const int64_t *wanted, *given;
    const size_t count = sh_onnx_node_integers(&use->node, "output_shape", &wanted);
    const size_t extra = sh_onnx_node_integers(&use->node, "output_padding", &given);
    const bool upper = sh_onnx_node_says(&use->node, "auto_pad", "SAME_UPPER");
    const bool same = upper || sh_onnx_node_says(&use->node, "auto_pad", "SAME_LOWER");
    if ((extra != 0 && extra != sides) || (count != 0 && count < sides))
        return sh_fail(SH_FORMAT,
                       "output_padding has %zu numbers and output_shape %zu for %zu dimensions",
                       extra, count, sides);
    for (size_t i = 0; i < extra; i++) {
        if (given[i] < 0 || given[i] > SIDE_MOST)
            return sh_fail(SH_LIMIT, "output_padding has %lld", (long long)given[i]);
        more[2 - sides + i] = (size_t)given[i];
    }
    SH_TRY(read_windows(a, use, x));
    for (size_t i = 0; i < sides && (count > 0 || same); i++) {
        const size_t axis = 2 - sides + i, extent = x->dim[2 + i];
        const int64_t side = count > 0 ? wanted[count - sides + i] : 0;
        if (side < 0 || side > SIDE_MOST)
            return sh_fail(SH_LIMIT, "output_shape has %lld", (long long)side);
        SH_TRY(pad_output(a, &more[axis], (int)axis, extent,
                          count > 0 ? (size_t)side : extent * a->stride[axis], upper));
    }
    return SH_OK;
}

sh_status sh_import_conv_transpose(sh_onnx_use *use)
{
    sh_value_id x, w, b = SH_NO_VALUE, y;
    sh_attributes a = {0};
    size_t more[2] = {0};
    SH_TRY(sh_import_arity(use, 2, 3));
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_value(&w, use, 1));
    if (has_bias(use, 2))
        SH_TRY(sh_import_weights(&b, use, 2, SH_IMPORT_ZERO));
    const sh_shape of_x = *sh_import_shape(use, x), of_w = *sh_import_shape(use, w);
    if (of_x.rank != of_w.rank || of_x.rank < 3)
        return sh_fail(SH_INVALID, "an input of %zu dimensions for weights of %zu", of_x.rank,
                       of_w.rank);
    for (size_t i = 2; i < of_w.rank; i++)
        a.kernel[i + 2 - of_w.rank] = of_w.dim[i];
    SH_TRY(read_transposed(&a, more, use, &of_x));
    const int64_t groups = sh_onnx_node_integer(&use->node, "group", 1);
    if (groups < 1 || groups > INT32_MAX)
        return sh_fail(SH_FORMAT, "group is %lld", (long long)groups);
    a.groups = (size_t)groups;
    a.kernel[0] = a.kernel[1] = 0;
    SH_TRY(
        sh_import_made(&y, use, sh_net_convolve_transposed(use->importer->net, x, w, b, &a, more)));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

static sh_status import_pool(sh_onnx_use *use, sh_op op)
{
    sh_value_id x, y;
    sh_attributes a = {0};
    SH_TRY(sh_import_arity(use, 1, 1));
    if (use->out_count > 1 && use->out[1] != NULL && use->out[1]->readers > 0)
        return sh_fail(SH_UNSUPPORTED,
                       "its indices are used, but only its largest values are supported");
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    SH_TRY(read_windows(&a, use, &shape));
    a.inside =
        op == SH_OP_avg_pool && sh_onnx_node_integer(&use->node, "count_include_pad", 0) == 0;
    const bool ceil = sh_onnx_node_integer(&use->node, "ceil_mode", 0) != 0;
    if (a.dilation[0] != 1 || a.dilation[1] != 1)
        SH_TRY(sh_import_dilated_pool(&y, use, op, x, &a, ceil));
    else
        SH_TRY(sh_import_made(&y, use, sh_net_pool(use->importer->net, op, x, &a, ceil)));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

sh_status sh_import_max_pool(sh_onnx_use *use)
{
    return import_pool(use, SH_OP_max_pool);
}

sh_status sh_import_average_pool(sh_onnx_use *use)
{
    return import_pool(use, SH_OP_avg_pool);
}

static sh_status keep_sides(sh_value_id *y, const sh_onnx_use *use, const sh_shape *x)
{
    sh_shape sides = *x;
    for (size_t i = 2; i < sides.rank; i++)
        sides.dim[i] = 1;
    return sh_import_reshape(y, use, *y, &sides);
}

sh_status sh_import_global_average_pool(sh_onnx_use *use)
{
    sh_value_id x, y;
    SH_TRY(sh_import_arity(use, 1, 1));
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    SH_TRY(sh_import_made(&y, use, sh_layer_global_pool(use->importer->net, x)));
    SH_TRY(keep_sides(&y, use, &shape));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

sh_status sh_import_global_max_pool(sh_onnx_use *use)
{
    sh_value_id x, y;
    SH_TRY(sh_import_arity(use, 1, 1));
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    if (shape.rank == 3) {
        const sh_shape image =
            sh_shape_of(4, (size_t[]){shape.dim[0], shape.dim[1], 1, shape.dim[2]});
        SH_TRY(sh_import_reshape(&x, use, x, &image));
    }
    SH_TRY(sh_import_made(&y, use, sh_net_global_max_pool(use->importer->net, x)));
    SH_TRY(keep_sides(&y, use, &shape));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}
