/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Layers for those who write models: operators with their parameters declared.
 *
 *     sh_value_id x = sh_graph_input(graph, pixels);
 *     x = sh_layer_conv2d(graph, x, &(sh_conv_options){"conv1", .channels = 20, .kernel = 5});
 *     x = sh_layer_relu(graph, x);
 *     x = sh_layer_linear(graph, sh_layer_flatten(graph, x), "fc1", 10);
 *
 * Every function takes and gives SH_NO_VALUE after a failure (graph.h). Threads: caller locks.
 */
#ifndef SHOAL_GRAPH_LAYERS_H
#define SHOAL_GRAPH_LAYERS_H

#include "graph/graph.h"

/* Square kernels. 0 means: stride 1, dilation 1, groups 1, no padding. */
typedef struct sh_conv_options {
    const char *name; /* of the parameters: name.weight and name.bias */
    size_t channels;  /* of the output */
    size_t kernel;
    size_t stride;
    size_t padding;
    size_t dilation;
    size_t groups;
} sh_conv_options;

/* x [N, C, H, W] -> [N, channels, P, Q]. */
sh_value_id sh_layer_conv2d(sh_graph *graph, sh_value_id x, const sh_conv_options *options);

/* x [N, I] -> [N, outputs]. */
sh_value_id sh_layer_linear(sh_graph *graph, sh_value_id x, const char *name, size_t outputs);

/* Windows of kernel x kernel, `stride` apart, without padding. */
sh_value_id sh_layer_max_pool(sh_graph *graph, sh_value_id x, size_t kernel, size_t stride);

sh_value_id sh_layer_relu(sh_graph *graph, sh_value_id x);

/* x [N, ...] -> [N, product of the rest]. */
sh_value_id sh_layer_flatten(sh_graph *graph, sh_value_id x);

#endif
