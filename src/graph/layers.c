/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/layers.h"

#include <assert.h>
#include <fnmatch.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "graph/general_layers.h"

#define NAME_BYTES 160
#define EPSILON 1e-5f

void sh_net_enter(sh_net *net, const char *format, ...)
{
    const size_t used = strlen(net->scope);
    va_list list;
    assert(net->depth < SH_NET_SCOPES);
    net->scopes[net->depth++] = used;
    va_start(list, format);
    const int length = vsnprintf(net->scope + used, sizeof net->scope - used, format, list);
    va_end(list);
    if (length < 0 || used + (size_t)length + 2 > sizeof net->scope) {
        sh_graph_failed(net->graph,
                        sh_fail(SH_LIMIT, "names of layers below %.64s are too long", net->scope));
        return;
    }
    memcpy(net->scope + used + length, ".", 2);
}

void sh_net_leave(sh_net *net)
{
    assert(net->depth > 0);
    net->scope[net->scopes[--net->depth]] = '\0';
}

static size_t or_one(size_t value)
{
    return value == 0 ? 1 : value;
}

static bool is_frozen(const sh_net *net, const char *name)
{
    char glob[NAME_BYTES];
    for (const char *at = net->frozen; at != NULL && *at != '\0';) {
        const size_t length = strcspn(at, ",");
        if (length > 0 && length < sizeof glob) {
            memcpy(glob, at, length);
            glob[length] = '\0';
            if (fnmatch(glob, name, 0) == 0)
                return true;
        }
        at += length + (at[length] == ',');
    }
    return false;
}

/* Borrowed until the next value is made; NULL after a failure. */
static const sh_shape *shape_of(const sh_net *net, sh_value_id x)
{
    if (net->graph->status != SH_OK || x == SH_NO_VALUE)
        return NULL;
    return &sh_graph_type(net->graph, x)->shape;
}

static sh_value_id declare(sh_net *net, const char *name, const char *part, sh_shape shape,
                           sh_role role, sh_initial initial)
{
    char full[NAME_BYTES];
    const int length = snprintf(full, sizeof full, "%s%s%s", net->scope, name, part);
    if (length < 0 || (size_t)length >= sizeof full)
        return sh_graph_failed(net->graph,
                               sh_fail(SH_LIMIT, "%.64s...: the name is too long", full));
    const sh_value_id value =
        sh_graph_parameter(net->graph, full, (sh_type){SH_F32, shape}, role, initial);
    if (value != SH_NO_VALUE && is_frozen(net, full))
        sh_graph_freeze(net->graph, net->graph->parameter_count - 1);
    return value;
}

const sh_type *sh_net_type(sh_net *net, sh_value_id x, const char *layer, size_t rank)
{
    if (shape_of(net, x) == NULL)
        return NULL;
    const sh_type *type = sh_graph_type(net->graph, x);
    const sh_status status = sh_op_expect(layer, "the input", type, SH_F32, rank);
    if (status != SH_OK) {
        sh_graph_failed(net->graph, status);
        return NULL;
    }
    return type;
}

sh_value_id sh_net_apply(sh_net *net, sh_op op, const sh_attributes *attributes, sh_value_id x)
{
    return sh_graph_add(net->graph, op, attributes, &x, NULL);
}

sh_value_id sh_net_parameter(sh_net *net, const char *name, sh_shape shape, sh_initial initial)
{
    return declare(net, name, "", shape, SH_ROLE_TRAINED, initial);
}

sh_value_id sh_net_tensor(sh_net *net, const char *name, sh_shape shape, sh_role role,
                          sh_initial initial)
{
    return declare(net, name, "", shape, role, initial);
}

/* PyTorch's default. */
static sh_initial fan_in_uniform(size_t fan_in)
{
    return (sh_initial){.kind = SH_INITIAL_UNIFORM, .size = 1.0f / sqrtf((float)fan_in)};
}

/* As in PyTorch, the fan-out of grouped convolutions is not divided by the number of groups. */
static sh_initial filled(sh_filling filling, float deviation, const sh_shape *shape)
{
    const size_t fan_in = sh_shape_count(shape) / shape->dim[0];
    const size_t fan_out = sh_shape_count(shape) / shape->dim[1];
    switch (filling) {
    case SH_FILL_HE_UNIFORM:
        return (sh_initial){.kind = SH_INITIAL_UNIFORM, .size = sqrtf(6.0f / (float)fan_in)};
    case SH_FILL_HE_FAN_IN:
        return (sh_initial){.kind = SH_INITIAL_NORMAL, .size = sqrtf(2.0f / (float)fan_in)};
    case SH_FILL_HE_FAN_OUT:
        return (sh_initial){.kind = SH_INITIAL_NORMAL, .size = sqrtf(2.0f / (float)fan_out)};
    case SH_FILL_XAVIER:
        return (sh_initial){.kind = SH_INITIAL_UNIFORM,
                            .size = sqrtf(6.0f / (float)(fan_in + fan_out))};
    case SH_FILL_NORMAL:
        return (sh_initial){.kind = SH_INITIAL_NORMAL, .size = deviation};
    case SH_FILL_DEFAULT:
        break;
    }
    return fan_in_uniform(fan_in);
}

