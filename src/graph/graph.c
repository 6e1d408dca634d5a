/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/graph.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

sh_status sh_graph_new(sh_graph **graph)
{
    sh_graph *fresh = calloc(1, sizeof *fresh);
    if (fresh == NULL)
        return sh_fail_memory(sizeof *fresh, "a graph");
    sh_arena_init(&fresh->names);
    *graph = fresh;
    return SH_OK;
}

void sh_graph_free(sh_graph *graph)
{
    if (graph == NULL)
        return;
    free(graph->values);
    free(graph->nodes);
    free(graph->parameters);
    free(graph->inputs);
    free(graph->outputs);
    sh_arena_release(&graph->names);
    free(graph);
}

sh_status sh_graph_status(const sh_graph *graph)
{
    return graph->status == SH_OK ? SH_OK : sh_fail(graph->status, "%s", graph->message);
}

sh_status sh_graph_take_failure(sh_graph *graph)
{
    const sh_status status = sh_graph_status(graph);
    graph->status = SH_OK;
    return status;
}

sh_value_id sh_graph_failed(sh_graph *graph, sh_status status)
{
    if (graph->status == SH_OK && status != SH_OK) {
        graph->status = status;
        memcpy(graph->message, sh_message(), strlen(sh_message()) + 1);
    }
    return SH_NO_VALUE;
}

static sh_value_id add_value(sh_graph *graph, sh_type type, bool wants_gradient)
{
    const sh_status status = sh_array_grow((void **)&graph->values, &graph->value_capacity,
                                           graph->value_count + 1, sizeof *graph->values);
    if (status != SH_OK)
        return sh_graph_failed(graph, status);
    graph->values[graph->value_count] = (sh_value){type, wants_gradient};
    return (sh_value_id)graph->value_count++;
}

static void append_id(sh_graph *graph, sh_value_id **list, size_t *count, size_t *capacity,
                      sh_value_id value)
{
    const sh_status status = sh_array_grow((void **)list, capacity, *count + 1, sizeof **list);
    if (status != SH_OK)
        sh_graph_failed(graph, status);
    else
        (*list)[(*count)++] = value;
}

sh_value_id sh_graph_input(sh_graph *graph, sh_type type)
{
    const sh_status status = sh_shape_check(&type.shape);
    if (graph->status != SH_OK || status != SH_OK)
        return sh_graph_failed(graph, status);
    const sh_value_id value = add_value(graph, type, false);
    append_id(graph, &graph->inputs, &graph->input_count, &graph->input_capacity, value);
    return value;
}

sh_value_id sh_graph_parameter(sh_graph *graph, const char *name, sh_type type, sh_role role,
                               sh_initial initial)
{
    sh_status status = sh_shape_check(&type.shape);
    if (graph->status != SH_OK || status != SH_OK)
        return sh_graph_failed(graph, status);
    const char *copy = sh_arena_text(&graph->names, name);
    if (copy == NULL)
        return sh_graph_failed(graph, sh_fail_memory(strlen(name), "a parameter's name"));
    if (initial.kind == SH_INITIAL_VALUES) {
        const size_t count = sh_shape_count(&type.shape);
        float *values = sh_arena_take(&graph->names, count, sizeof *values);
        if (values == NULL)
            return sh_graph_failed(graph, sh_fail_memory(count * sizeof *values, "a constant"));
        memcpy(values, initial.values, count * sizeof *values);
        initial.values = values;
    }
    status = sh_array_grow((void **)&graph->parameters, &graph->parameter_capacity,
                           graph->parameter_count + 1, sizeof *graph->parameters);
    if (status != SH_OK)
        return sh_graph_failed(graph, status);
    const sh_value_id value = add_value(graph, type, role == SH_ROLE_TRAINED);
    graph->parameters[graph->parameter_count++] = (sh_parameter){
        .name = copy,
        .value = value,
        .gradient = SH_NO_VALUE,
        .role = role,
        .statistic = role == SH_ROLE_STATISTIC,
        .momentum = SH_MOMENTUM,
        .initial = initial,
    };
    return value;
}

void sh_graph_freeze(sh_graph *graph, size_t index)
{
    if (graph->status != SH_OK)
        return;
    assert(index < graph->parameter_count);
    sh_parameter *parameter = &graph->parameters[index];
    parameter->role = SH_ROLE_FROZEN;
    graph->values[parameter->value].wants_gradient = false;
}

