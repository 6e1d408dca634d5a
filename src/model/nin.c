/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Network in Network for CIFAR (Lin, Chen, Yan: "Network in network", 2013): each convolution is
 * followed by two 1x1 convolutions. Instead of dense layers there is one feature map per class and
 * its mean. Shapes, dropout and names are those of the authors' Caffe definition: 966,986 weights
 * for 10 classes. Caffe's pooling windows extend beyond the image; here average pooling has a
 * padding of 1, which gives the same sizes. Initial weights are normal by fan-in.
 */
#include "model/parts.h"

static sh_value_id bare_conv(sh_net *net, sh_value_id x, const char *name, size_t kernel,
                             size_t channels)
{
    return sh_layer_conv2d(net, x, name,
                           &(sh_conv_options){.channels = channels,
                                              .kernel = kernel,
                                              .padding = kernel / 2,
                                              .zero_bias = true,
                                              .filling = SH_FILL_HE_FAN_IN});
}

static sh_value_id conv(sh_net *net, sh_value_id x, const char *name, size_t kernel,
                        size_t channels)
{
    return sh_layer_relu(net, bare_conv(net, x, name, kernel, channels));
}

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    if (!sh_parts_none(net, "nin", parameters) || !sh_parts_side(net, "nin", problem, 9))
        return SH_NO_VALUE;
    sh_value_id x = conv(net, samples, "conv1", 5, 192);
    x = conv(net, conv(net, x, "cccp1", 1, 160), "cccp2", 1, 96);
    x = sh_layer_max_pool(net, x, &(sh_pool_options){.kernel = 3, .stride = 2, .ceil = true});
    x = sh_layer_dropout(net, x, 0.5f);
    x = conv(net, x, "conv2", 5, 192);
    x = conv(net, conv(net, x, "cccp3", 1, 192), "cccp4", 1, 192);
    x = sh_layer_avg_pool(net, x, &(sh_pool_options){.kernel = 3, .stride = 2, .padding = 1});
    x = sh_layer_dropout(net, x, 0.5f);
    x = conv(net, x, "conv3", 3, 192);
    x = bare_conv(net, conv(net, x, "cccp5", 1, 192), "cccp6", 1, problem->outputs);
    if (problem->target == SH_TARGET_CLASS) /* as published; other outputs may be below 0 */
        x = sh_layer_relu(net, x);
    return sh_layer_global_pool(net, x);
}

const sh_model_def sh_model_nin = {
    .name = "nin",
    .usage = "nin",
    .summary = "Network in Network for CIFAR (Lin et al. 2013)",
    .example = "nin",
    .example_problem = {3, 32, 32, 10, SH_TARGET_CLASS},
    .build = build,
};
