/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Residual networks (He, Zhang, Ren, Sun: "Deep residual learning for image recognition", 2015), in
 * the two forms of the paper.
 *
 * For CIFAR, resnet:N with N = 6n + 2: three stages of n blocks with 16, 32 and 64 channels. If the
 * shape changes, the shortcut of option A takes every second pixel and adds channels of zeros, half
 * before and half after the others; that of option B (resnet:N,B) is a 1x1 convolution with batch
 * normalisation. Names, shortcut A and initial weights are those of
 * akamaster/pytorch_resnet_cifar10: normal by fan-in, including the last layer.
 *
 * For ImageNet, resnet18, resnet34 and resnet50, with torchvision's names, initial weights and
 * shapes: a 7x7 convolution of stride 2, max pooling and four stages. In a bottleneck the 3x3
 * convolution has the stride. For images below 64 pixels the usual stem for CIFAR replaces it: a
 * 3x3 convolution of stride 1 without pooling (11,173,962 weights for resnet18 with 10 classes).
 */
#include <string.h>

#include "model/parts.h"

#define SMALL_SIDE 64

typedef enum shortcut_kind {
    SHORTCUT_PAD,      /* option A */
    SHORTCUT_CONVOLVE, /* option B */
} shortcut_kind;

typedef struct family {
    shortcut_kind shortcut;
    const char *shortcut_name;
    sh_filling filling;
} family;

static const family cifar_a = {SHORTCUT_PAD, "", SH_FILL_HE_FAN_IN};
static const family cifar_b = {SHORTCUT_CONVOLVE, "shortcut", SH_FILL_HE_FAN_IN};
static const family imagenet = {SHORTCUT_CONVOLVE, "downsample", SH_FILL_HE_FAN_OUT};

static sh_value_id conv(sh_net *net, sh_value_id x, int index, const family *of, size_t channels,
                        size_t kernel, size_t stride)
{
    static const char *const convs[] = {"conv1", "conv2", "conv3"};
    static const char *const norms[] = {"bn1", "bn2", "bn3"};
    return sh_parts_conv_norm(net, x, convs[index - 1], norms[index - 1],
                              &(sh_conv_options){.channels = channels,
                                                 .kernel = kernel,
                                                 .stride = stride,
                                                 .padding = kernel / 2,
                                                 .filling = of->filling});
}

static sh_value_id shortcut(sh_net *net, sh_value_id x, const family *of, size_t channels,
                            size_t stride)
{
    const size_t had = sh_parts_channels(net, x);
    if (stride == 1 && had == channels)
        return x;
    if (of->shortcut == SHORTCUT_PAD) {
        const size_t more = channels - had;
        const sh_attributes attributes = {.before = {0, more / 2}, .after = {0, more - more / 2}};
        x = sh_layer_avg_pool(net, x, &(sh_pool_options){.kernel = 1, .stride = stride});
        return sh_net_apply(net, SH_OP_pad, &attributes, x);
    }
    sh_net_enter(net, "%s", of->shortcut_name);
    x = sh_parts_conv_norm(
        net, x, "0", "1",
        &(sh_conv_options){
            .channels = channels, .kernel = 1, .stride = stride, .filling = of->filling});
    sh_net_leave(net);
    return x;
}

static sh_value_id basic_block(sh_net *net, sh_value_id x, const family *of, size_t channels,
                               size_t stride)
{
    sh_value_id y = sh_layer_relu(net, conv(net, x, 1, of, channels, 3, stride));
    y = conv(net, y, 2, of, channels, 3, 1);
    return sh_layer_relu(net, sh_layer_add(net, y, shortcut(net, x, of, channels, stride)));
}

static sh_value_id bottleneck(sh_net *net, sh_value_id x, const family *of, size_t channels,
                              size_t stride)
{
    sh_value_id y = sh_layer_relu(net, conv(net, x, 1, of, channels / 4, 1, 1));
    y = sh_layer_relu(net, conv(net, y, 2, of, channels / 4, 3, stride));
    y = conv(net, y, 3, of, channels, 1, 1);
    return sh_layer_relu(net, sh_layer_add(net, y, shortcut(net, x, of, channels, stride)));
}

typedef sh_value_id block(sh_net *net, sh_value_id x, const family *of, size_t channels,
                          size_t stride);

/* `number` counts from 1. All stages except the first halve the image. */
static sh_value_id stage(sh_net *net, sh_value_id x, const family *of, block *build_block,
                         int number, size_t blocks, size_t channels)
{
    for (size_t i = 0; i < blocks; i++) {
        sh_net_enter(net, "layer%d.%zu", number, i);
        x = build_block(net, x, of, channels, i == 0 && number > 1 ? 2 : 1);
        sh_net_leave(net);
    }
    return x;
}

