/* SPDX-License-Identifier: Apache-2.0 */
#include "model/parts.h"

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
    sh_graph_failed(net->graph,
                    sh_fail(SH_INVALID,
                            "the data's images are %zux%zu, %s needs at least %zux%zu; --resize "
                            "%zu would make them larger",
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
