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

/*
 * How much further the windows of max_pool reach at the end than its padding does, so that one more
 * fits in where elements are left over; but none begins in the padding at the end, as in PyTorch.
 */
static size_t reach(size_t extent, const sh_pool_options *options, size_t stride)
{
    const size_t padded = extent + 2 * options->padding;
    if (padded < options->kernel || (padded - options->kernel) % stride == 0)
        return 0;
    const size_t rest = (padded - options->kernel) % stride;
    const size_t next = padded - options->kernel - rest + stride; /* where one more begins */
    return next >= extent + options->padding ? 0 : stride - rest;
}

/* Pooling of x [N, C, H, W]; of height 1 where `line` says so. */
static sh_value_id pool_image(sh_net *net, sh_op op, sh_value_id x, const sh_pool_options *options,
                              bool line)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    const size_t stride = options->stride == 0 ? options->kernel : options->stride;
    sh_attributes attributes = {.kernel = {1, 1}, .stride = {1, 1}};
    for (size_t i = line ? 1 : 0; i < 2; i++) {
        attributes.kernel[i] = options->kernel;
        attributes.stride[i] = stride;
        attributes.padding[i] = options->padding;
        if (options->ceil && stride > 0 && shape->rank == 4)
            attributes.after[2 + i] = reach(shape->dim[2 + i], options, stride);
    }
    return sh_net_apply(net, op, &attributes, x);
}

static sh_value_id pool(sh_net *net, sh_op op, sh_value_id x, const sh_pool_options *options)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL || shape->rank != 3)
        return pool_image(net, op, x, options, false);
    const sh_shape image =
        sh_shape_of(4, (size_t[]){shape->dim[0], shape->dim[1], 1, shape->dim[2]});
    const sh_value_id y = pool_image(net, op, sh_layer_reshape(net, x, image), options, true);
    const sh_shape *made = shape_of(net, y);
    if (made == NULL)
        return SH_NO_VALUE;
    return sh_layer_reshape(net, y,
                            sh_shape_of(3, (size_t[]){made->dim[0], made->dim[1], made->dim[3]}));
}

sh_value_id sh_layer_max_pool(sh_net *net, sh_value_id x, const sh_pool_options *options)
{
    return pool(net, SH_OP_max_pool, x, options);
}

sh_value_id sh_layer_avg_pool(sh_net *net, sh_value_id x, const sh_pool_options *options)
{
    return pool(net, SH_OP_avg_pool, x, options);
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

sh_value_id sh_layer_leaky_relu(sh_net *net, sh_value_id x, float slope)
{
    const sh_attributes attributes = {.number = slope};
    return sh_net_apply(net, SH_OP_leaky_relu, &attributes, x);
}

sh_value_id sh_layer_softmax(sh_net *net, sh_value_id x, size_t axis)
{
    const sh_attributes attributes = {.axis = axis};
    return sh_net_apply(net, SH_OP_softmax, &attributes, x);
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

sh_value_id sh_layer_multiply(sh_net *net, sh_value_id x, sh_value_id b)
{
    sh_value_id out[SH_MAX_OUTPUTS];
    const sh_shape *of_x = shape_of(net, x), *of_b = shape_of(net, b);
    if (of_x == NULL || of_b == NULL)
        return SH_NO_VALUE;
    const sh_op op = of_x->rank == of_b->rank ? SH_OP_multiply : SH_OP_scale;
    return sh_graph_add(net->graph, op, NULL, (sh_value_id[]){x, b}, out);
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

sh_value_id sh_layer_reshape(sh_net *net, sh_value_id x, sh_shape shape)
{
    const sh_attributes attributes = {.shape = shape};
    return sh_net_apply(net, SH_OP_reshape, &attributes, x);
}

sh_value_id sh_layer_flatten(sh_net *net, sh_value_id x)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    const size_t samples = shape->dim[0];
    return sh_layer_reshape(net, x,
                            sh_shape_of(2, (size_t[]){samples, sh_shape_count(shape) / samples}));
}
