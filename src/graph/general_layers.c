/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/general_layers.h"

#define EPSILON 1e-5f

/* Borrowed until the next value is made; NULL after a failure. */
static const sh_shape *shape_of(const sh_net *net, sh_value_id x)
{
    if (net->graph->status != SH_OK || x == SH_NO_VALUE)
        return NULL;
    return &sh_graph_type(net->graph, x)->shape;
}

/* ---- images and lines ------------------------------------------------------------------------
 */

/* x [A, B, L] becomes [A, B, 1, L]. Other values stay unchanged. */
static sh_value_id as_image(sh_net *net, sh_value_id x)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL || shape->rank != 3)
        return x;
    const size_t *dim = shape->dim;
    return sh_layer_reshape(net, x, sh_shape_of(4, (size_t[]){dim[0], dim[1], 1, dim[2]}));
}

static sh_value_id as_line(sh_net *net, sh_value_id y)
{
    const sh_shape *shape = shape_of(net, y);
    if (shape == NULL)
        return SH_NO_VALUE;
    const size_t *dim = shape->dim;
    return sh_layer_reshape(net, y, sh_shape_of(3, (size_t[]){dim[0], dim[1], dim[3]}));
}

static void set_default(size_t *value)
{
    if (*value == 0)
        *value = 1;
}

/* Converts settings of lines to those of images of height 1. */
static sh_attributes completed(const sh_attributes *attributes, bool line)
{
    sh_attributes a = *attributes;
    if (line) {
        a.kernel[0] = a.stride[0] = a.dilation[0] = 1;
        a.padding[0] = a.end_padding[0] = 0;
    }
    for (int i = 0; i < 2; i++) {
        set_default(&a.stride[i]);
        set_default(&a.dilation[i]);
    }
    set_default(&a.groups);
    return a;
}

sh_value_id sh_net_convolve(sh_net *net, sh_value_id x, sh_value_id w, sh_value_id b,
                            const sh_attributes *attributes)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    const bool line = shape->rank == 3;
    const sh_attributes a = completed(attributes, line);
    const sh_value_id in[] = {as_image(net, x), line ? as_image(net, w) : w, b};
    const sh_value_id y = sh_graph_add(net->graph, SH_OP_conv2d, &a, in, NULL);
    return line ? as_line(net, y) : y;
}

/* The extent of the output; 0 if padding removes all of it. Reduces end_padding by output_padding
 * as far as possible. */
static size_t transposed_side(sh_attributes *a, int axis, size_t extent, size_t kernel,
                              size_t output_padding)
{
    /* The rest of output_padding adds positions that no window reaches. */
    const size_t less =
        output_padding < a->end_padding[axis] ? output_padding : a->end_padding[axis];
    const size_t reached = a->stride[axis] * (extent - 1) + a->dilation[axis] * (kernel - 1) + 1;
    a->end_padding[axis] -= less;
    const size_t whole = reached + output_padding - less;
    const size_t cut = a->padding[axis] + a->end_padding[axis];
    return whole > cut ? whole - cut : 0;
}

sh_value_id sh_net_convolve_transposed(sh_net *net, sh_value_id x, sh_value_id w, sh_value_id b,
                                       const sh_attributes *attributes,
                                       const size_t output_padding[2])
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    const bool line = shape->rank == 3;
    sh_attributes a = completed(attributes, line);
    x = as_image(net, x);
    w = line ? as_image(net, w) : w;
    const sh_type *in = sh_net_type(net, x, "the transposed convolution", 4);
    const sh_type *of = sh_net_type(net, w, "the transposed convolution's weight", 4);
    if (in == NULL || of == NULL)
        return SH_NO_VALUE;
    const size_t *dim = of->shape.dim;
    a.shape = sh_shape_of(4, (size_t[]){in->shape.dim[0], dim[1] * a.groups, 0, 0});
    for (int i = 0; i < 2; i++) {
        const size_t further = line && i == 0 ? 0 : output_padding[i];
        if (a.stride[i] > 1024 || a.dilation[i] > 1024 || further > 1024 ||
            further >= a.stride[i] + a.end_padding[i])
            return sh_graph_failed(
                net->graph,
                sh_fail(SH_INVALID,
                        "a transposed convolution of stride %zu, dilation %zu, output padding %zu: "
                        "stride and dilation must be at most 1024, output padding below the stride",
                        a.stride[i], a.dilation[i], further));
        a.shape.dim[2 + i] = transposed_side(&a, i, in->shape.dim[2 + i], dim[2 + i], further);
    }
    const sh_value_id y =
        sh_graph_add(net->graph, SH_OP_conv2d_grad_input, &a, (sh_value_id[]){x, w, b}, NULL);
    return line ? as_line(net, y) : y;
}

/* How far the last window must extend beyond the padding to cover the remaining elements. 0 if none
 * remain or if that window would begin after the image. */
static size_t reach(const sh_attributes *a, int axis, size_t extent)
{
    const size_t padded = a->padding[axis] + extent + a->end_padding[axis];
    if (padded < a->kernel[axis] || (padded - a->kernel[axis]) % a->stride[axis] == 0)
        return 0;
    const size_t rest = (padded - a->kernel[axis]) % a->stride[axis];
    const size_t next = padded - a->kernel[axis] - rest + a->stride[axis]; /* its first position */
    return next >= a->padding[axis] + extent ? 0 : a->stride[axis] - rest;
}

