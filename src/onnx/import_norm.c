/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "graph/array_layers.h"
#include "graph/general_layers.h"
#include "onnx/importer.h"

static sh_status first_output_alone(const sh_onnx_use *use)
{
    for (size_t i = 1; i < use->out_count; i++)
        if (use->out[i] != NULL && use->out[i]->readers > 0)
            return sh_fail(SH_UNSUPPORTED,
                           "its output '%.64s' is used, but only the first is supported",
                           use->out[i]->name);
    return SH_OK;
}

/* Returns 1 - `stays`, computed in decimal: the file has a rounded float, and 0.9 must give 0.1
 * instead of the difference of the two floats. */
static float moving_by(float stays)
{
    const double exact = 1 - (double)stays, decimal = floor(exact * 1e6 + 0.5) / 1e6;
    return (float)(fabs(exact - decimal) < 6e-8 ? decimal : exact);
}

sh_status sh_import_batch_norm(sh_onnx_use *use)
{
    sh_net *net = use->importer->net;
    sh_value_id x, y;
    SH_TRY(sh_import_arity(use, 5, 5));
    SH_TRY(first_output_alone(use));
    SH_TRY(sh_import_value(&x, use, 0));
    for (size_t i = 3; i < 5; i++)
        if (!sh_import_is_weight(use, i) || use->in[i]->value != SH_NO_VALUE)
            return sh_fail(SH_UNSUPPORTED, "its mean and variance are not initialisers of its own");
    sh_batch_norm of = {
        .epsilon = sh_onnx_node_number(&use->node, "epsilon", 1e-5f),
        .momentum = moving_by(sh_onnx_node_number(&use->node, "momentum", 0.9f)),
    };
    SH_TRY(sh_import_weights(&of.weight, use, 1, SH_IMPORT_ONE));
    SH_TRY(sh_import_weights(&of.bias, use, 2, SH_IMPORT_ZERO));
    SH_TRY(sh_import_weights(&of.mean, use, 3, SH_IMPORT_MEAN));
    SH_TRY(sh_import_weights(&of.variance, use, 4, SH_IMPORT_VARIANCE));
    SH_TRY(sh_import_made(&y, use, sh_net_batch_norm(net, x, &of)));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

static sh_status add_default(sh_value_id *value, const sh_onnx_use *use, sh_shape shape,
                             float number)
{
    const sh_initial initial = {.kind = SH_INITIAL_CONSTANT, .size = number};
    char name[96];
    snprintf(name, sizeof name, "%.80s.%s", use->out[0]->name, number == 0 ? "zeros" : "ones");
    return sh_import_made(value, use,
                          sh_net_tensor(use->importer->net, name, shape, SH_ROLE_FROZEN, initial));
}

/* Expands the weights to one number for each element of these dimensions. */
static sh_status read_affine(sh_value_id *value, const sh_onnx_use *use, size_t input,
                             sh_import_filling filling, sh_shape rest)
{
    if (!sh_import_given(use, input))
        return add_default(value, use, rest, 0);
    SH_TRY(sh_import_weights(value, use, input, filling));
    SH_TRY(sh_import_made(value, use, sh_layer_expand(use->importer->net, *value, rest)));
    if (sh_shape_equal(sh_import_shape(use, *value), &rest))
        return SH_OK;
    return sh_fail(SH_UNSUPPORTED, "its scale or bias does not have the normalised shape");
}

/* Sets the mean, and 1 / sqrt(variance + epsilon), if they are read. */
static sh_status give_moments(const sh_onnx_use *use, sh_value_id x, size_t axis, float epsilon)
{
    sh_net *net = use->importer->net;
    uint32_t axes = 0;
    bool wanted[3] = {false};
    for (size_t i = 1; i < 3 && i < use->out_count; i++)
        wanted[i] = use->out[i] != NULL && use->out[i]->readers > 0;
    if (!wanted[1] && !wanted[2])
        return SH_OK;
    for (size_t i = axis; i < sh_import_shape(use, x)->rank; i++)
        axes |= SH_AXIS(i);
    sh_value_id mean = sh_layer_reduce(net, SH_REDUCE_MEAN, x, axes, true);
    const sh_value_id apart = sh_layer_pair(net, SH_PAIR_SUBTRACT, x, mean);
    const sh_value_id square = sh_layer_pair(net, SH_PAIR_MULTIPLY, apart, apart);
    const sh_value_id variance = sh_layer_reduce(net, SH_REDUCE_MEAN, square, axes, true);
    const sh_value_id more = sh_layer_unary(net, SH_UNARY_LINE, variance, (float[]){1, epsilon});
    sh_value_id inverse = sh_layer_unary(net, SH_UNARY_RECIPROCAL,
                                         sh_layer_unary(net, SH_UNARY_SQRT, more, NULL), NULL);
    SH_TRY(sh_import_made(&mean, use, mean));
    SH_TRY(sh_import_made(&inverse, use, inverse));
    sh_import_give(use, 1, mean, use->in[0]->batch);
    sh_import_give(use, 2, inverse, use->in[0]->batch);
    return SH_OK;
}

sh_status sh_import_layer_norm(sh_onnx_use *use)
{
    sh_value_id x, w, b, y;
    size_t axis;
    SH_TRY(sh_import_arity(use, 2, 3));
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape shape = *sh_import_shape(use, x);
    SH_TRY(sh_onnx_axis(&axis, sh_onnx_node_integer(&use->node, "axis", -1), shape.rank));
    if (use->in[0]->batch != SH_NO_AXIS && axis <= use->in[0]->batch)
        return sh_fail(SH_UNSUPPORTED, "it normalises over the samples");
    const sh_shape rest = sh_shape_of(shape.rank - axis, shape.dim + axis);
    SH_TRY(read_affine(&w, use, 1, SH_IMPORT_ONE, rest));
    SH_TRY(read_affine(&b, use, 2, SH_IMPORT_ZERO, rest));
    const float epsilon = sh_onnx_node_number(&use->node, "epsilon", 1e-5f);
    SH_TRY(sh_import_made(&y, use, sh_net_layer_norm(use->importer->net, x, w, b, axis, epsilon)));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return give_moments(use, x, axis, epsilon);
}

static sh_status import_groups(sh_onnx_use *use, size_t groups)
{
    sh_value_id x, w, b, y;
    SH_TRY(sh_import_value(&x, use, 0));
    SH_TRY(sh_import_weights(&w, use, 1, SH_IMPORT_ONE));
    SH_TRY(sh_import_weights(&b, use, 2, SH_IMPORT_ZERO));
    const sh_attributes attributes = {.number = sh_onnx_node_number(&use->node, "epsilon", 1e-5f),
                                      .groups = groups};
    SH_TRY(sh_import_emit(&y, use, SH_OP_group_norm, &attributes, (sh_value_id[]){x, w, b}));
    sh_import_give(use, 0, y, use->in[0]->batch);
    return SH_OK;
}

sh_status sh_import_group_norm(sh_onnx_use *use)
{
    const int64_t groups = sh_onnx_node_integer(&use->node, "num_groups", 0);
    SH_TRY(sh_import_arity(use, 3, 3));
    if (groups < 1)
        return sh_fail(SH_FORMAT, "num_groups is %lld", (long long)groups);
    return import_groups(use, (size_t)groups);
}

/* Each channel is a group of its own. */
sh_status sh_import_instance_norm(sh_onnx_use *use)
{
    sh_value_id x;
    SH_TRY(sh_import_arity(use, 3, 3));
    SH_TRY(sh_import_value(&x, use, 0));
    const sh_shape *shape = sh_import_shape(use, x);
    if (shape->rank < 2)
        return sh_fail(SH_INVALID, "its input has %zu dimensions", shape->rank);
    return import_groups(use, shape->dim[1]);
}
