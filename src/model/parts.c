/* SPDX-License-Identifier: Apache-2.0 */
#include "model/parts.h"

#include <stdlib.h>

#define MAX_WIDTH 1000000

bool sh_parts_none(sh_net *net, const char *model, const char *parameters)
{
    if (parameters == NULL)
        return true;
    sh_graph_failed(net->graph,
                    sh_fail(SH_INVALID, "'%.64s': %s takes no parameters", parameters, model));
    return false;
}

bool sh_parts_side(sh_net *net, const char *model, const sh_problem *problem, size_t least)
{
    if (problem->height >= least && problem->width >= least)
        return true;
    if (problem->height == 1 && least > 1)
        sh_graph_failed(net->graph,
                        sh_fail(SH_INVALID,
                                "the data's samples are one row of %zu, but %s is for images of at "
                                "least %zux%zu; mlp is for tables, cnn1d for series",
                                problem->width, model, least, least));
    else
        sh_graph_failed(net->graph,
                        sh_fail(SH_INVALID,
                                "the data's images are %zux%zu, %s needs at least %zux%zu; "
                                "--resize %zu makes them larger",
                                problem->height, problem->width, model, least, least, least));
    return false;
}

bool sh_parts_number(const char **text, size_t *number)
{
    const char *at = *text;
    size_t value = 0;
    int digits = 0;
    for (; *at >= '0' && *at <= '9' && digits < 7; at++, digits++)
        value = value * 10 + (size_t)(*at - '0');
    if (digits == 0 || digits > 6)
        return false;
    *text = at;
    *number = value;
    return true;
}

size_t sh_parts_widths(const char *text, size_t widths[SH_PARTS_WIDTHS])
{
    for (size_t count = 0; count < SH_PARTS_WIDTHS && *text >= '0' && *text <= '9';) {
        char *end;
        const unsigned long width = strtoul(text, &end, 10);
        if (width == 0 || width > MAX_WIDTH || (*end != '-' && *end != '\0'))
            return 0;
        widths[count++] = width;
        if (*end == '\0')
            return count;
        text = end + 1;
    }
    return 0;
}

sh_value_id sh_parts_series(sh_net *net, sh_value_id samples, const sh_problem *problem)
{
    if (net->graph->status != SH_OK || samples == SH_NO_VALUE || problem->height == 1)
        return samples;
    const size_t count = sh_graph_type(net->graph, samples)->shape.dim[0];
    const sh_attributes turned = {.order = {0, 1, 3, 2}};
    const sh_value_id x = sh_net_apply(net, SH_OP_transpose, &turned, samples);
    return sh_layer_reshape(
        net, x,
        sh_shape_of(4, (size_t[]){count, problem->channels * problem->width, 1, problem->height}));
}

bool sh_parts_steps(sh_net *net, const char *model, const sh_problem *problem, size_t least)
{
    const size_t steps = problem->height == 1 ? problem->width : problem->height;
    if (steps >= least)
        return true;
    sh_graph_failed(net->graph,
                    sh_fail(SH_INVALID, "the data's series have %zu %s, %s needs at least %zu",
                            steps, steps == 1 ? "step" : "steps", model, least));
    return false;
}

sh_value_id sh_parts_conv_norm(sh_net *net, sh_value_id x, const char *conv, const char *norm,
                               const sh_conv_options *options)
{
    sh_conv_options without_bias = *options;
    without_bias.no_bias = true;
    return sh_layer_batch_norm(net, sh_layer_conv2d(net, x, conv, &without_bias), norm);
}

size_t sh_parts_channels(const sh_net *net, sh_value_id x)
{
    return net->graph->status != SH_OK || x == SH_NO_VALUE
               ? 0
               : sh_graph_type(net->graph, x)->shape.dim[1];
}
