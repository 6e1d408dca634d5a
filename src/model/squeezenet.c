/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SqueezeNet 1.1 (Iandola et al. 2016; 1.1 is from the authors' repository), with torchvision's
 * names and initial weights. 1,235,496 weights for 1000 classes. Pooling windows may extend beyond
 * the image.
 */
#include "model/parts.h"

static sh_value_id conv(sh_net *net, sh_value_id x, const char *name, size_t channels,
                        size_t kernel)
{
    return sh_layer_relu(net, sh_layer_conv2d(net, x, name,
                                              &(sh_conv_options){.channels = channels,
                                                                 .kernel = kernel,
                                                                 .padding = kernel / 2,
                                                                 .zero_bias = true,
                                                                 .filling = SH_FILL_HE_UNIFORM}));
}

static sh_value_id fire(sh_net *net, sh_value_id x, int index, size_t squeezed, size_t expanded)
{
    sh_net_enter(net, "features.%d", index);
    x = conv(net, x, "squeeze", squeezed, 1);
    const sh_value_id narrow = conv(net, x, "expand1x1", expanded, 1);
    const sh_value_id wide = conv(net, x, "expand3x3", expanded, 3);
    sh_net_leave(net);
    return sh_layer_concat(net, (sh_value_id[]){narrow, wide}, 2, 1);
}

static sh_value_id pool(sh_net *net, sh_value_id x)
{
    return sh_layer_max_pool(net, x, &(sh_pool_options){.kernel = 3, .stride = 2, .ceil = true});
}

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    if (!sh_parts_none(net, "squeezenet", parameters) ||
        !sh_parts_side(net, "squeezenet", problem, 25))
        return SH_NO_VALUE;
    sh_value_id x = sh_layer_conv2d(net, samples, "features.0",
                                    &(sh_conv_options){.channels = 64,
                                                       .kernel = 3,
                                                       .stride = 2,
                                                       .zero_bias = true,
                                                       .filling = SH_FILL_HE_UNIFORM});
    x = pool(net, sh_layer_relu(net, x));
    x = fire(net, fire(net, x, 3, 16, 64), 4, 16, 64);
    x = pool(net, x);
    x = fire(net, fire(net, x, 6, 32, 128), 7, 32, 128);
    x = pool(net, x);
    x = fire(net, fire(net, x, 9, 48, 192), 10, 48, 192);
    x = fire(net, fire(net, x, 11, 64, 256), 12, 64, 256);
    x = sh_layer_conv2d(net, sh_layer_dropout(net, x, 0.5f), "classifier.1",
                        &(sh_conv_options){.channels = problem->outputs,
                                           .kernel = 1,
                                           .zero_bias = true,
                                           .filling = SH_FILL_NORMAL,
                                           .deviation = 0.01f});
    if (problem->target == SH_TARGET_CLASS) /* as published; other outputs may be below 0 */
        x = sh_layer_relu(net, x);
    return sh_layer_global_pool(net, x);
}

const sh_model_def sh_model_squeezenet = {
    .name = "squeezenet",
    .usage = "squeezenet",
    .summary = "SqueezeNet 1.1 (Iandola et al. 2016)",
    .example = "squeezenet",
    .example_problem = {3, 224, 224, 1000, SH_TARGET_CLASS},
    .build = build,
};
