/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LeNet in the form of MXNet's and Caffe's examples (after LeCun, Bottou, Bengio, Haffner:
 * "Gradient-based learning applied to document recognition", 1998): 20 and 50 filters of 5x5, each
 * with 2x2 max pooling, then 500 dense units. 431,080 weights for 28x28 images and 10 classes. ReLU
 * follows the pooling, with the same results at a quarter of the work.
 */
#include "model/parts.h"

static sh_value_id stage(sh_net *net, sh_value_id x, const char *name, size_t channels)
{
    x = sh_layer_conv2d(net, x, name, &(sh_conv_options){.channels = channels, .kernel = 5});
    return sh_layer_relu(net, sh_layer_max_pool(net, x, &(sh_pool_options){.kernel = 2}));
}

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    if (!sh_parts_none(net, "lenet", parameters) || !sh_parts_side(net, "lenet", problem, 16))
        return SH_NO_VALUE;
    sh_value_id x = stage(net, samples, "conv1", 20);
    x = sh_layer_flatten(net, stage(net, x, "conv2", 50));
    x = sh_layer_relu(net, sh_layer_linear(net, x, "fc1", 500));
    return sh_layer_linear(net, x, "fc2", problem->outputs);
}

const sh_model_def sh_model_lenet = {
    .name = "lenet",
    .usage = "lenet",
    .summary = "20 and 50 filters of 5x5, 500 dense (LeCun et al. 1998)",
    .example = "lenet",
    .example_problem = {1, 28, 28, 10, SH_TARGET_CLASS},
    .build = build,
};
