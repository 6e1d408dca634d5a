/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Multi-layer perceptron: dense layers fc1, fc2, ... with ReLU between them. The data determine the
 * numbers of inputs and outputs. A spec such as mlp:784-128-10 repeats them, and they must match.
 * mlp:h128 states only the hidden layers. Plain mlp has one hidden layer, of 64 units for less than
 * 256 inputs and 128 otherwise.
 */
#include <stdio.h>

#include "model/parts.h"

#define MANY_INPUTS 256

/* Returns the number of widths; 0 on failure. */
static size_t find_widths(sh_net *net, const char *text, const sh_problem *problem,
                          size_t widths[SH_PARTS_WIDTHS + 2])
{
    const size_t inputs = problem->channels * problem->height * problem->width;
    const bool is_class = problem->target == SH_TARGET_CLASS;
    size_t count = 1;
    if (text == NULL || text[0] == 'h') { /* only the hidden layers */
        widths[0] = inputs;
        widths[1] = inputs < MANY_INPUTS ? 64 : 128;
        if (text != NULL)
            count = sh_parts_widths(text + 1, widths + 1);
        if (count == 0)
            sh_graph_failed(net->graph, sh_fail(SH_INVALID,
                                                "'%.64s': expected the widths of hidden layers, "
                                                "such as h128-64",
                                                text));
        widths[count + 1] = problem->outputs;
        return count == 0 ? 0 : count + 2;
    }
    count = sh_parts_widths(text, widths);
    if (count < 2)
        sh_graph_failed(net->graph, sh_fail(SH_INVALID,
                                            "'%.64s': expected widths of at least two layers, such "
                                            "as 784-128-10, or only of hidden ones, such as h128",
                                            text));
    else if (widths[0] != inputs || widths[count - 1] != problem->outputs)
        sh_graph_failed(net->graph,
                        sh_fail(SH_INVALID,
                                "'%.64s': the data has %zu inputs and %zu %s, so use %zu-...-%zu; "
                                "or only hidden layers, as in mlp:h128",
                                text, inputs, problem->outputs, is_class ? "classes" : "outputs",
                                inputs, problem->outputs));
    else
        return count;
    return 0;
}

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    size_t widths[SH_PARTS_WIDTHS + 2] = {0};
    const size_t count = find_widths(net, parameters, problem, widths);
    sh_value_id x = sh_layer_flatten(net, samples);
    for (size_t i = 1; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "fc%zu", i);
        x = sh_layer_linear(net, x, name, widths[i]);
        if (i + 1 < count)
            x = sh_layer_relu(net, x);
    }
    return count == 0 ? SH_NO_VALUE : x;
}

const sh_model_def sh_model_mlp = {
    .name = "mlp",
    .usage = "mlp[:hHIDDEN-...|:IN-HIDDEN-...-OUT]",
    .summary = "dense layers with ReLU between them",
    .example = "mlp:784-128-64-10",
    .example_problem = {1, 28, 28, 10, SH_TARGET_CLASS},
    .build = build,
};
