/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers for those who write models: operators with their parameters declared.
 *
 *     sh_net net = {.graph = graph, .training = true, ...};
 *     x = sh_layer_conv2d(&net, x, "conv1", &(sh_conv_options){.channels = 20, .kernel = 5});
 *     sh_net_enter(&net, "layer%d.%d", 1, 0);                       // layer1.0.bn1.weight ...
 *     x = sh_layer_relu(&net, sh_layer_batch_norm(&net, x, "bn1"));
 *     sh_net_leave(&net);
 *     x = sh_layer_linear(&net, sh_layer_flatten(&net, x), "fc", 10);
 *
 * Every function takes and gives SH_NO_VALUE after a failure (graph.h). Threads: caller locks.
 */
#ifndef SHOAL_GRAPH_LAYERS_H
#define SHOAL_GRAPH_LAYERS_H

#include "graph/graph.h"

#define SH_NET_SCOPES 4
#define SH_NET_SCOPE_BYTES 96

/* A model under construction. The first five are the caller's to set, the rest begins as 0. */
typedef struct sh_net {
    sh_graph *graph;
    bool training;            /* batch statistics, dropout; else running statistics, none */
    bool keeps_dropout;       /* evaluation: it is there too, to be read, not computed */
    sh_value_id loss_weights; /* training: [N], each sample's part of the loss */
    sh_value_id keys;         /* training: [N, 2] i32, of each sample's random numbers */
    const char *frozen;       /* what stays as it is: globs of names, commas; NULL; borrowed */
    char scope[SH_NET_SCOPE_BYTES]; /* goes before every name */
    size_t scopes[SH_NET_SCOPES], depth;
    uint32_t dropouts;
} sh_net;