static sh_initial filled_bias(bool zero, const sh_shape *weights)
{
    return zero ? (sh_initial){.kind = SH_INITIAL_CONSTANT, .size = 0}
                : fan_in_uniform(sh_shape_count(weights) / weights->dim[0]);
}

static sh_value_id convolve(sh_net *net, sh_value_id x, const char *name,
                            const sh_conv_options *options, const sh_attributes *attributes,
                            const sh_shape *weight)
{
    if (sh_shape_count(weight) == 0)
        return sh_graph_failed(net->graph, sh_fail(SH_INVALID, "%s: %zu channels for %zu groups",
                                                   name, sh_graph_type(net->graph, x)->shape.dim[1],
                                                   attributes->groups));
    const sh_value_id w = declare(net, name, ".weight", *weight, SH_ROLE_TRAINED,
                                  filled(options->filling, options->deviation, weight));
    const sh_value_id b = options->no_bias
                              ? SH_NO_VALUE
                              : declare(net, name, ".bias", sh_shape_of(1, weight->dim),
                                        SH_ROLE_TRAINED, filled_bias(options->zero_bias, weight));
    return sh_net_convolve(net, x, w, b, attributes);
}

sh_value_id sh_layer_conv2d(sh_net *net, sh_value_id x, const char *name,
                            const sh_conv_options *options)
{
    const sh_type *type = sh_net_type(net, x, name, 4);
    if (type == NULL)
        return SH_NO_VALUE;
    const size_t groups = or_one(options->groups), stride = options->stride;
    const size_t width = options->kernel_width > 0 ? options->kernel_width : options->kernel;
    const size_t beside = options->padding_width > 0 ? options->padding_width : options->padding;
    const sh_shape weight = sh_shape_of(
        4, (size_t[]){options->channels, type->shape.dim[1] / groups, options->kernel, width});
    const sh_attributes attributes = {
        .stride = {stride, options->stride_width > 0 ? options->stride_width : stride},
        .padding = {options->padding, beside},
        .end_padding = {options->padding, beside},
        .dilation = {options->dilation, options->dilation},
        .groups = groups,
    };
    return convolve(net, x, name, options, &attributes, &weight);
}

sh_value_id sh_layer_conv1d(sh_net *net, sh_value_id x, const char *name,
                            const sh_conv_options *options)
{
    const sh_type *type = sh_net_type(net, x, name, 3);
    if (type == NULL)
        return SH_NO_VALUE;
    const size_t groups = or_one(options->groups);
    const sh_attributes attributes = {
        .stride = {0, options->stride},
        .padding = {0, options->padding},
        .end_padding = {0, options->padding},
        .dilation = {0, options->dilation},
        .groups = groups,
    };
    const sh_shape weight =
        sh_shape_of(3, (size_t[]){options->channels, type->shape.dim[1] / groups, options->kernel});
    return convolve(net, x, name, options, &attributes, &weight);
}

sh_value_id sh_layer_linear_filled(sh_net *net, sh_value_id x, const char *name,
                                   const sh_linear_options *options)
{
    const sh_type *type = sh_net_type(net, x, name, 2);
    if (type == NULL)
        return SH_NO_VALUE;
    const sh_shape shape = sh_shape_of(2, (size_t[]){options->outputs, type->shape.dim[1]});
    const sh_value_id w = declare(net, name, ".weight", shape, SH_ROLE_TRAINED,
                                  filled(options->filling, options->deviation, &shape));
    const sh_value_id b = declare(net, name, ".bias", sh_shape_of(1, shape.dim), SH_ROLE_TRAINED,
                                  filled_bias(options->zero_bias, &shape));
    return sh_graph_add(net->graph, SH_OP_linear, NULL, (sh_value_id[]){x, w, b}, NULL);
}

sh_value_id sh_layer_linear(sh_net *net, sh_value_id x, const char *name, size_t outputs)
{
    return sh_layer_linear_filled(net, x, name, &(sh_linear_options){.outputs = outputs});
}

