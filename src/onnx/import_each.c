/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "graph/array_layers.h"
#include "onnx/import_constants.h"

static sh_status apply(sh_onnx_use *use, sh_op op, const sh_attributes *attributes)
{
    sh_value_id x, y;
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_emit(&y, use, op, attributes, &x));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

#define PLAIN(name, op)                                                                            \
    sh_status sh_import_##name(sh_onnx_use *use)                                                   \
    {                                                                                              \
        SH_TRY(sh_import_arity(use, 1, 1));                                                        \
        return apply(use, op, NULL);                                                               \
    }
PLAIN(relu, SH_OP_relu)
PLAIN(sigmoid, SH_OP_sigmoid)
PLAIN(tanh, SH_OP_tanh)
PLAIN(hard_swish, SH_OP_hard_swish)
PLAIN(neg, SH_OP_negate)

sh_status sh_import_leaky_relu(sh_onnx_use *use)
{
    const sh_attributes slope = {.number = sh_onnx_node_number(&use->node, "alpha", 0.01f)};
    SH_TRY(sh_import_arity(use, 1, 1));
    return apply(use, SH_OP_leaky_relu, &slope);
}

static sh_status apply_unary(sh_onnx_use *use, sh_unary function, const float *numbers)
{
    sh_value_id x, y;
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_made(&y, use, sh_layer_unary(use->importer->net, function, x, numbers)));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

#define UNARY(name, function)                                                                      \
    sh_status sh_import_##name(sh_onnx_use *use)                                                   \
    {                                                                                              \
        SH_TRY(sh_import_arity(use, 1, 1));                                                        \
        return apply_unary(use, function, NULL);                                                   \
    }
UNARY(exp, SH_UNARY_EXP)
UNARY(log, SH_UNARY_LOG)
UNARY(sqrt, SH_UNARY_SQRT)
UNARY(reciprocal, SH_UNARY_RECIPROCAL)
UNARY(abs, SH_UNARY_ABS)
UNARY(softplus, SH_UNARY_SOFTPLUS)
UNARY(mish, SH_UNARY_MISH)
UNARY(erf, SH_UNARY_ERF)

sh_status sh_import_elu(sh_onnx_use *use)
{
    const float numbers[2] = {sh_onnx_node_number(&use->node, "alpha", 1), 0};
    SH_TRY(sh_import_arity(use, 1, 1));
    return apply_unary(use, SH_UNARY_ELU, numbers);
}

sh_status sh_import_hard_sigmoid(sh_onnx_use *use)
{
    const float alpha = sh_onnx_node_number(&use->node, "alpha", 0.2f);
    const float beta = sh_onnx_node_number(&use->node, "beta", 0.5f);
    SH_TRY(sh_import_arity(use, 1, 1));
    if (fabsf(alpha - 1.0f / 6) < 1e-6f && beta == 0.5f) /* PyTorch's parameters */
        return apply(use, SH_OP_hard_sigmoid, NULL);
    return apply_unary(use, SH_UNARY_HARD_SIGMOID, (float[]){alpha, beta});
}

/* A limit of Clip is an attribute before operator set 11, an input since then. False if it is not a
 * constant. */
static bool read_limit(float *limit, sh_onnx_use *use, const char *attribute, size_t input,
                       float otherwise)
{
    const sh_onnx_constant *given;
    *limit = sh_onnx_node_number(&use->node, attribute, otherwise);
    if (!sh_import_given(use, input))
        return true;
    if (use->in[input]->kind == SH_ENTRY_VALUE || sh_import_constant(&given, use, input) != SH_OK ||
        !given->real || given->count != 1)
        return false;
    *limit = (float)given->cells[0].real;
    return true;
}