static sh_parameter *parameter_of(const sh_graph *graph, sh_value_id value)
{
    for (size_t i = 0; i < graph->parameter_count; i++)
        if (graph->parameters[i].value == value)
            return &graph->parameters[i];
    return NULL;
}

void sh_graph_set_momentum(sh_graph *graph, sh_value_id parameter, float momentum)
{
    sh_parameter *of = graph->status == SH_OK ? parameter_of(graph, parameter) : NULL;
    if (!(momentum >= 0 && momentum <= 1))
        sh_graph_failed(graph, sh_fail(SH_INVALID,
                                       "the momentum %g of a moving average is not "
                                       "in [0, 1]",
                                       (double)momentum));
    else if (of != NULL)
        of->momentum = momentum;
}

void sh_graph_measure(sh_graph *graph, sh_value_id parameter, sh_value_id measured)
{
    sh_parameter *of = graph->status == SH_OK ? parameter_of(graph, parameter) : NULL;
    assert(of == NULL || of->role == SH_ROLE_STATISTIC);
    if (of != NULL)
        of->gradient = measured;
}

sh_value_id sh_graph_add(sh_graph *graph, sh_op op, const sh_attributes *attributes,
                         const sh_value_id *in, sh_value_id *out)
{
    const sh_op_entry *about = sh_op_about(op);
    sh_node node = {.op = op, .input_count = about->input_count};
    sh_type in_types[SH_MAX_INPUTS], out_types[SH_MAX_OUTPUTS];
    sh_value_id unwanted[SH_MAX_OUTPUTS];
    bool wants_gradient = false;

    out = out == NULL ? unwanted : out;
    for (uint32_t i = 0; i < about->output_count; i++)
        out[i] = SH_NO_VALUE;
    if (graph->status != SH_OK)
        return SH_NO_VALUE;
    if (attributes != NULL)
        node.attributes = *attributes;
    node.output_count = sh_op_outputs(op, &node.attributes);
    while (node.input_count > about->input_count - about->def->optional &&
           in[node.input_count - 1] == SH_NO_VALUE)
        node.input_count--;
    for (uint32_t i = 0; i < node.input_count; i++) {
        if (in[i] >= graph->value_count)
            return sh_graph_failed(graph,
                                   sh_fail(SH_INVALID, "%s: an input is missing", about->name));
        node.in[i] = in[i];
        in_types[i] = graph->values[in[i]].type;
        wants_gradient |= graph->values[in[i]].wants_gradient;
    }
    sh_status status = sh_op_infer(op, &node.attributes, in_types, node.input_count, out_types);
    if (status == SH_OK)
        status = sh_array_grow((void **)&graph->nodes, &graph->node_capacity, graph->node_count + 1,
                               sizeof *graph->nodes);
    if (status != SH_OK)
        return sh_graph_failed(graph, status);

    for (uint32_t i = 0; i < node.output_count; i++)
        out[i] = node.out[i] =
            add_value(graph, out_types[i], wants_gradient && about->def->grad != NULL);
    graph->nodes[graph->node_count++] = node;
    return graph->status == SH_OK ? out[0] : SH_NO_VALUE;
}

void sh_graph_output(sh_graph *graph, sh_value_id value)
{
    if (graph->status != SH_OK)
        return;
    assert(value < graph->value_count);
    append_id(graph, &graph->outputs, &graph->output_count, &graph->output_capacity, value);
}

sh_cost sh_graph_cost(const sh_graph *graph, const sh_node *node)
{
    const sh_op_entry *about = sh_op_about(node->op);
    sh_type in[SH_MAX_INPUTS], out[SH_MAX_OUTPUTS];
    sh_cost cost = {0};
    for (uint32_t i = 0; i < node->input_count; i++) {
        in[i] = *sh_graph_type(graph, node->in[i]);
        cost.bytes += (double)sh_type_bytes(&in[i]);
    }
    for (uint32_t i = 0; i < node->output_count; i++) {
        out[i] = *sh_graph_type(graph, node->out[i]);
        cost.bytes += (double)sh_type_bytes(&out[i]);
    }
    const sh_op_types types = {about->name, &node->attributes, in, node->input_count, out};
    cost.flops = about->def->flops != NULL
                     ? about->def->flops(&types)
                     : about->def->each_flops * (double)sh_shape_count(&in[0].shape);
    return cost;
}
