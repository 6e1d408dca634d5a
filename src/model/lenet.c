/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LeNet in the form that MXNet's and Caffe's examples made common (after LeCun, Bottou, Bengio,
 * Haffner: "Gradient-based learning applied to document recognition", 1998): 20 and 50 filters of
 * 5x5, each with 2x2 max pooling, 500 dense. 431,080 weights for 28x28 and 10 classes. ReLU stands
 * behind the pooling, which gives the same numbers as before it at a quarter of the work.
 */
#include "graph/layers.h"
#include "model/builtin.h"

static sh_value_id stage(sh_graph *graph, sh_value_id x, const char *name, size_t channels)
{
    x = sh_layer_conv2d(graph, x,
                        &(sh_conv_options){.name = name, .channels = channels, .kernel = 5});
    return sh_layer_relu(graph, sh_layer_max_pool(graph, x, 2, 2));
}

static sh_value_id build(sh_graph *graph, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    if (parameters != NULL)
        return sh_graph_failed(
            graph, sh_fail(SH_INVALID, "'%.64s': lenet takes no parameters", parameters));
    sh_value_id x = stage(graph, samples, "conv1", 20);
    x = sh_layer_flatten(graph, stage(graph, x, "conv2", 50));
    x = sh_layer_relu(graph, sh_layer_linear(graph, x, "fc1", 500));
    return sh_layer_linear(graph, x, "fc2", problem->classes);
}

const sh_model_def sh_model_lenet = {
    .name = "lenet",
    .usage = "lenet",
    .summary = "20 and 50 filters of 5x5, 500 dense (LeCun et al. 1998)",
    .example = "lenet",
    .example_problem = {1, 28, 28, 10},
    .build = build,
};
