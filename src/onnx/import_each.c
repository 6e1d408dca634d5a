/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of each element, and softmax. */
#include <math.h>
#include <string.h>

#include "onnx/importer.h"

/* An operator on input 0 alone, of which the output has the shape. */
static sh_status apply(sh_onnx_use *use, sh_op op, const sh_attributes *attributes)
{
    sh_value_id x, y;
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_emit(&y, use, op, attributes, &x));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

/* One without settings. */
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

sh_status sh_import_hard_sigmoid(sh_onnx_use *use)
{
    const float alpha = sh_onnx_node_number(&use->node, "alpha", 0.2f);
    const float beta = sh_onnx_node_number(&use->node, "beta", 0.5f);
    SH_TRY(sh_import_arity(use, 1, 1));
    if (fabsf(alpha - 1.0f / 6) > 1e-6f || beta != 0.5f)
        return sh_fail(SH_UNSUPPORTED,
                       "alpha is %g and beta %g, only 1/6 and 0.5 are supported (PyTorch's)",
                       (double)alpha, (double)beta);
    return apply(use, SH_OP_hard_sigmoid, NULL);
}

sh_status sh_import_gelu(sh_onnx_use *use)
{
    SH_TRY(sh_import_arity(use, 1, 1));
    if (sh_onnx_node_says(&use->node, "approximate", "tanh"))
        return sh_fail(SH_UNSUPPORTED,
                       "the approximation by tanh is not supported; export with the exact form");
    return apply(use, SH_OP_gelu, NULL);
}

/* A limit of Clip, an attribute before operator set 11 and an input since. */
static sh_status read_limit(float *limit, sh_onnx_use *use, const char *attribute, size_t input,
                            float otherwise)
{
    const sh_onnx_constant *given;
    SH_TRY(sh_import_constant(&given, use, input));
    *limit = sh_onnx_node_number(&use->node, attribute, otherwise);
    if (given != NULL && (!given->real || given->count != 1))
        return sh_fail(SH_UNSUPPORTED, "its %s is not one number", attribute);
    if (given != NULL)
        *limit = (float)given->cells[0].real;
    return SH_OK;
}

sh_status sh_import_clip(sh_onnx_use *use)
{
    float low, high;
    SH_TRY(sh_import_arity(use, 1, 3));
    SH_TRY(read_limit(&low, use, "min", 1, -INFINITY));
    SH_TRY(read_limit(&high, use, "max", 2, INFINITY));
    if (low == 0 && high >= 3.4e38f)
        return apply(use, SH_OP_relu, NULL);
    if (low == 0 && high == 6)
        return apply(use, SH_OP_relu6, NULL);
    return sh_fail(SH_UNSUPPORTED, "limits of %g and %g, only 0 and 6 are supported (ReLU6)",
                   (double)low, (double)high);
}

sh_status sh_import_cast(sh_onnx_use *use)
{
    const int64_t to = sh_onnx_node_integer(&use->node, "to", 0);
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 1, 1));
    SH_TRY(sh_import_value(&x, use, 0));
    if (to != SH_ONNX_FLOAT && to != SH_ONNX_DOUBLE && to != SH_ONNX_FLOAT16 &&
        to != SH_ONNX_BFLOAT16)
        return sh_fail(SH_UNSUPPORTED, "a cast of what is trained to type %lld", (long long)to);
    sh_import_pass(use);
    return SH_OK;
}

/* Of constants, what the new exporter of PyTorch writes; numbers are float32 here in any case. */
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
        (use->in[0]->kind == SH_ENTRY_STORED && use->in[0]->trained)) {
        if (!real)
            return sh_fail(SH_UNSUPPORTED, "a cast of what is trained to integers");
        sh_import_pass(use);
        return SH_OK;
    }
    SH_TRY(sh_import_constant(&x, use, 0));
    SH_TRY(sh_onnx_constant_cast(&made, &use->importer->store, x, real));
    use->out[0]->kind = SH_ENTRY_CONSTANT;
    use->out[0]->constant = made;
    return SH_OK;
}

/* Before operator set 13 over all dimensions from `axis` on. */
sh_status sh_import_softmax(sh_onnx_use *use)
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
    SH_TRY(sh_import_emit(&y, use, SH_OP_softmax, &along, &x));
    SH_TRY(sh_import_reshape(&y, use, y, &shape));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

/* The graph's own dropout, whether the file says that it is in training or not. */
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

/* ---- two inputs -------------------------------------------------------------------------------
 */

/* The dimension of the samples in the result of an operator that broadcasts. */
static size_t batch_of_two(const sh_onnx_use *use, size_t a_rank, size_t b_rank)
{
    const size_t a = use->in[0]->batch, b = use->in[1]->batch;
    if (a != SH_NO_AXIS)
        return b_rank > a_rank ? a + b_rank - a_rank : a;
    return b == SH_NO_AXIS ? b : a_rank > b_rank ? b + a_rank - b_rank : b;
}

/* The leading dimensions of `b` are those of `a`, all others are 1: how many, or 0. */
static size_t leading(const sh_shape *a, const sh_shape *b)
{
    size_t same = 0, ones = 0;
    if (a->rank != b->rank)
        return 0;
    while (same < a->rank && a->dim[same] == b->dim[same])
        same++;
    for (size_t i = same; i < a->rank; i++)
        ones += b->dim[i] == 1;
    return same + ones == a->rank ? same : 0;
}

static sh_status import_two(sh_onnx_use *use, sh_op op)
{
    sh_value_id in[2], y;
    SH_TRY(sh_import_arity(use, 2, 2));
    for (size_t i = 0; i < 2; i++)
        SH_TRY(sh_import_value(&in[i], use, i));
    const sh_shape a = *sh_import_shape(use, in[0]), b = *sh_import_shape(use, in[1]);
    if (sh_shape_equal(&a, &b)) {
        SH_TRY(sh_import_emit(&y, use, op, NULL, in));
    } else if (op == SH_OP_multiply && (leading(&a, &b) > 0 || leading(&b, &a) > 0)) {
        const bool second = leading(&a, &b) > 0;
        sh_value_id factor = in[second ? 1 : 0];
        const sh_shape few =
            sh_shape_of(second ? leading(&a, &b) : leading(&b, &a), second ? b.dim : a.dim);
        SH_TRY(sh_import_reshape(&factor, use, factor, &few));
        SH_TRY(sh_import_emit(&y, use, SH_OP_scale, NULL,
                              (sh_value_id[]){in[second ? 0 : 1], factor}));
    } else {
        char a_text[SH_SHAPE_TEXT], b_text[SH_SHAPE_TEXT];
        return sh_fail(SH_UNSUPPORTED, "inputs of different shapes, %s and %s",
                       sh_shape_print(&a, a_text), sh_shape_print(&b, b_text));
    }
    sh_import_give(use, 0, y, batch_of_two(use, a.rank, b.rank));
    return SH_OK;
}

sh_status sh_import_add(sh_onnx_use *use)
{
    return import_two(use, SH_OP_add);
}

sh_status sh_import_sub(sh_onnx_use *use)
{
    return import_two(use, SH_OP_subtract);
}

sh_status sh_import_mul(sh_onnx_use *use)
{
    return import_two(use, SH_OP_multiply);
}

sh_status sh_import_div(sh_onnx_use *use)
{
    return sh_fail(SH_UNSUPPORTED, "division of '%.64s' is not supported",
                   use->in_count > 0 && use->in[0] != NULL ? use->in[0]->name : "");
}