sh_value_id sh_layer_batch_norm(sh_net *net, sh_value_id x, const char *name)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    if (shape->rank < 2)
        return sh_graph_failed(net->graph, sh_fail(SH_INVALID, "%s: expected [N, C, ...]", name));
    const sh_shape channels = sh_shape_of(1, &shape->dim[1]);
    const sh_initial zero = {.kind = SH_INITIAL_CONSTANT, .size = 0},
                     one = {.kind = SH_INITIAL_CONSTANT, .size = 1};
    sh_batch_norm of = {0};
    of.weight = declare(net, name, ".weight", channels, SH_ROLE_TRAINED, one);
    of.bias = declare(net, name, ".bias", channels, SH_ROLE_TRAINED, zero);
    of.mean = declare(net, name, ".running_mean", channels, SH_ROLE_STATISTIC, zero);
    of.variance = declare(net, name, ".running_var", channels, SH_ROLE_STATISTIC, one);
    return sh_net_batch_norm(net, x, &of);
}

static sh_value_id normalise(sh_net *net, sh_op op, sh_value_id x, const char *name, sh_shape shape,
                             size_t groups)
{
    const sh_attributes attributes = {.number = EPSILON, .groups = groups};
    const sh_initial zero = {.kind = SH_INITIAL_CONSTANT, .size = 0},
                     one = {.kind = SH_INITIAL_CONSTANT, .size = 1};
    const sh_value_id w = declare(net, name, ".weight", shape, SH_ROLE_TRAINED, one);
    const sh_value_id b = declare(net, name, ".bias", shape, SH_ROLE_TRAINED, zero);
    return sh_graph_add(net->graph, op, &attributes, (sh_value_id[]){x, w, b}, NULL);
}

sh_value_id sh_layer_layer_norm(sh_net *net, sh_value_id x, const char *name)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    if (shape->rank < 1)
        return sh_graph_failed(net->graph, sh_fail(SH_INVALID, "%s: expected [..., K]", name));
    return normalise(net, SH_OP_layer_norm, x, name, sh_shape_of(1, &shape->dim[shape->rank - 1]),
                     0);
}

sh_value_id sh_layer_group_norm(sh_net *net, sh_value_id x, const char *name, size_t groups)
{
    const sh_shape *shape = shape_of(net, x);
    if (shape == NULL)
        return SH_NO_VALUE;
    if (shape->rank < 2)
        return sh_graph_failed(net->graph, sh_fail(SH_INVALID, "%s: expected [N, C, ...]", name));
    return normalise(net, SH_OP_group_norm, x, name, sh_shape_of(1, &shape->dim[1]), groups);
}

/* ---- without parameters -----------------------------------------------------------------------
 */

static sh_value_id pool(sh_net *net, sh_op op, sh_value_id x, const sh_pool_options *options)
{
    const size_t kernel = options->kernel, padding = options->padding;
    const size_t stride = options->stride == 0 ? kernel : options->stride;
    const sh_attributes attributes = {
        .kernel = {kernel, kernel},
        .stride = {stride, stride},
        .padding = {padding, padding},
        .end_padding = {padding, padding},
    };
    return sh_net_pool(net, op, x, &attributes, options->ceil);
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
    const sh_attributes attributes = {.number = p, .layer = net->dropouts++};
    if (!(p >= 0 && p < 1))
        return sh_graph_failed(
            net->graph,
            sh_fail(SH_INVALID, "dropout: the probability %g is not in [0, 1)", (double)p));
    if ((!net->training && !net->keeps_dropout) || p == 0)
        return x;
    return sh_graph_add(net->graph, SH_OP_dropout, &attributes, (sh_value_id[]){x, net->keys},
                        NULL);
}

sh_value_id sh_layer_add(sh_net *net, sh_value_id a, sh_value_id b)
{
    return sh_graph_add(net->graph, SH_OP_add, NULL, (sh_value_id[]){a, b}, NULL);
}

sh_value_id sh_layer_multiply(sh_net *net, sh_value_id x, sh_value_id b)
{
    const sh_shape *of_x = shape_of(net, x), *of_b = shape_of(net, b);
    if (of_x == NULL || of_b == NULL)
        return SH_NO_VALUE;
    const sh_op op = of_x->rank == of_b->rank ? SH_OP_multiply : SH_OP_scale;
    return sh_graph_add(net->graph, op, NULL, (sh_value_id[]){x, b}, NULL);
}

/* Each further node takes the result of the one before as its first input. */
sh_value_id sh_layer_concat(sh_net *net, const sh_value_id *x, size_t count, size_t axis)
{
    const sh_attributes attributes = {.axis = axis};
    sh_value_id in[SH_MAX_INPUTS];
    size_t used = 0;
    assert(count >= 1);
    for (size_t i = 0; i < count; i++) {
        if (x[i] == SH_NO_VALUE) /* after a failure; inputs are never optional here */
            return SH_NO_VALUE;
        in[used++] = x[i];
        if (used < SH_MAX_INPUTS && i + 1 < count)
            continue;
        for (size_t j = used; j < SH_MAX_INPUTS; j++)
            in[j] = SH_NO_VALUE;
        in[0] = sh_graph_add(net->graph, SH_OP_concat, &attributes, in, NULL);
        used = 1;
    }
    return in[0];
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
