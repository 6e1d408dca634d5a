/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Autoencoder of dense layers (after Hinton, Salakhutdinov: "Reducing the dimensionality of data
 * with neural networks", 2006). The encoder's layers narrow to a code; the decoder has their widths
 * in reverse order. The code and the last layer have no ReLU, so that they take any value.
 */
#include <stdio.h>

#include "model/parts.h"

/* The widths of 256-64-16 that are smaller than a sample. If none is, half of a sample's size. */
static size_t usual_widths(size_t elements, size_t widths[SH_PARTS_WIDTHS])
{
    static const size_t usual[] = {256, 64, 16};
    size_t count = 0;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (usual[i] < elements)
            widths[count++] = usual[i];
    if (count == 0)
        widths[count++] = elements > 1 ? elements / 2 : 1;
    return count;
}

static sh_value_id dense(sh_net *net, sh_value_id x, size_t number, size_t width, bool is_last)
{
    char name[32];
    snprintf(name, sizeof name, "fc%zu", number);
    x = sh_layer_linear(net, x, name, width);
    return is_last ? x : sh_layer_relu(net, x);
}

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    size_t widths[SH_PARTS_WIDTHS];
    const size_t elements = problem->channels * problem->height * problem->width;
    const size_t count =
        parameters == NULL ? usual_widths(elements, widths) : sh_parts_widths(parameters, widths);
    if (count == 0)
        return sh_graph_failed(net->graph, sh_fail(SH_INVALID,
                                                   "'%.64s': expected the widths of the encoder's "
                                                   "layers, such as 256-64-16",
                                                   parameters));
    if (problem->target != SH_TARGET_SAMPLE)
        return sh_graph_failed(
            net->graph,
            sh_fail(
                SH_INVALID,
                "autoencoder reconstructs its samples, but the data's task is %s; use --task %s",
                sh_target_name(problem->target), sh_target_name(SH_TARGET_SAMPLE)));
    sh_value_id x = sh_layer_flatten(net, samples);
    sh_net_enter(net, "encoder");
    for (size_t i = 0; i < count; i++)
        x = dense(net, x, i + 1, widths[i], i + 1 == count);
    sh_net_leave(net);
    sh_net_enter(net, "decoder");
    for (size_t i = 1; i < count; i++)
        x = dense(net, x, i, widths[count - 1 - i], false);
    x = dense(net, x, count, elements, true);
    sh_net_leave(net);
    return x;
}

const sh_model_def sh_model_autoencoder = {
    .name = "autoencoder",
    .usage = "autoencoder[:HIDDEN-...-CODE]",
    .summary = "dense layers to a code and back, to find anomalies",
    .example = "autoencoder",
    .example_problem = {1, 28, 28, 784, SH_TARGET_SAMPLE},
    .build = build,
};