/* The parameters are "20", "20,A" or "20,B". */
static sh_value_id build_cifar(sh_net *net, sh_value_id samples, const char *parameters,
                               const sh_problem *problem)
{
    size_t depth = 0;
    const char *at = parameters == NULL ? "" : parameters;
    const bool is_number = sh_parts_number(&at, &depth);
    const family *of = strcmp(at, ",B") == 0 ? &cifar_b : &cifar_a;
    if (!is_number || depth < 8 || depth > 110 || depth % 6 != 2 ||
        (of == &cifar_a && at[0] != '\0' && strcmp(at, ",A") != 0))
        return sh_graph_failed(
            net->graph, sh_fail(SH_INVALID,
                                "'%.64s': the depth is 6n + 2 from 8 to 110, as in resnet:20, or "
                                "resnet:20,B for shortcuts with weights",
                                parameters == NULL ? "" : parameters));
    if (!sh_parts_side(net, "resnet", problem, 8))
        return SH_NO_VALUE;
    sh_value_id x = sh_layer_relu(net, conv(net, samples, 1, of, 16, 3, 1));
    for (int i = 1; i <= 3; i++)
        x = stage(net, x, of, basic_block, i, (depth - 2) / 6, (size_t)8 << i);
    return sh_layer_linear_filled(
        net, sh_layer_global_pool(net, x), "linear",
        &(sh_linear_options){.outputs = problem->outputs, .filling = SH_FILL_HE_FAN_IN});
}

typedef struct imagenet_form {
    const char *name;
    block *build_block;
    size_t blocks[4];
    size_t channels; /* of the first stage */
} imagenet_form;

static sh_value_id build_imagenet(sh_net *net, sh_value_id x, const char *parameters,
                                  const sh_problem *problem, const imagenet_form *form)
{
    const bool small = problem->height < SMALL_SIDE || problem->width < SMALL_SIDE;
    if (!sh_parts_none(net, form->name, parameters) || !sh_parts_side(net, form->name, problem, 16))
        return SH_NO_VALUE;
    x = conv(net, x, 1, &imagenet, 64, small ? 3 : 7, small ? 1 : 2);
    x = sh_layer_relu(net, x);
    if (!small)
        x = sh_layer_max_pool(net, x, &(sh_pool_options){.kernel = 3, .stride = 2, .padding = 1});
    for (int i = 0; i < 4; i++)
        x = stage(net, x, &imagenet, form->build_block, i + 1, form->blocks[i],
                  form->channels << i);
    return sh_layer_linear(net, sh_layer_global_pool(net, x), "fc", problem->outputs);
}

static sh_value_id build_18(sh_net *net, sh_value_id samples, const char *parameters,
                            const sh_problem *problem)
{
    static const imagenet_form form = {"resnet18", basic_block, {2, 2, 2, 2}, 64};
    return build_imagenet(net, samples, parameters, problem, &form);
}

static sh_value_id build_34(sh_net *net, sh_value_id samples, const char *parameters,
                            const sh_problem *problem)
{
    static const imagenet_form form = {"resnet34", basic_block, {3, 4, 6, 3}, 64};
    return build_imagenet(net, samples, parameters, problem, &form);
}

static sh_value_id build_50(sh_net *net, sh_value_id samples, const char *parameters,
                            const sh_problem *problem)
{
    static const imagenet_form form = {"resnet50", bottleneck, {3, 4, 6, 3}, 256};
    return build_imagenet(net, samples, parameters, problem, &form);
}

const sh_model_def sh_model_resnet = {
    .name = "resnet",
    .usage = "resnet:8|14|20|26|...|110[,B]",
    .summary = "residual network for CIFAR (He et al. 2015)",
    .example = "resnet:20",
    .example_problem = {3, 32, 32, 10, SH_TARGET_CLASS},
    .build = build_cifar,
};

const sh_model_def sh_model_resnet18 = {
    .name = "resnet18",
    .usage = "resnet18",
    .summary = "residual network for ImageNet, 18 layers",
    .example = "resnet18",
    .example_problem = {3, 224, 224, 1000, SH_TARGET_CLASS},
    .build = build_18,
};

const sh_model_def sh_model_resnet34 = {
    .name = "resnet34",
    .usage = "resnet34",
    .summary = "residual network for ImageNet, 34 layers",
    .example = "resnet34",
    .example_problem = {3, 224, 224, 1000, SH_TARGET_CLASS},
    .build = build_34,
};

const sh_model_def sh_model_resnet50 = {
    .name = "resnet50",
    .usage = "resnet50",
    .summary = "residual network for ImageNet, 50 layers with bottlenecks",
    .example = "resnet50",
    .example_problem = {3, 224, 224, 1000, SH_TARGET_CLASS},
    .build = build_50,
};