#define CHOICES 255 /* largest window of max_pool, whose choices are bytes */

/* Pooling along one axis at a time gives the same values and also chooses the first maximum. */
static sh_value_id pool_by_axis(sh_net *net, sh_value_id x, const sh_attributes *a)
{
    for (size_t i = 2; i-- > 0;) { /* columns first */
        sh_attributes one = {.kernel = {1, 1}, .stride = {1, 1}, .dilation = {1, 1}};
        one.kernel[i] = a->kernel[i];
        one.stride[i] = a->stride[i];
        one.padding[i] = a->padding[i];
        one.end_padding[i] = a->end_padding[i];
        one.after[2 + i] = a->after[2 + i];
        x = sh_net_apply(net, SH_OP_max_pool, &one, x);
    }
    return x;
}

sh_value_id sh_net_pool(sh_net *net, sh_op op, sh_value_id x, const sh_attributes *attributes,
                        bool ceil)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    const bool line = shape->rank == 3;
    sh_attributes a = completed(attributes, line);
    x = as_image(net, x);
    shape = shape_of(net, x);
    for (int i = 0; i < 2 && ceil && shape != NULL && shape->rank == 4; i++)
        a.after[2 + i] = reach(&a, i, shape->dim[2 + i]);
    const bool wide = op == SH_OP_max_pool && a.kernel[0] <= CHOICES && a.kernel[1] <= CHOICES &&
                      a.kernel[0] * a.kernel[1] > CHOICES && a.dilation[0] * a.dilation[1] == 1;
    const sh_value_id y = wide ? pool_by_axis(net, x, &a) : sh_net_apply(net, op, &a, x);
    return line ? as_line(net, y) : y;
}

sh_value_id sh_net_global_max_pool(sh_net *net, sh_value_id x)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL || (shape->rank != 3 && sh_net_type(net, x, "global max pooling", 4) == NULL))
        return SH_NO_VALUE;
    const sh_attributes whole = {.kernel = {shape->dim[2], shape->dim[shape->rank - 1]}};
    return sh_net_pool(net, SH_OP_max_pool, x, &whole, false);
}

sh_value_id sh_net_resize(sh_net *net, sh_value_id x, const sh_resize *of)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    const bool line = shape->rank == 3;
    x = as_image(net, x);
    const sh_type *type = sh_net_type(net, x, "resize", 4);
    if (type == NULL)
        return SH_NO_VALUE;
    sh_attributes a = {
        .position = of->position, .method = of->method, .inside = of->inside, .shape = type->shape};
    if (of->method == SH_RESIZE_CUBIC)
        a.number = of->coefficient == 0 ? SH_RESIZE_COEFFICIENT : of->coefficient;
    for (size_t i = 0; i < 2; i++) {
        const float extent = (float)type->shape.dim[2 + i];
        const bool scaled = of->scale[i] > 0 && of->scale[i] <= SH_RESIZE_MAX;
        if (line && i == 0) {
            a.scale[i] = 1;
            continue;
        }
        a.shape.dim[2 + i] = of->size[i] > 0 ? of->size[i]
                             : scaled        ? (size_t)(of->scale[i] * extent)
                                             : 0;
        a.scale[i] = of->scale[i] == 0 ? (float)of->size[i] / extent : of->scale[i];
    }
    const sh_value_id y = sh_net_apply(net, SH_OP_resize, &a, x);
    return line ? as_line(net, y) : y;
}

static sh_value_id reorder(sh_net *net, sh_value_id x, const size_t from[6], const uint8_t order[6])
{
    sh_attributes a = {0};
    for (size_t i = 0; i < 6; i++)
        a.order[i] = order[i];
    return sh_net_apply(net, SH_OP_transpose, &a, sh_layer_reshape(net, x, sh_shape_of(6, from)));
}

sh_value_id sh_net_depth_to_space(sh_net *net, sh_value_id x, size_t block, bool crd)
{
    const sh_type *type = sh_net_type(net, x, "depth_to_space", 4);
    if (type == NULL)
        return SH_NO_VALUE;
    const sh_shape shape = type->shape;
    const size_t N = shape.dim[0], H = shape.dim[2], W = shape.dim[3], b = block;
    if (b == 0 || b > SH_RESIZE_MAX || shape.dim[1] % (b * b) != 0)
        return sh_graph_failed(
            net->graph,
            sh_fail(SH_INVALID, "depth_to_space: %zu channels do not divide into blocks of %zux%zu",
                    shape.dim[1], b, b));
    const size_t C = shape.dim[1] / (b * b);
    if (crd)
        x = reorder(net, x, (size_t[]){N, C, b, b, H, W}, (uint8_t[]){0, 1, 4, 2, 5, 3});
    else
        x = reorder(net, x, (size_t[]){N, b, b, C, H, W}, (uint8_t[]){0, 3, 4, 1, 5, 2});
    return sh_layer_reshape(net, x, sh_shape_of(4, (size_t[]){N, C, H * b, W * b}));
}

