/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers for model code. Each one declares its parameters and adds its operators to the graph.
 *
 *     x = sh_layer_conv2d(&net, x, "conv1", &(sh_conv_options){.channels = 20, .kernel = 5});
 *     sh_net_enter(&net, "layer%d.%d", 1, 0);                       // layer1.0.bn1.weight ...
 *     x = sh_layer_relu(&net, sh_layer_batch_norm(&net, x, "bn1"));
 *     sh_net_leave(&net);
 *
 * After a failure every function accepts and returns SH_NO_VALUE (graph.h).
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_GRAPH_LAYERS_H
#define SHOAL_GRAPH_LAYERS_H

#include "graph/graph.h"

#define SH_NET_SCOPES 4
#define SH_NET_SCOPE_BYTES 96

/* The caller sets the fields up to `frozen`; the others start at 0. */
typedef struct sh_net {
    sh_graph *graph;
    bool training;      /* with batch statistics and dropout; else running statistics */
    bool keeps_dropout; /* adds dropout nodes in evaluation too: for export, not for running */
    sh_value_id loss_weights; /* training: [N], weight of each sample in the loss */
    sh_value_id keys;         /* training: [N, 2] i32, each sample's random keys */
    const char *frozen;       /* comma-separated globs of parameters to freeze, or NULL; borrowed */
    char scope[SH_NET_SCOPE_BYTES]; /* prefix of all names */
    size_t scopes[SH_NET_SCOPES], depth;
    uint32_t dropouts;
} sh_net;

/* Appends this part and a dot to the prefix of names. Nests up to SH_NET_SCOPES deep. */
void sh_net_enter(sh_net *net, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sh_net_leave(sh_net *net);

/* NULL after a failure. Records a failure if x is not f32 or not of this rank. */
const sh_type *sh_net_type(sh_net *net, sh_value_id x, const char *layer, size_t rank);

/* NULL attributes: all zero. */
sh_value_id sh_net_apply(sh_net *net, sh_op op, const sh_attributes *attributes, sh_value_id x);

/* Declare a tensor in the current scope: a trained one, or one of any role. */
sh_value_id sh_net_parameter(sh_net *net, const char *name, sh_shape shape, sh_initial initial);
sh_value_id sh_net_tensor(sh_net *net, const char *name, sh_shape shape, sh_role role,
                          sh_initial initial);

/* Initial weights. Fan-in is the number of weights divided by dim[0], fan-out divided by dim[1]. */
typedef enum sh_filling {
    SH_FILL_DEFAULT,    /* uniform in +-1/sqrt(fan-in): PyTorch's default */
    SH_FILL_HE_UNIFORM, /* uniform in +-sqrt(6/fan-in): He et al. 2015 */
    SH_FILL_HE_FAN_IN,  /* normal, deviation sqrt(2/fan-in) */
    SH_FILL_HE_FAN_OUT, /* normal, deviation sqrt(2/fan-out) */
    SH_FILL_XAVIER,     /* uniform in +-sqrt(6/(fan-in + fan-out)): Glorot, Bengio 2010 */
    SH_FILL_NORMAL,     /* normal, deviation as given */
} sh_filling;

/* 0 means stride 1, dilation 1, groups 1, padding 0, width = height. conv1d ignores widths. */
typedef struct sh_conv_options {
    size_t channels; /* of the output */
    size_t kernel, kernel_width;
    size_t stride, stride_width;
    size_t padding, padding_width;
    size_t dilation;
    size_t groups;
    bool no_bias;
    bool zero_bias; /* initially 0; else uniform in +-1/sqrt(fan-in) */
    sh_filling filling;
    float deviation; /* for SH_FILL_NORMAL */
} sh_conv_options;

/* x [N, C, H, W] -> [N, channels, P, Q]. Declares name.weight and name.bias. */
sh_value_id sh_layer_conv2d(sh_net *net, sh_value_id x, const char *name,
                            const sh_conv_options *options);

/* x [N, C, L] -> [N, channels, M]. Declares name.weight, of rank 3, and name.bias. */
sh_value_id sh_layer_conv1d(sh_net *net, sh_value_id x, const char *name,
                            const sh_conv_options *options);

typedef struct sh_linear_options {
    size_t outputs;
    bool zero_bias;
    sh_filling filling;
    float deviation;
} sh_linear_options;

/* x [N, I] -> [N, outputs]. Declares name.weight and name.bias. The first uses SH_FILL_DEFAULT. */
sh_value_id sh_layer_linear(sh_net *net, sh_value_id x, const char *name, size_t outputs);
sh_value_id sh_layer_linear_filled(sh_net *net, sh_value_id x, const char *name,
                                   const sh_linear_options *options);

/*
 * Batch normalisation (Ioffe, Szegedy 2015) of x [N, C, ...], epsilon 1e-5. In training it uses the
 * grain's mean and variance and updates the running ones with momentum 0.1; otherwise, or if those
 * are frozen, it uses the running ones. Declares name.weight, name.bias, name.running_mean and
 * name.running_var.
 */
sh_value_id sh_layer_batch_norm(sh_net *net, sh_value_id x, const char *name);

/*
 * Normalisation within each sample, scaled and shifted by name.weight and name.bias, epsilon 1e-5:
 * over the last dimension, or for x [N, C, ...] over each of `groups` groups of channels. groups =
 * C is instance normalisation.
 */
sh_value_id sh_layer_layer_norm(sh_net *net, sh_value_id x, const char *name);
sh_value_id sh_layer_group_norm(sh_net *net, sh_value_id x, const char *name, size_t groups);

/* Square windows. 0 means stride = kernel, padding 0. */
typedef struct sh_pool_options {
    size_t kernel;
    size_t stride;
    size_t padding;
    bool ceil; /* the last window may extend beyond the padding */
} sh_pool_options;

/* x is [N, C, H, W] or [N, C, L]. The average counts the zeros of the padding. */
sh_value_id sh_layer_max_pool(sh_net *net, sh_value_id x, const sh_pool_options *options);
sh_value_id sh_layer_avg_pool(sh_net *net, sh_value_id x, const sh_pool_options *options);

/* x [N, C, ...] -> [N, C]: mean of each channel. */
sh_value_id sh_layer_global_pool(sh_net *net, sh_value_id x);

/* For other activations use, for example, sh_net_apply(net, SH_OP_silu, NULL, x). */
sh_value_id sh_layer_relu(sh_net *net, sh_value_id x);
sh_value_id sh_layer_leaky_relu(sh_net *net, sh_value_id x, float slope);
sh_value_id sh_layer_softmax(sh_net *net, sh_value_id x, size_t axis);

/* In training, sets elements to 0 with probability p and divides the others by 1 - p; otherwise
 * returns x. The order of the calls numbers the layers, which selects their random numbers. */
sh_value_id sh_layer_dropout(sh_net *net, sh_value_id x, float p);

sh_value_id sh_layer_add(sh_net *net, sh_value_id a, sh_value_id b);

/* x * b. b has the shape of x or of its leading dimensions. */
sh_value_id sh_layer_multiply(sh_net *net, sh_value_id x, sh_value_id b);

/* `count` must be at least 1. */
sh_value_id sh_layer_concat(sh_net *net, const sh_value_id *x, size_t count, size_t axis);

/* Flatten: x [N, ...] -> [N, product of the rest]. */
sh_value_id sh_layer_reshape(sh_net *net, sh_value_id x, sh_shape shape);
sh_value_id sh_layer_flatten(sh_net *net, sh_value_id x);

#endif
