/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/breakdown.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "model/model.h"

#define NO_LAYER UINT32_MAX

typedef struct breakdown {
    const sh_graph *graph;
    sh_plan_layer *layers;
    size_t count, capacity;
    uint32_t *made_in; /* by value: the layer of its node, or NO_LAYER */
    size_t forward;    /* number of forward nodes */
} breakdown;

/* "layer1.0.conv1" for "layer1.0.conv1.weight". */
static void scope_of(const char *parameter, char *scope, size_t bytes)
{
    const char *dot = strrchr(parameter, '.');
    snprintf(scope, bytes, "%.*s", dot == NULL ? (int)strlen(parameter) : (int)(dot - parameter),
             parameter);
}

static sh_status find_layer(breakdown *b, const char *name, uint32_t *layer)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->layers[i].name, name) == 0) {
            *layer = (uint32_t)i;
            return SH_OK;
        }
    SH_TRY(sh_array_grow((void **)&b->layers, &b->capacity, b->count + 1, sizeof *b->layers));
    b->layers[b->count] = (sh_plan_layer){0};
    snprintf(b->layers[b->count].name, sizeof b->layers[b->count].name, "%s", name);
    *layer = (uint32_t)b->count++;
    return SH_OK;
}

static bool reads(const sh_node *node, sh_value_id value)
{
    for (uint32_t i = 0; i < node->input_count; i++)
        if (node->in[i] == value)
            return true;
    return false;
}

/* `before`: the layer of the previous node. */
static sh_status layer_of_forward(breakdown *b, const sh_node *node, uint32_t before,
                                  uint32_t *layer)
{
    const sh_graph *graph = b->graph;
    if (before != NO_LAYER && strcmp(b->layers[before].name, "loss") == 0) {
        *layer = before;
        return SH_OK;
    }
    const bool makes_loss = graph->output_count > 0 && node->out[0] == graph->outputs[0];
    if (makes_loss ||
        (graph->input_count > SH_MODEL_TARGETS && reads(node, graph->inputs[SH_MODEL_TARGETS])))
        return find_layer(b, "loss", layer);
    for (uint32_t i = 0; i < node->input_count; i++) {
        char scope[sizeof b->layers->name];
        size_t p = 0;
        while (p < graph->parameter_count && graph->parameters[p].value != node->in[i])
            p++;
        if (p == graph->parameter_count)
            continue;
        scope_of(graph->parameters[p].name, scope, sizeof scope);
        return find_layer(b, scope, layer);
    }
    *layer = before;
    return before != NO_LAYER ? SH_OK : find_layer(b, "input", layer);
}

/* The layer of a backward node: of the parameter that it reads or whose gradient it makes, else of
 * the last forward value that it reads, else of the gradient that it passes on. */
static uint32_t layer_of_backward(const breakdown *b, const sh_node *node,
                                  const uint32_t *by_parameter, const bool *is_forward)
{
    const sh_graph *graph = b->graph;
    uint32_t last = NO_LAYER, passed = NO_LAYER;
    for (size_t p = 0; p < graph->parameter_count; p++) {
        bool belongs = reads(node, graph->parameters[p].value);
        for (uint32_t i = 0; i < node->output_count; i++)
            belongs = belongs || (node->out[i] != SH_NO_VALUE &&
                                  graph->parameters[p].gradient == node->out[i]);
        if (belongs && by_parameter[p] != NO_LAYER)
            return by_parameter[p];
    }
    for (uint32_t i = 0; i < node->input_count; i++) {
        const sh_value_id value = node->in[i];
        if (value == SH_NO_VALUE || b->made_in[value] == NO_LAYER)
            continue;
        uint32_t *at = is_forward[value] ? &last : &passed;
        if (*at == NO_LAYER || *at < b->made_in[value])
            *at = b->made_in[value];
    }
    return last != NO_LAYER ? last : passed != NO_LAYER ? passed : 0;
}