sh_value_id sh_net_space_to_depth(sh_net *net, sh_value_id x, size_t block)
{
    const sh_type *type = sh_net_type(net, x, "space_to_depth", 4);
    if (type == NULL)
        return SH_NO_VALUE;
    const sh_shape shape = type->shape;
    const size_t N = shape.dim[0], C = shape.dim[1], b = block;
    if (b == 0 || b > SH_RESIZE_MAX || shape.dim[2] % b != 0 || shape.dim[3] % b != 0)
        return sh_graph_failed(
            net->graph,
            sh_fail(SH_INVALID,
                    "space_to_depth: images of %zux%zu do not divide into blocks of %zux%zu",
                    shape.dim[2], shape.dim[3], b, b));
    const size_t H = shape.dim[2] / b, W = shape.dim[3] / b;
    x = reorder(net, x, (size_t[]){N, C, H, b, W, b}, (uint8_t[]){0, 3, 5, 1, 2, 4});
    return sh_layer_reshape(net, x, sh_shape_of(4, (size_t[]){N, b * b * C, H, W}));
}

/* ---- normalisation ----------------------------------------------------------------------------
 */

/* The grain's statistic is weighted by the grain's samples. */
static void measure(sh_net *net, sh_value_id running, sh_value_id of_grain, float factor)
{
    const sh_attributes attributes = {.number = factor};
    sh_graph_measure(net->graph, running,
                     sh_graph_add(net->graph, SH_OP_statistic, &attributes,
                                  (sh_value_id[]){of_grain, net->loss_weights}, NULL));
}

/* SIZE_MAX if there is none. */
static size_t average_of(const sh_graph *graph, sh_value_id value)
{
    for (size_t i = 0; i < graph->parameter_count; i++)
        if (graph->parameters[i].value == value && graph->parameters[i].role == SH_ROLE_STATISTIC)
            return i;
    return SIZE_MAX;
}

sh_value_id sh_net_batch_norm(sh_net *net, sh_value_id x, const sh_batch_norm *of)
{
    sh_graph *graph = net->graph;
    const sh_shape *shape = shape_of(net, x);
    sh_value_id out[SH_MAX_OUTPUTS] = {of->mean, of->variance};
    if (shape == NULL)
        return SH_NO_VALUE;
    const size_t mean = average_of(graph, of->mean), variance = average_of(graph, of->variance);
    const bool moves = mean != SIZE_MAX && variance != SIZE_MAX;
    const float momentum = of->momentum == 0 ? SH_MOMENTUM : of->momentum;
    if (!moves && mean != SIZE_MAX) /* one moving average alone is useless */
        sh_graph_freeze(graph, mean);
    if (!moves && variance != SIZE_MAX)
        sh_graph_freeze(graph, variance);
    if (moves) {
        sh_graph_set_momentum(graph, of->mean, momentum);
        sh_graph_set_momentum(graph, of->variance, momentum);
    }
    if (moves && net->training) {
        const size_t averaged = shape->rank < 2 ? 0 : sh_shape_count(shape) / shape->dim[1];
        const float unbiased = averaged > 1 ? (float)averaged / (float)(averaged - 1) : 1.0f;
        sh_graph_add(graph, SH_OP_moments, NULL, &x, out);
        measure(net, of->mean, out[0], 1.0f);
        measure(net, of->variance, out[1], unbiased);
    }
    const sh_attributes attributes = {.number = of->epsilon == 0 ? EPSILON : of->epsilon,
                                      .training = moves && net->training};
    const sh_value_id in[] = {x, out[0], out[1], of->weight, of->bias, SH_NO_VALUE};
    return sh_graph_add(graph, SH_OP_batch_norm, &attributes, in, out);
}

sh_value_id sh_net_layer_norm(sh_net *net, sh_value_id x, sh_value_id w, sh_value_id b, size_t axis,
                              float epsilon)
{
    const sh_shape *shape = shape_of(net, x);
    const sh_attributes attributes = {.number = epsilon == 0 ? EPSILON : epsilon};
    if (shape == NULL)
        return SH_NO_VALUE;
    const sh_shape whole = *shape;
    if (axis >= whole.rank)
        return sh_graph_failed(
            net->graph,
            sh_fail(SH_INVALID, "layer_norm: no dimension %zu of %zu", axis, whole.rank));
    sh_shape rows = sh_shape_of(axis, whole.dim);
    rows.dim[rows.rank++] = sh_shape_count(&whole) / sh_shape_count(&rows);
    if (rows.rank == whole.rank)
        return sh_graph_add(net->graph, SH_OP_layer_norm, &attributes, (sh_value_id[]){x, w, b},
                            NULL);
    const sh_shape row = sh_shape_of(1, &rows.dim[axis]);
    const sh_value_id in[] = {sh_layer_reshape(net, x, rows), sh_layer_reshape(net, w, row),
                              sh_layer_reshape(net, b, row)};
    return sh_layer_reshape(net, sh_graph_add(net->graph, SH_OP_layer_norm, &attributes, in, NULL),
                            whole);
}
