/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-layer perceptron: dense layers with ReLU between them; fc1, fc2, ... */
#include <stdio.h>
#include <stdlib.h>

#include "graph/layers.h"
#include "model/builtin.h"

#define MAX_LAYERS 64
#define MAX_WIDTH 1000000

/* Reads "784-128-10" into widths; *count = 0 where it is not of that form. */
static void read_widths(const char *text, size_t widths[MAX_LAYERS + 1], size_t *count)
{
    *count = 0;
    for (;;) {
        char *end;
        if (*text < '0' || *text > '9' || *count > MAX_LAYERS)
            break;
        const unsigned long width = strtoul(text, &end, 10);
        if (width == 0 || width > MAX_WIDTH)
            break;
        widths[(*count)++] = width;
        if (*end == '\0')
            return;
        if (*end != '-')
            break;
        text = end + 1;
    }
    *count = 0;
}

static sh_value_id refuse(sh_graph *graph, const char *parameters, const char *reason)
{
    return sh_graph_failed(graph, sh_fail(SH_INVALID, "'%.64s': %s", parameters, reason));
}

static sh_value_id build(sh_net *net, sh_value_id samples, const char *parameters,
                         const sh_problem *problem)
{
    size_t widths[MAX_LAYERS + 1], count = 0;
    char reason[160];
    const size_t inputs = problem->channels * problem->height * problem->width;
    if (parameters == NULL)
        return sh_graph_failed(net->graph,
                               sh_fail(SH_INVALID, "write it as mlp:%zu-128-%zu for this data",
                                       inputs, problem->classes));
    read_widths(parameters, widths, &count);
    if (count < 2)
        return refuse(net->graph, parameters,
                      "expected widths of at least two layers, such as 784-128-10");
    if (widths[0] != inputs || widths[count - 1] != problem->classes) {
        snprintf(reason, sizeof reason,
                 "the data has %zu inputs and %zu classes, so it is %zu-...-%zu", inputs,
                 problem->classes, inputs, problem->classes);
        return refuse(net->graph, parameters, reason);
    }
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
    .example_problem = {1, 28, 28, 10},
    .build = build,
};
