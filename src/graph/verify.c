/* SPDX-License-Identifier: Apache-2.0 */
/* Debug builds check the invariants after every pass. */
#include <stdlib.h>

#include "graph/graph.h"

static sh_status verify_node(const sh_graph *graph, size_t index, bool *defined)
{
    const sh_node *node = &graph->nodes[index];
    sh_type in[SH_MAX_INPUTS], out[SH_MAX_OUTPUTS];
    if ((unsigned)node->op >= SH_OP_COUNT)
        return sh_fail(SH_INTERNAL, "node %zu: operator %d is unknown", index, (int)node->op);
    const sh_op_entry *about = sh_op_about(node->op);
    const uint32_t outputs = sh_op_outputs(node->op, &node->attributes);
    if (node->input_count > about->input_count ||
        node->input_count + about->def->optional < about->input_count ||
        node->output_count != outputs)
        return sh_fail(SH_INTERNAL, "node %zu (%s): %u inputs and %u outputs, expected %u and %u",
                       index, about->name, node->input_count, node->output_count,
                       about->input_count, outputs);
    for (uint32_t i = 0; i < node->input_count; i++) {
        if (node->in[i] >= graph->value_count || !defined[node->in[i]])
            return sh_fail(SH_INTERNAL, "node %zu (%s): input %u is used before it is made", index,
                           about->name, i);
        in[i] = graph->values[node->in[i]].type;
    }
    SH_TRY(sh_fail_in(sh_op_infer(node->op, &node->attributes, in, node->input_count, out),
                      "node %zu", index));
    for (uint32_t i = 0; i < node->output_count; i++) {
        if (node->out[i] >= graph->value_count || defined[node->out[i]])
            return sh_fail(SH_INTERNAL, "node %zu (%s): output %u is made twice", index,
                           about->name, i);
        if (!sh_type_equal(&out[i], &graph->values[node->out[i]].type))
            return sh_fail(SH_INTERNAL, "node %zu (%s): output %u has another type than inferred",
                           index, about->name, i);
        defined[node->out[i]] = true;
    }
    return SH_OK;
}

static bool is_defined(const sh_graph *graph, const bool *defined, sh_value_id value)
{
    return value < graph->value_count && defined[value];
}

sh_status sh_graph_verify(const sh_graph *graph)
{
    SH_TRY(sh_graph_status(graph));
    bool *defined = calloc(graph->value_count + 1, sizeof *defined);
    sh_status status = SH_OK;
    if (defined == NULL)
        return sh_fail_memory(graph->value_count, "verifying a graph");
    for (size_t i = 0; i < graph->input_count; i++) {
        if (graph->inputs[i] >= graph->value_count)
            SH_TRY_DONE(sh_fail(SH_INTERNAL, "input %zu is not a value", i));
        defined[graph->inputs[i]] = true;
    }
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const sh_parameter *parameter = &graph->parameters[i];
        if (parameter->value >= graph->value_count)
            SH_TRY_DONE(sh_fail(SH_INTERNAL, "parameter %s is not a value", parameter->name));
        defined[parameter->value] = true;
    }
    for (size_t i = 0; i < graph->node_count; i++)
        SH_TRY_DONE(verify_node(graph, i, defined));
    for (size_t i = 0; i < graph->output_count; i++)
        if (!is_defined(graph, defined, graph->outputs[i]))
            SH_TRY_DONE(sh_fail(SH_INTERNAL, "output %zu is never made", i));
    for (size_t i = 0; i < graph->parameter_count; i++) {
        const sh_parameter *parameter = &graph->parameters[i];
        if (parameter->gradient == SH_NO_VALUE)
            continue;
        if (!is_defined(graph, defined, parameter->gradient) ||
            !sh_type_equal(sh_graph_type(graph, parameter->value),
                           sh_graph_type(graph, parameter->gradient)))
            SH_TRY_DONE(
                sh_fail(SH_INTERNAL, "the gradient of %s is not of its type", parameter->name));
    }
done:
    free(defined);
    return status;
}