static sh_status assign(breakdown *b, uint32_t *by_parameter, bool *is_forward,
                        const double *seconds)
{
    const sh_graph *graph = b->graph;
    uint32_t layer = NO_LAYER;
    for (size_t i = 0; i < graph->node_count; i++) {
        const sh_node *node = &graph->nodes[i];
        const bool forward = i < b->forward;
        if (forward)
            SH_TRY(layer_of_forward(b, node, layer, &layer));
        else
            layer = layer_of_backward(b, node, by_parameter, is_forward);
        for (uint32_t j = 0; j < node->output_count; j++)
            if (node->out[j] != SH_NO_VALUE) {
                b->made_in[node->out[j]] = layer;
                is_forward[node->out[j]] = forward;
            }
        assert(b->layers != NULL && layer < b->count);
        if (seconds != NULL)
            b->layers[layer].seconds += seconds[i];
        if (!forward) {
            b->layers[layer].backward_flops += sh_graph_cost(graph, node).flops;
            continue;
        }
        sh_plan_layer *of = &b->layers[layer];
        of->forward_flops += sh_graph_cost(graph, node).flops;
        for (uint32_t j = 0; j < node->output_count; j++)
            if (node->out[j] != SH_NO_VALUE && node->op != SH_OP_reshape)
                of->activation_bytes += sh_type_bytes(sh_graph_type(graph, node->out[j]));
        const sh_shape *first = &sh_graph_type(graph, node->out[0])->shape;
        if (first->rank >= 2) { /* "16x32x32" for "8x16x32x32" */
            const sh_shape one = sh_shape_of(first->rank - 1, first->dim + 1);
            char text[SH_SHAPE_TEXT];
            snprintf(of->shape, sizeof of->shape, "%s", sh_shape_print(&one, text));
        } else if (of->shape[0] == '\0') {
            snprintf(of->shape, sizeof of->shape, "1");
        }
        for (size_t p = 0; p < graph->parameter_count; p++)
            if (by_parameter[p] == NO_LAYER && reads(node, graph->parameters[p].value))
                by_parameter[p] = layer;
    }
    return SH_OK;
}

sh_status sh_breakdown(sh_plan_layer **layers, size_t *count, const sh_graph *graph,
                       const double *seconds)
{
    breakdown b = {.graph = graph};
    uint32_t *by_parameter = calloc(graph->parameter_count + 1, sizeof *by_parameter);
    bool *is_forward = calloc(graph->value_count + 1, sizeof *is_forward);
    sh_status status;
    /* Forward nodes end with the last output's node; differentiation appends after it. */
    for (size_t i = 0; i < graph->node_count; i++)
        for (uint32_t j = 0; j < graph->nodes[i].output_count; j++)
            for (size_t k = 0; k < graph->output_count; k++)
                if (graph->outputs[k] == graph->nodes[i].out[j])
                    b.forward = i + 1;
    b.made_in = calloc(graph->value_count + 1, sizeof *b.made_in);
    if (by_parameter == NULL || is_forward == NULL || b.made_in == NULL)
        SH_TRY_DONE(
            sh_fail_memory(graph->value_count * sizeof *b.made_in, "the layers of a model"));
    for (size_t i = 0; i < graph->parameter_count; i++)
        by_parameter[i] = NO_LAYER;
    for (size_t i = 0; i < graph->value_count; i++)
        b.made_in[i] = NO_LAYER;
    SH_TRY_DONE(assign(&b, by_parameter, is_forward, seconds));

    /* No node reads statistics as parameters; they belong to their scope. */
    for (size_t p = 0; p < graph->parameter_count; p++) {
        char scope[sizeof b.layers->name];
        uint32_t layer;
        scope_of(graph->parameters[p].name, scope, sizeof scope);
        SH_TRY_DONE(find_layer(&b, scope, &layer));
        if (!graph->parameters[p].statistic)
            b.layers[layer].parameters +=
                sh_shape_count(&sh_graph_type(graph, graph->parameters[p].value)->shape);
    }
    for (size_t i = 0; seconds == NULL && i < b.count; i++)
        b.layers[i].seconds = (double)NAN;
    *layers = b.layers;
    *count = b.count;
    b.layers = NULL;
    status = SH_OK;
done:
    free(by_parameter);
    free(is_forward);
    free(b.made_in);
    free(b.layers);
    return status;
}
