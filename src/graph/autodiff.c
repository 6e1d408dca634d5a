/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reverse-mode differentiation that emits nodes.
 *
 * The nodes are visited from last to first. `gradient[v]` is the value that holds the gradient of v
 * accumulated so far; an `add` node sums a second contribution. At the node that computes v, all
 * uses of v have been visited, so gradient[v] is complete. Nothing is emitted for values that do
 * not depend on a parameter.
 */
#include <stdlib.h>

#include "graph/graph.h"

void sh_graph_grad_of_first(const sh_op_backward *b, sh_op op, sh_value_id kept)
{
    sh_attributes attributes = b->node->attributes;
    attributes.shape = sh_graph_type(b->graph, b->node->in[0])->shape;
    b->din[0] = sh_graph_add(b->graph, op, &attributes, (sh_value_id[]){b->dout[0], kept}, NULL);
}

static void walk_node(sh_graph *graph, sh_node node, const bool *wanted_value,
                      sh_value_id *gradient)
{
    const sh_op_def *def = sh_op_about(node.op)->def;
    sh_value_id dout[SH_MAX_OUTPUTS], din[SH_MAX_INPUTS];
    bool wanted[SH_MAX_INPUTS], any_out = false, any_wanted = false;

    for (uint32_t i = 0; i < node.output_count; i++) {
        dout[i] = gradient[node.out[i]];
        any_out |= dout[i] != SH_NO_VALUE;
    }
    for (uint32_t i = 0; i < node.input_count; i++) {
        din[i] = SH_NO_VALUE;
        wanted[i] = wanted_value[node.in[i]];
        any_wanted |= wanted[i];
    }
    if (!any_out || !any_wanted || def->grad == NULL)
        return;
    def->grad(&(sh_op_backward){graph, &node, dout, wanted, din});
    for (uint32_t i = 0; i < node.input_count; i++) {
        sh_value_id *sum = &gradient[node.in[i]];
        if (!wanted[i] || din[i] == SH_NO_VALUE)
            continue;
        *sum = *sum == SH_NO_VALUE
                   ? din[i]
                   : sh_graph_add(graph, SH_OP_add, NULL, (sh_value_id[]){*sum, din[i]}, NULL);
    }
}

/* Returns an owned list with the gradient of each value that existed before, or NULL on failure.
 * Gradients are computed for values that depend on a parameter or on `target`. */
static sh_value_id *walk(sh_graph *graph, sh_value_id value, sh_value_id seed, sh_value_id target)
{
    const size_t values = graph->value_count, nodes = graph->node_count;
    sh_value_id *gradient = malloc(values * sizeof *gradient);
    bool *wanted = malloc(values * sizeof *wanted);
    if (gradient == NULL || wanted == NULL) {
        free(gradient);
        free(wanted);
        sh_graph_failed(graph, sh_fail_memory(values, "the gradients of a graph"));
        return NULL;
    }
    for (size_t i = 0; i < values; i++) {
        gradient[i] = SH_NO_VALUE;
        wanted[i] = graph->values[i].wants_gradient || i == target;
    }
    for (size_t i = 0; i < nodes; i++) /* values that depend on the target */
        for (uint32_t j = 0; j < graph->nodes[i].input_count; j++)
            if (wanted[graph->nodes[i].in[j]] && sh_op_about(graph->nodes[i].op)->def->grad != NULL)
                for (uint32_t k = 0; k < graph->nodes[i].output_count; k++)
                    wanted[graph->nodes[i].out[k]] = true;

    gradient[value] = seed;
    for (size_t i = nodes; i-- > 0 && graph->status == SH_OK;)
        walk_node(graph, graph->nodes[i], wanted, gradient);
    free(wanted);
    return gradient;
}

static bool seed_fits(sh_graph *graph, sh_value_id value, sh_value_id seed)
{
    if (graph->status != SH_OK)
        return false;
    const sh_status status =
        sh_op_expect_same("differentiate", "the value", sh_graph_type(graph, value), "its seed",
                          sh_graph_type(graph, seed));
    sh_graph_failed(graph, status);
    return status == SH_OK;
}

void sh_graph_differentiate(sh_graph *graph, sh_value_id value, sh_value_id seed)
{
    if (!seed_fits(graph, value, seed))
        return;
    graph->forward_count = graph->node_count;
    sh_value_id *gradient = walk(graph, value, seed, SH_NO_VALUE);
    if (gradient == NULL)
        return;
    for (size_t i = 0; i < graph->parameter_count; i++) {
        sh_parameter *parameter = &graph->parameters[i];
        if (parameter->role != SH_ROLE_TRAINED)
            continue;
        parameter->gradient = gradient[parameter->value];
        if (parameter->gradient == SH_NO_VALUE)
            sh_graph_failed(graph, sh_fail(SH_INVALID, "the loss does not depend on parameter %s",
                                           parameter->name));
    }
    free(gradient);
}

sh_value_id sh_graph_gradient_of(sh_graph *graph, sh_value_id value, sh_value_id seed,
                                 sh_value_id with_respect_to)
{
    if (!seed_fits(graph, value, seed))
        return SH_NO_VALUE;
    sh_value_id *gradient = walk(graph, value, seed, with_respect_to);
    if (gradient == NULL)
        return SH_NO_VALUE;
    const sh_value_id found = gradient[with_respect_to];
    free(gradient);
    return found;
}