static sh_status clip_by_values(sh_onnx_use *use)
{
    sh_value_id y, limit;
    SH_TRY(sh_import_value(&y, use, 0));
    const sh_shape shape = *sh_import_shape(use, y);
    for (size_t i = 1; i < 3; i++) {
        if (!sh_import_given(use, i))
            continue;
        SH_TRY(sh_import_value(&limit, use, i));
        const sh_pair_function function = i == 1 ? SH_PAIR_LARGER : SH_PAIR_SMALLER;
        SH_TRY(sh_import_made(&y, use, sh_layer_pair(use->importer->net, function, y, limit)));
    }
    if (!sh_shape_equal(sh_import_shape(use, y), &shape))
        return sh_fail(SH_INVALID, "its limits are not numbers");
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

sh_status sh_import_clip(sh_onnx_use *use)
{
    float low, high;
    SH_TRY(sh_import_arity(use, 1, 3));
    if (!read_limit(&low, use, "min", 1, -INFINITY) || !read_limit(&high, use, "max", 2, INFINITY))
        return clip_by_values(use);
    if (low == 0 && high >= 3.4e38f)
        return apply(use, SH_OP_relu, NULL);
    if (low == 0 && high == 6)
        return apply(use, SH_OP_relu6, NULL);
    if (isnan(low) || isnan(high))
        return sh_fail(SH_INVALID, "limits of %g and %g", (double)low, (double)high);
    low = low > high ? high : low; /* the upper limit takes precedence */
    return apply_unary(use, SH_UNARY_CLIP, (float[]){low, high});
}

/* 1 where x is not 0, else 0. */
static sh_status as_truth(sh_onnx_use *use, sh_value_id x)
{
    sh_net *net = use->importer->net;
    sh_value_id y, zero;
    SH_TRY(sh_import_frozen(&zero, use, "zero", (sh_shape){0}, (float[]){0}));
    y = sh_layer_pair(net, SH_PAIR_EQUAL, x, zero);
    SH_TRY(sh_import_made(&y, use, sh_layer_unary(net, SH_UNARY_LINE, y, (float[]){-1, 1})));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

sh_status sh_import_cast(sh_onnx_use *use)
{
    const int64_t to = sh_onnx_node_integer(&use->node, "to", 0);
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 1, 1));
    SH_TRY(sh_import_value(&x, use, 0));
    const bool samples = use->in[0]->maker == SIZE_MAX && use->in[0]->batch != SH_NO_AXIS;
    if (samples && (to == SH_ONNX_INT32 || to == SH_ONNX_INT64)) { /* whole numbers */
        sh_import_pass(use);
        return SH_OK;
    }
    const bool truth = sh_import_is_truth(use, 0);
    if (to == SH_ONNX_BOOL && !truth)
        return as_truth(use, x);
    if (!truth && !sh_onnx_is_real((sh_onnx_type)to))
        return sh_fail(SH_UNSUPPORTED, "a cast of trained values to type %lld", (long long)to);
    sh_import_pass(use);
    return SH_OK;
}

/* PyTorch's new exporter writes CastLike for constants. Numbers are always float32 here. */
sh_status sh_import_cast_like(sh_onnx_use *use)
{
    const sh_onnx_constant *x;
    sh_onnx_constant made;
    bool real = true;
    SH_TRY(sh_import_arity(use, 2, 2));
    const sh_onnx_entry *like = use->in[1];
    if (like->kind == SH_ENTRY_CONSTANT)
        real = like->constant.real;
    else if (like->kind == SH_ENTRY_STORED) {
        sh_onnx_tensor tensor;
        SH_TRY(sh_onnx_tensor_of(&tensor, use->importer->model, like->stored));
        real = sh_onnx_is_real(tensor.type);
    }
    if (use->in[0]->kind == SH_ENTRY_VALUE ||
        (use->in[0]->kind == SH_ENTRY_STORED && use->in[0]->role != SH_ONNX_CONSTANT)) {
        if (!real)
            return sh_fail(SH_UNSUPPORTED, "a cast of trained values to integers");
        sh_import_pass(use);
        return SH_OK;
    }
    SH_TRY(sh_import_constant(&x, use, 0));
    SH_TRY(sh_onnx_constant_cast(&made, &use->importer->store, x, real));
    use->out[0]->kind = SH_ENTRY_CONSTANT;
    use->out[0]->constant = made;
    return SH_OK;
}

/* Before operator set 13, softmax ran over all dimensions from `axis` on. */
static sh_status import_softmax(sh_onnx_use *use, sh_op op)
{
    const bool old = use->node.opset < 13;
    sh_value_id x, y;
    size_t axis;
    SH_TRY(sh_import_arity(use, 1, 1));
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    sh_shape rows = shape;
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(&use->node, "axis", old ? 1 : -1), shape.rank));
    if (use->in[0]->batch != SH_NO_AXIS &&
        (axis == use->in[0]->batch || (old && axis < use->in[0]->batch)))
        return sh_fail(SH_UNSUPPORTED, "it normalises over the samples");
    if (old && axis + 1 < shape.rank) {
        rows = sh_shape_of(axis, shape.dim);
        rows.dim[rows.rank++] = sh_shape_count(&shape) / sh_shape_count(&rows);
    }
    const sh_attributes along = {.axis = axis};
    SH_TRY(sh_import_reshape(&x, use, x, &rows));
    SH_TRY(sh_import_emit(&y, use, op, &along, &x));
    SH_TRY(sh_import_reshape(&y, use, y, &shape));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

sh_status sh_import_softmax(sh_onnx_use *use)
{
    return import_softmax(use, SH_OP_softmax);
}

sh_status sh_import_log_softmax(sh_onnx_use *use)
{
    return import_softmax(use, SH_OP_log_softmax);
}

/* Ignores the training mode in the file. */
sh_status sh_import_dropout(sh_onnx_use *use)
{
    const sh_onnx_constant *given;
    sh_value_id x, y;
    float p = sh_onnx_node_number(&use->node, "ratio", 0.5f);
    SH_TRY(sh_import_arity(use, 1, 3));
    if (use->out_count > 1 && use->out[1] != NULL && use->out[1]->readers > 0)
        return sh_fail(SH_UNSUPPORTED, "its mask is used");
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_constant(&given, use, 1));
    if (given != NULL && (!given->real || given->count != 1))
        return sh_fail(SH_UNSUPPORTED, "its ratio is not one number");
    if (given != NULL)
        p = (float)given->cells[0].real;
    SH_TRY(sh_import_made(&y, use, sh_layer_dropout(use->importer->net, x, p)));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}
