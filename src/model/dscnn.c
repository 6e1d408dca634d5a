/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Depthwise separable CNN for keyword spotting (Zhang, Suda, Lai, Chandra: "Hello edge", 2017), in
 * the paper's three sizes: a 10x4 convolution over time and frequency, then pairs of a depthwise
 * 3x3 and a 1x1 convolution, each with batch normalisation and ReLU, then the mean and a dense
 * layer. The paper has 49 frames of 10 cepstral coefficients; here any numbers are allowed. Padding
 * is TensorFlow's SAME: an odd element is added at the end.
 *
 * With normalisation folded into biases, the sizes have 22,604, 135,032 and 410,700 weights for 12
 * classes. The paper's 38.6, 189.2 and 497.6 KB add the two largest adjacent activations.
 */
#include <string.h>

#include "model/parts.h"

typedef struct size_of {
    const char *name;
    size_t channels, blocks;
    size_t stride_width; /* second stride of the first convolution; the first is 2 */
    size_t block_stride; /* of the first block */
} size_of;

static const size_of sizes[] = {
    {"s", 64, 4, 2, 1},
    {"m", 172, 4, 1, 2},
    {"l", 276, 5, 1, 2},
};

static sh_value_id conv(sh_net *net, sh_value_id x, const char *name, const char *norm,
                        const sh_conv_options *options)
{
    const sh_type *type = sh_net_type(net, x, name, 4);
    if (type == NULL)
        return SH_NO_VALUE;
    const size_t kernel[] = {options->kernel,
                             options->kernel_width > 0 ? options->kernel_width : options->kernel};
    const size_t stride[] = {options->stride,
                             options->stride_width > 0 ? options->stride_width : options->stride};
    sh_attributes attributes = {0};
    sh_conv_options padded = *options;
    size_t odd = 0;
    for (int i = 0; i < 2; i++) {
        /* The number of windows is ceil(extent / stride). */
        const size_t extent = type->shape.dim[2 + i];
        const size_t reach = (extent - 1) / stride[i] * stride[i] + kernel[i];
        const size_t zeros = reach > extent ? reach - extent : 0;
        attributes.before[2 + i] = zeros / 2;
        attributes.after[2 + i] = zeros - zeros / 2;
        odd += zeros % 2;
    }
    /* The convolution can pad symmetrically. */
    if (odd == 0 && attributes.before[2] == attributes.before[3])
        padded.padding = attributes.before[2];
    else
        x = sh_net_apply(net, SH_OP_pad, &attributes, x);
    padded.filling = SH_FILL_XAVIER;
    return sh_layer_relu(net, sh_parts_conv_norm(net, x, name, norm, &padded));
}

static sh_value_id build(sh_net *net, sh_value_id x, const char *parameters,
                         const sh_problem *problem)
{
    const char *name = parameters == NULL ? "s" : parameters;
    const size_of *size = sizes, *end = sizes + sizeof sizes / sizeof *sizes;
    if (!sh_parts_side(net, "dscnn", problem, 8))
        return SH_NO_VALUE;
    while (size < end && strcmp(name, size->name) != 0)
        size++;
    if (size == end)
        return sh_graph_failed(
            net->graph, sh_fail(SH_INVALID, "'%.64s': the size is s, m or l, as in dscnn:m", name));
    x = conv(net, x, "conv1", "bn1",
             &(sh_conv_options){.channels = size->channels,
                                .kernel = 10,
                                .kernel_width = 4,
                                .stride = 2,
                                .stride_width = size->stride_width});
    for (size_t i = 0; i < size->blocks; i++) {
        sh_net_enter(net, "block%zu", i + 1);
        x = conv(net, x, "depthwise", "bn1",
                 &(sh_conv_options){.channels = size->channels,
                                    .kernel = 3,
                                    .stride = i == 0 ? size->block_stride : 1,
                                    .groups = size->channels});
        x = conv(net, x, "pointwise", "bn2",
                 &(sh_conv_options){.channels = size->channels, .kernel = 1, .stride = 1});
        sh_net_leave(net);
    }
    return sh_layer_linear_filled(net, sh_layer_global_pool(net, x), "fc",
                                  &(sh_linear_options){.outputs = problem->outputs,
                                                       .zero_bias = true,
                                                       .filling = SH_FILL_XAVIER});
}

const sh_model_def sh_model_dscnn = {
    .name = "dscnn",
    .usage = "dscnn[:s|m|l]",
    .summary = "keyword spotting by depthwise convolutions (Zhang et al. 2017)",
    .example = "dscnn:s",
    .example_problem = {1, 49, 10, 12, SH_TARGET_CLASS},
    .build = build,
};
