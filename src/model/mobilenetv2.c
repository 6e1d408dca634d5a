/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MobileNetV2 (Sandler et al. 2018), with torchvision's names, shapes and initial weights.
 * 3,504,872 weights for width 1 and 1000 classes. Images of any size are halved five times: 32x32
 * becomes one pixel.
 */
#include "model/parts.h"

#define DROPOUT 0.2
#define MAX_WIDTH 4.0

/* Rounds to a multiple of 8 that is at least 8 and at least 0.9 times the number. */
static size_t round_channels(double channels)
{
    size_t rounded = (size_t)(channels + 4) / 8 * 8;
    rounded = rounded < 8 ? 8 : rounded;
    return (double)rounded < 0.9 * channels ? rounded + 8 : rounded;
}

/* Independent of the locale; advances *text. */
static bool read_real(const char **text, double *value)
{
    size_t whole, part = 0;
    double unit = 1;
    if (!sh_parts_number(text, &whole))
        return false;
    if (**text == '.') {
        const char *digits = ++*text;
        if (!sh_parts_number(text, &part))
            return false;
        for (; digits < *text; digits++)
            unit *= 10;
    }
    *value = (double)whole + (double)part / unit;
    return true;
}

static sh_value_id conv(sh_net *net, sh_value_id x, const char *name, const char *norm,
                        sh_conv_options options)
{
    options.padding = options.kernel / 2;
    options.filling = SH_FILL_HE_FAN_OUT;
    return sh_parts_conv_norm(net, x, name, norm, &options);
}

static sh_value_id conv_relu6(sh_net *net, sh_value_id x, int name, sh_conv_options options)
{
    sh_net_enter(net, "%d", name);
    x = sh_net_apply(net, SH_OP_relu6, NULL, conv(net, x, "0", "1", options));
    sh_net_leave(net);
    return x;
}

static sh_value_id inverted_residual(sh_net *net, sh_value_id x, size_t widen, size_t channels,
                                     size_t stride)
{
    static const char *const names[] = {"1", "2", "3"};
    const size_t had = sh_parts_channels(net, x), wide = had * widen;
    sh_value_id y = x;
    int name = 0;
    sh_net_enter(net, "conv");
    if (widen > 1)
        y = conv_relu6(net, y, name++, (sh_conv_options){.channels = wide, .kernel = 1});
    y = conv_relu6(
        net, y, name++,
        (sh_conv_options){.channels = wide, .kernel = 3, .stride = stride, .groups = wide});
    y = conv(net, y, names[name - 1], names[name],
             (sh_conv_options){.channels = channels, .kernel = 1});
    sh_net_leave(net);
    return stride == 1 && had == channels ? sh_layer_add(net, x, y) : y;
}

static sh_value_id features(sh_net *net, sh_value_id x, double width)
{
    static const struct {
        size_t widen, channels, blocks, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    int name = 0;
    sh_net_enter(net, "features");
    x = conv_relu6(
        net, x, name++,
        (sh_conv_options){.channels = round_channels(32 * width), .kernel = 3, .stride = 2});
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++)
        for (size_t j = 0; j < stages[i].blocks; j++) {
            sh_net_enter(net, "%d", name++);
            x = inverted_residual(net, x, stages[i].widen,
                                  round_channels((double)stages[i].channels * width),
                                  j == 0 ? stages[i].stride : 1);
            sh_net_leave(net);
        }
    const size_t last = round_channels(1280 * (width > 1 ? width : 1));
    x = conv_relu6(net, x, name, (sh_conv_options){.channels = last, .kernel = 1});
    sh_net_leave(net);
    return x;
}

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    double width = 1, dropout = DROPOUT;
    const char *at = parameters == NULL ? "" : parameters; /* "WIDTH" or "WIDTH,DROPOUT" */
    bool is_read = parameters == NULL || read_real(&at, &width);
    if (is_read && *at == ',') {
        at++;
        is_read = read_real(&at, &dropout);
    }
    if (!is_read || *at != '\0' || width < 0.05 || width > MAX_WIDTH || dropout > 0.9)
        return sh_graph_failed(net->graph,
                               sh_fail(SH_INVALID,
                                       "'%.64s': expected a width from 0.05 to %g, as in "
                                       "mobilenetv2:0.5, and optionally the last layer's dropout "
                                       "from 0 to 0.9, as in mobilenetv2:0.5,0; defaults: 1 and %g",
                                       parameters, MAX_WIDTH, DROPOUT));
    if (!sh_parts_side(net, "mobilenetv2", problem, 16))
        return SH_NO_VALUE;
    sh_value_id x = sh_layer_global_pool(net, features(net, samples, width));
    x = dropout > 0 ? sh_layer_dropout(net, x, (float)dropout) : x;
    return sh_layer_linear_filled(net, x, "classifier.1",
                                  &(sh_linear_options){.outputs = problem->outputs,
                                                       .zero_bias = true,
                                                       .filling = SH_FILL_NORMAL,
                                                       .deviation = 0.01f});
}

const sh_model_def sh_model_mobilenetv2 = {
    .name = "mobilenetv2",
    .usage = "mobilenetv2[:WIDTH[,DROPOUT]]",
    .summary = "inverted residuals, depthwise convolutions (Sandler et al. 2018)",
    .example = "mobilenetv2",
    .example_problem = {3, 224, 224, 1000, SH_TARGET_CLASS},
    .build = build,
};
