/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/layers.h"

#include <stdio.h>

#define NAME_BYTES 128

static size_t or_one(size_t value)
{
    return value == 0 ? 1 : value;
}

/* Declares name.weight and name.bias and writes their values to pair[0] and pair[1]. */
static void declare_pair(sh_graph *graph, const char *name, sh_shape weight, sh_value_id pair[2])
{
    char full[NAME_BYTES];
    size_t fan_in = 1;
    for (size_t i = 1; i < weight.rank; i++)
        fan_in *= weight.dim[i];
    snprintf(full, sizeof full, "%s.weight", name);
    pair[0] = sh_graph_parameter(graph, full, (sh_type){SH_F32, weight}, SH_INITIAL_FAN_IN, fan_in);
    snprintf(full, sizeof full, "%s.bias", name);
    const sh_type bias = {SH_F32, sh_shape_of(1, weight.dim)};
    pair[1] = sh_graph_parameter(graph, full, bias, SH_INITIAL_FAN_IN, fan_in);
}

/* The type of x where it has this rank; a failure in the graph otherwise. */
static const sh_type *type_of(sh_graph *graph, sh_value_id x, const char *layer, size_t rank)
{
    if (graph->status != SH_OK || x == SH_NO_VALUE)
        return NULL;
    const sh_type *type = sh_graph_type(graph, x);
    const sh_status status = sh_op_expect(layer, "the input", type, SH_F32, rank);
    if (status != SH_OK) {
        sh_graph_failed(graph, status);
        return NULL;
    }
    return type;
}

sh_value_id sh_layer_conv2d(sh_graph *graph, sh_value_id x, const sh_conv_options *options)
{
    const sh_type *type = type_of(graph, x, options->name, 4);
    sh_value_id pair[2], out[SH_MAX_OUTPUTS];
    if (type == NULL)
        return SH_NO_VALUE;
    const size_t groups = or_one(options->groups), stride = or_one(options->stride),
                 dilation = or_one(options->dilation);
    declare_pair(graph, options->name,
                 sh_shape_of(4, (size_t[]){options->channels, type->shape.dim[1] / groups,
                                           options->kernel, options->kernel}),
                 pair);
    const sh_attributes attributes = {
        .stride = {stride, stride},
        .padding = {options->padding, options->padding},
        .dilation = {dilation, dilation},
        .groups = groups,
    };
    return sh_graph_add(graph, SH_OP_conv2d, &attributes, (sh_value_id[]){x, pair[0], pair[1]},
                        out);
}

sh_value_id sh_layer_linear(sh_graph *graph, sh_value_id x, const char *name, size_t outputs)
{
    const sh_type *type = type_of(graph, x, name, 2);
    sh_value_id pair[2], out[SH_MAX_OUTPUTS];
    if (type == NULL)
        return SH_NO_VALUE;
    declare_pair(graph, name, sh_shape_of(2, (size_t[]){outputs, type->shape.dim[1]}), pair);
    return sh_graph_add(graph, SH_OP_linear, NULL, (sh_value_id[]){x, pair[0], pair[1]}, out);
}

sh_value_id sh_layer_max_pool(sh_graph *graph, sh_value_id x, size_t kernel, size_t stride)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    const sh_attributes attributes = {.kernel = {kernel, kernel}, .stride = {stride, stride}};
    return sh_graph_add(graph, SH_OP_max_pool, &attributes, &x, out);
}

sh_value_id sh_layer_relu(sh_graph *graph, sh_value_id x)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    return sh_graph_add(graph, SH_OP_relu, NULL, &x, out);
}

sh_value_id sh_layer_flatten(sh_graph *graph, sh_value_id x)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    if (graph->status != SH_OK || x == SH_NO_VALUE)
        return SH_NO_VALUE;
    const sh_shape *shape = &sh_graph_type(graph, x)->shape;
    const size_t samples = shape->dim[0];
    const sh_attributes attributes = {
        .shape = sh_shape_of(2, (size_t[]){samples, sh_shape_count(shape) / samples})};
    return sh_graph_add(graph, SH_OP_reshape, &attributes, &x, out);
}
