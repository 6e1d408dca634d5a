/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/layer_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backend/profiler.h"

static bool has(const sh_value_id *values, uint32_t count, sh_value_id value)
{
    for (uint32_t i = 0; i < count; i++)
        if (values[i] == value)
            return true;
    return false;
}

/* The part that the node computes of the layer with these weights; SH_BENCH_PARTS: none. */
static uint32_t part_of(const sh_graph *graph, uint32_t node, const sh_parameter *weights)
{
    const sh_node *n = &graph->nodes[node];
    if (weights->gradient != SH_NO_VALUE && has(n->out, n->output_count, weights->gradient))
        return SH_BENCH_WEIGHTS;
    if (!has(n->in, n->input_count, weights->value))
        return SH_BENCH_PARTS;
    return node < graph->forward_count ? SH_BENCH_FORWARD : SH_BENCH_INPUT;
}

/* "layer1.0.conv1" for "layer1.0.conv1.weight", and its shapes. */
static void describe(sh_bench_layer *layer, const sh_graph *graph, const sh_node *node,
                     const sh_parameter *weights)
{
    char text[SH_SHAPE_TEXT];
    const char *dot = strrchr(weights->name, '.');
    const sh_shape *result = &sh_graph_type(graph, node->out[0])->shape;
    const sh_shape sample = sh_shape_of(result->rank - 1, result->dim + 1);
    snprintf(layer->name, sizeof layer->name, "%.*s",
             dot == NULL ? (int)strlen(weights->name) : (int)(dot - weights->name), weights->name);
    snprintf(layer->weights, sizeof layer->weights, "%s",
             sh_shape_print(&sh_graph_type(graph, weights->value)->shape, text));
    snprintf(layer->result, sizeof layer->result, "%s", sh_shape_print(&sample, text));
}

sh_status sh_layer_parts(sh_bench_layer **layers, size_t *count, sh_layer_place *places,
                         const sh_program *program, const sh_graph *graph)
{
    const size_t length = sh_program_length(program);
    sh_bench_layer *fresh = calloc(graph->parameter_count + 1, sizeof *fresh);
    size_t found = 0;
    if (fresh == NULL)
        return sh_fail_memory(graph->parameter_count * sizeof *fresh, "the layers of a model");
    for (size_t i = 0; i < length; i++)
        places[i] = (sh_layer_place){.layer = SH_NO_LAYER};
    for (size_t p = 0; p < graph->parameter_count; p++) {
        const sh_parameter *weights = &graph->parameters[p];
        sh_bench_layer *layer = &fresh[found];
        if (sh_graph_type(graph, weights->value)->shape.rank < 2)
            continue;
        for (size_t i = 0; i < length; i++) {
            const sh_work work = sh_program_work(program, i);
            const uint32_t part =
                work.kind == SH_WORK_NODE ? part_of(graph, work.node, weights) : SH_BENCH_PARTS;
            if (part == SH_BENCH_PARTS)
                continue;
            if (part == SH_BENCH_FORWARD)
                describe(layer, graph, &graph->nodes[work.node], weights);
            places[i] = (sh_layer_place){(uint32_t)found, part};
            layer->parts[part].flops += sh_work_cost(&work, graph).flops;
        }
        found += layer->name[0] != '\0';
    }
    *layers = fresh;
    *count = found;
    return SH_OK;
}
