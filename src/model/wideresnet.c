/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wide residual networks (Zagoruyko, Komodakis 2016): wideresnet:D-K has depth D = 6n + 4 and three
 * stages of n blocks with 16 K, 32 K and 64 K channels. Normalisation and ReLU precede each
 * convolution. If the number of channels changes, the shortcut starts after the first ReLU. 28-10
 * has 36.5 million weights. Names are those of xternalz/WideResNet-pytorch. Initial weights of
 * convolutions are normal by fan-out, as in the authors' code. There is no dropout, as in most of
 * the paper's results.
 */
#include "model/parts.h"

#define MAX_DEPTH 1000
#define MAX_FACTOR 64

static sh_value_id conv(sh_net *net, sh_value_id x, const char *name, size_t channels,
                        size_t kernel, size_t stride)
{
    return sh_layer_conv2d(net, x, name,
                           &(sh_conv_options){.channels = channels,
                                              .kernel = kernel,
                                              .stride = stride,
                                              .padding = kernel / 2,
                                              .no_bias = true,
                                              .filling = SH_FILL_HE_FAN_OUT});
}

static sh_value_id block(sh_net *net, sh_value_id x, size_t channels, size_t stride)
{
    const bool changes = sh_parts_channels(net, x) != channels;
    const sh_value_id active = sh_layer_relu(net, sh_layer_batch_norm(net, x, "bn1"));
    sh_value_id y = conv(net, active, "conv1", channels, 3, stride);
    y = sh_layer_relu(net, sh_layer_batch_norm(net, y, "bn2"));
    y = conv(net, y, "conv2", channels, 3, 1);
    if (changes)
        x = conv(net, active, "convShortcut", channels, 1, stride);
    return sh_layer_add(net, x, y);
}

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    size_t depth, factor;
    const char *at = parameters == NULL ? "" : parameters;
    if (!sh_parts_number(&at, &depth) || *at++ != '-' || !sh_parts_number(&at, &factor) ||
        *at != '\0' || depth < 10 || depth > MAX_DEPTH || depth % 6 != 4 || factor == 0 ||
        factor > MAX_FACTOR)
        return sh_graph_failed(
            net->graph, sh_fail(SH_INVALID,
                                "'%.64s': expected depth and factor, such as 28-10; the depth is "
                                "10, 16, 22, 28, ... up to %d, the factor 1 to %d",
                                parameters == NULL ? "" : parameters, MAX_DEPTH, MAX_FACTOR));
    if (!sh_parts_side(net, "wideresnet", problem, 8))
        return SH_NO_VALUE;
    sh_value_id x = conv(net, samples, "conv1", 16, 3, 1);
    for (size_t i = 0; i < 3; i++)
        for (size_t j = 0; j < (depth - 4) / 6; j++) {
            sh_net_enter(net, "block%zu.layer.%zu", i + 1, j);
            x = block(net, x, ((size_t)16 << i) * factor, i > 0 && j == 0 ? 2 : 1);
            sh_net_leave(net);
        }
    x = sh_layer_relu(net, sh_layer_batch_norm(net, x, "bn1"));
    return sh_layer_linear_filled(
        net, sh_layer_global_pool(net, x), "fc",
        &(sh_linear_options){.outputs = problem->outputs, .zero_bias = true});
}

const sh_model_def sh_model_wideresnet = {
    .name = "wideresnet",
    .usage = "wideresnet:DEPTH-FACTOR",
    .summary = "residual network with few wide layers (Zagoruyko, Komodakis 2016)",
    .example = "wideresnet:16-4",
    .example_problem = {3, 32, 32, 10, SH_TARGET_CLASS},
    .build = build,
};
