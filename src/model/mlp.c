/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-layer perceptron: dense layers with ReLU between them; fc1, fc2, ... */
#include <stdio.h>
#include <stdlib.h>

#include "graph/layers.h"
#include "model/model.h"

#define MAX_LAYERS 64
#define MAX_WIDTH 1000000

/* Reads "784-128-10" into widths. Returns how many there are; 0 where the text has another form. */
static size_t read_widths(const char *text, size_t widths[MAX_LAYERS + 1])
{
    for (size_t count = 0; count <= MAX_LAYERS && *text >= '0' && *text <= '9';) {
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

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    size_t widths[MAX_LAYERS + 1];
    const size_t inputs = problem->channels * problem->height * problem->width;
    if (parameters == NULL)
        return sh_graph_failed(net->graph,
                               sh_fail(SH_INVALID, "write it as mlp:%zu-128-%zu for this data",
                                       inputs, problem->outputs));
    const size_t count = read_widths(parameters, widths);
    if (count < 2)
        return sh_graph_failed(
            net->graph,
            sh_fail(SH_INVALID,
                    "'%.64s': expected widths of at least two layers, such as 784-128-10",
                    parameters));
    if (widths[0] != inputs || widths[count - 1] != problem->outputs)
        return sh_graph_failed(
            net->graph,
            sh_fail(SH_INVALID,
                    "'%.64s': the data has %zu inputs and %zu classes, so it is %zu-...-%zu",
                    parameters, inputs, problem->outputs, inputs, problem->outputs));
    sh_value_id x = sh_layer_flatten(net, samples);
    for (size_t i = 1; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "fc%zu", i);
        x = sh_layer_linear(net, x, name, widths[i]);
        if (i + 1 < count)
            x = sh_layer_relu(net, x);
    }
    return x;
}

const sh_model_def sh_model_mlp = {
    .name = "mlp",
    .usage = "mlp:INPUTS-HIDDEN-...-CLASSES",
    .summary = "dense layers with ReLU between them",
    .example = "mlp:784-128-64-10",
    .example_problem = {1, 28, 28, 10, SH_TARGET_CLASS},
    .build = build,
};
