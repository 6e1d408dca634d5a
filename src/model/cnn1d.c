/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions over time, for series: stages of a convolution over 7 steps, batch normalisation and
 * ReLU, as in the fully convolutional network of Wang, Yan, Oates ("Time series classification from
 * scratch with deep neural networks: a strong baseline", 2016). All stages except the last end with
 * max pooling by 2, if at least 4 steps remain, so that the third stage sees 43 steps. Weights have
 * the shape of 2-D convolutions of height 1.
 */
#include <stdio.h>

#include "model/parts.h"

#define KERNEL 7
#define LEAST_STEPS 4

static sh_value_id stage(sh_net *net, sh_value_id x, size_t number, size_t channels)
{
    char conv[32], norm[32];
    snprintf(conv, sizeof conv, "conv%zu", number);
    snprintf(norm, sizeof norm, "bn%zu", number);
    return sh_layer_relu(net, sh_parts_conv_norm(net, x, conv, norm,
                                                 &(sh_conv_options){.channels = channels,
                                                                    .kernel = 1,
                                                                    .kernel_width = KERNEL,
                                                                    .padding_width = KERNEL / 2,
                                                                    .filling = SH_FILL_HE_FAN_IN}));
}

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    static const sh_attributes halve = {.kernel = {1, 2}, .stride = {1, 2}};
    size_t channels[SH_PARTS_WIDTHS];
    size_t steps = problem->height == 1 ? problem->width : problem->height;
    const size_t stages = sh_parts_widths(parameters == NULL ? "32-64-128" : parameters, channels);
    if (stages == 0)
        return sh_graph_failed(net->graph, sh_fail(SH_INVALID,
                                                   "'%.64s': expected the channels of each "
                                                   "convolution, such as 32-64-128",
                                                   parameters));
    if (!sh_parts_steps(net, "cnn1d", problem, LEAST_STEPS))
        return SH_NO_VALUE;
    sh_value_id x = sh_parts_series(net, samples, problem);
    for (size_t i = 0; i < stages; i++) {
        x = stage(net, x, i + 1, channels[i]);
        if (i + 1 < stages && steps / 2 >= LEAST_STEPS) {
            x = sh_net_apply(net, SH_OP_max_pool, &halve, x);
            steps /= 2;
        }
    }
    return sh_layer_linear(net, sh_layer_global_pool(net, x), "fc", problem->outputs);
}

const sh_model_def sh_model_cnn1d = {
    .name = "cnn1d",
    .usage = "cnn1d[:CHANNELS-...]",
    .summary = "convolutions over time, for series (after Wang et al. 2016)",
    .example = "cnn1d",
    .example_problem = {3, 1, 128, 6, SH_TARGET_CLASS},
    .build = build,
};