/* Names from here on begin with this part and a dot. At most SH_NET_SCOPES within each other. */
void sh_net_enter(sh_net *net, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sh_net_leave(sh_net *net);

/* The type of x where it is there and has this rank; NULL and a failure in the graph otherwise. */
const sh_type *sh_net_type(sh_net *net, sh_value_id x, const char *layer, size_t rank);

/* An operator without parameters on one value. */
sh_value_id sh_net_apply(sh_net *net, sh_op op, const sh_attributes *attributes, sh_value_id x);

/* A tensor of weights that is trained, or has another role, in the current scope. */
sh_value_id sh_net_parameter(sh_net *net, const char *name, sh_shape shape, sh_initial initial);
sh_value_id sh_net_tensor(sh_net *net, const char *name, sh_shape shape, sh_role role,
                          sh_initial initial);

/* How weights begin; fan-in is the number of weights of an output, fan-out that of dim 0 of them.
 */
typedef enum sh_filling {
    SH_FILL_DEFAULT,    /* uniform in +-1/sqrt(fan-in): PyTorch's default */
    SH_FILL_HE_UNIFORM, /* uniform in +-sqrt(6/fan-in): He et al. 2015 */
    SH_FILL_HE_FAN_IN,  /* normal, deviation sqrt(2/fan-in) */
    SH_FILL_HE_FAN_OUT, /* normal, deviation sqrt(2/fan-out) */
    SH_FILL_XAVIER,     /* uniform in +-sqrt(6/(fan-in + fan-out)): Glorot, Bengio 2010 */
    SH_FILL_NORMAL,     /* normal with the deviation given */
} sh_filling;

/* 0 means: stride 1, dilation 1, groups 1, no padding, widths as the heights. conv1d has no widths.
 */
typedef struct sh_conv_options {
    size_t channels; /* of the output */
    size_t kernel, kernel_width;
    size_t stride, stride_width;
    size_t padding, padding_width;
    size_t dilation;
    size_t groups;
    bool no_bias;
    bool zero_bias; /* begins as 0; else uniform in +-1/sqrt(fan-in) */
    sh_filling filling;
    float deviation; /* for SH_FILL_NORMAL */
} sh_conv_options;

/* x [N, C, H, W] -> [N, channels, P, Q]; name.weight and name.bias. */
sh_value_id sh_layer_conv2d(sh_net *net, sh_value_id x, const char *name,
                            const sh_conv_options *options);

/* x [N, C, L] -> [N, channels, M]: the same along one dimension; the weight has three. */
sh_value_id sh_layer_conv1d(sh_net *net, sh_value_id x, const char *name,
                            const sh_conv_options *options);

typedef struct sh_linear_options {
    size_t outputs;
    bool zero_bias;
    sh_filling filling;
    float deviation;
} sh_linear_options;

/* x [N, I] -> [N, outputs]; name.weight and name.bias. The first begins as PyTorch's. */
sh_value_id sh_layer_linear(sh_net *net, sh_value_id x, const char *name, size_t outputs);
sh_value_id sh_layer_linear_filled(sh_net *net, sh_value_id x, const char *name,
                                   const sh_linear_options *options);

/*
 * x [N, C, ...] with each channel normalised, scaled and shifted (Ioffe, Szegedy 2015): in training
 * by mean and variance of the grain, of which moving averages are kept; else by these. name.weight,
 * name.bias, name.running_mean, name.running_var. Frozen running statistics are used in training
 * too. Epsilon 1e-5, moving by 0.1 a step.
 */
sh_value_id sh_layer_batch_norm(sh_net *net, sh_value_id x, const char *name);

/*
 * Normalised within each sample, then scaled and shifted by name.weight and name.bias: over the
 * last dimension, or x [N, C, ...] over each of `groups` groups of channels. Epsilon 1e-5. As many
 * groups as channels are instance normalisation.
 */
sh_value_id sh_layer_layer_norm(sh_net *net, sh_value_id x, const char *name);
sh_value_id sh_layer_group_norm(sh_net *net, sh_value_id x, const char *name, size_t groups);

/* Square windows. 0 means: as far apart as they are wide, no padding. */
typedef struct sh_pool_options {
    size_t kernel;
    size_t stride;
    size_t padding;
    bool ceil; /* a last window may reach beyond the padding at the end */
} sh_pool_options;

/* Largest and mean (zeros of the padding included) of the windows of x [N, C, H, W], [N, C, L]. */
sh_value_id sh_layer_max_pool(sh_net *net, sh_value_id x, const sh_pool_options *options);
sh_value_id sh_layer_avg_pool(sh_net *net, sh_value_id x, const sh_pool_options *options);

/* x [N, C, ...] -> [N, C]: the mean of each channel. */
sh_value_id sh_layer_global_pool(sh_net *net, sh_value_id x);

/* Other activations that need no number: sh_net_apply(net, SH_OP_silu, NULL, x). */
sh_value_id sh_layer_relu(sh_net *net, sh_value_id x);
sh_value_id sh_layer_leaky_relu(sh_net *net, sh_value_id x, float slope);
sh_value_id sh_layer_softmax(sh_net *net, sh_value_id x, size_t axis);

/*
 * In training, zeros with probability p and divides the rest by 1 - p; else x itself. Numbered in
 * the order of the calls.
 */
sh_value_id sh_layer_dropout(sh_net *net, sh_value_id x, float p);

sh_value_id sh_layer_add(sh_net *net, sh_value_id a, sh_value_id b);

/* b has the shape of x, or that of its leading dimensions: a number for each channel, say. */
sh_value_id sh_layer_multiply(sh_net *net, sh_value_id x, sh_value_id b);

/* `count` values, at least one, behind each other along dimension `axis`. */
sh_value_id sh_layer_concat(sh_net *net, const sh_value_id *x, size_t count, size_t axis);

/* The same elements in another shape; flattened: x [N, ...] -> [N, product of the rest]. */
sh_value_id sh_layer_reshape(sh_net *net, sh_value_id x, sh_shape shape);
sh_value_id sh_layer_flatten(sh_net *net, sh_value_id x);

#endif
