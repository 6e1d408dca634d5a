/* SPDX-License-Identifier: Apache-2.0 */
/* Layers without parameters (layers.h). */
#include <assert.h>

#include "graph/layers.h"

/* The shape of x, borrowed until the next value is made; NULL after a failure. */
static const sh_shape *shape_of(const sh_net *net, sh_value_id x)
{
    if (net->graph->status != SH_OK || x == SH_NO_VALUE)
        return NULL;
    return &sh_graph_type(net->graph, x)->shape;
}

static sh_attributes pool_attributes(const sh_pool_options *options)
{
    const size_t stride = options->stride == 0 ? options->kernel : options->stride;
    return (sh_attributes){
        .kernel = {options->kernel, options->kernel},
        .stride = {stride, stride},
        .padding = {options->padding, options->padding},
    };
}

/*
 * How much further the windows of max_pool reach at the end than its padding does, so that one more
 * fits in where elements are left over; but none begins in the padding at the end, as in PyTorch.
 */
static size_t reach(size_t extent, const sh_pool_options *options, size_t stride)
{
    const size_t padded = extent + 2 * options->padding;
    const size_t rest = padded < options->kernel ? 0 : (padded - options->kernel) % stride;
    const size_t next = padded - options->kernel - rest + stride; /* where one more begins */
    return rest == 0 || next >= extent + options->padding ? 0 : stride - rest;
}

sh_value_id sh_layer_max_pool(sh_net *net, sh_value_id x, const sh_pool_options *options)
{
    sh_attributes attributes = pool_attributes(options);
    const sh_type *type = sh_net_type(net, x, "max_pool", 4);
    for (int i = 2; i < 4 && type != NULL && options->ceil && options->kernel > 0; i++)
        attributes.after[i] = reach(type->shape.dim[i], options, attributes.stride[0]);
    return sh_net_apply(net, SH_OP_max_pool, &attributes, x);
}

sh_value_id sh_layer_avg_pool(sh_net *net, sh_value_id x, const sh_pool_options *options)
{
    const sh_attributes attributes = pool_attributes(options);
    return sh_net_apply(net, SH_OP_avg_pool, &attributes, x);
}

sh_value_id sh_layer_global_pool(sh_net *net, sh_value_id x)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    const sh_attributes attributes = {.axis = 2, .axes = shape->rank > 2 ? shape->rank - 2 : 0};
    return sh_net_apply(net, SH_OP_mean, &attributes, x);
}

sh_value_id sh_layer_relu(sh_net *net, sh_value_id x)
{
    return sh_net_apply(net, SH_OP_relu, NULL, x);
}

sh_value_id sh_layer_dropout(sh_net *net, sh_value_id x, float p)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    const sh_attributes attributes = {.number = p, .layer = net->dropouts++};
    if (!(p >= 0 && p < 1))
        return sh_graph_failed(
            net->graph,
            sh_fail(SH_INVALID, "dropout: the probability %g is not in [0, 1)", (double)p));
    if (!net->training || p == 0)
        return x;
    return sh_graph_add(net->graph, SH_OP_dropout, &attributes, (sh_value_id[]){x, net->keys}, out);
}

sh_value_id sh_layer_add(sh_net *net, sh_value_id a, sh_value_id b)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    return sh_graph_add(net->graph, SH_OP_add, NULL, (sh_value_id[]){a, b}, out);
}

sh_value_id sh_layer_concat(sh_net *net, const sh_value_id *x, size_t count, size_t axis)
{
    sh_value_id in[SH_MAX_INPUTS], out[SH_MAX_OUTPUTS];
    const sh_attributes attributes = {.axis = axis};
    assert(count >= 1 && count <= SH_MAX_INPUTS);
    for (size_t i = 0; i < SH_MAX_INPUTS; i++)
        in[i] = i < count ? x[i] : SH_NO_VALUE;
    for (size_t i = 0; i < count; i++)
        if (in[i] == SH_NO_VALUE) /* after a failure, and not one that is left out */
            return SH_NO_VALUE;
    return sh_graph_add(net->graph, SH_OP_concat, &attributes, in, out);
}

sh_value_id sh_layer_flatten(sh_net *net, sh_value_id x)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    const size_t samples = shape->dim[0];
    const sh_attributes attributes = {
        .shape = sh_shape_of(2, (size_t[]){samples, sh_shape_count(shape) / samples})};
    return sh_net_apply(net, SH_OP_reshape, &attributes, x);
}
