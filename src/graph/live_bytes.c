/* SPDX-License-Identifier: Apache-2.0 */
#include "graph/live_bytes.h"

#include <stdlib.h>

#define FOREVER SIZE_MAX

/* Several values may use the same place at different times. */
typedef struct place {
    sh_value_id of; /* its owner: this value or an earlier one */
    size_t last;    /* if owner: last node that uses the place, counted from 1 */
} place;

static sh_value_id place_of(const place *places, sh_value_id value)
{
    while (places[value].of != value)
        value = places[value].of;
    return value;
}

/* A reshaped value shares the place of its input. */
static void find_last_reads(const sh_graph *graph, place *places)
{
    for (sh_value_id v = 0; v < graph->value_count; v++)
        places[v] = (place){.of = v};
    for (size_t i = 0; i < graph->node_count; i++)
        if (graph->nodes[i].op == SH_OP_reshape)
            places[graph->nodes[i].out[0]].of = graph->nodes[i].in[0];
    for (size_t i = 0; i < graph->node_count; i++) {
        const sh_node *node = &graph->nodes[i];
        for (uint32_t j = 0; j < node->output_count; j++)
            places[place_of(places, node->out[j])].last = i + 1;
        for (uint32_t j = 0; j < node->input_count; j++)
            places[place_of(places, node->in[j])].last = i + 1;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        places[place_of(places, graph->outputs[i])].last = FOREVER;
    for (size_t i = 0; i < graph->parameter_count; i++)
        places[graph->parameters[i].value].last = FOREVER;
}

static size_t bytes_of(const sh_graph *graph, sh_value_id value)
{
    return sh_align_up(sh_type_bytes(&graph->values[value].type));
}

/* The first output overwrites an input that is read last here. False if none allows it. */
static bool take_place(const sh_graph *graph, place *places, size_t index)
{
    const sh_node *node = &graph->nodes[index];
    const uint32_t over = sh_op_about(node->op)->def->over;
    for (uint32_t j = 0; j < node->input_count; j++) {
        const sh_value_id in = place_of(places, node->in[j]);
        if ((over & SH_OVER(j)) == 0 || places[in].last != index + 1 ||
            bytes_of(graph, in) < bytes_of(graph, node->out[0]))
            continue;
        places[in].last = places[node->out[0]].last;
        places[node->out[0]].of = in;
        return true;
    }
    return false;
}

sh_status sh_graph_live_bytes(size_t *bytes, const sh_graph *graph)
{
    place *places = calloc(graph->value_count + 1, sizeof *places);
    if (places == NULL)
        return sh_fail_memory(graph->value_count * sizeof *places, "counting a graph's memory");
    find_last_reads(graph, places);
    size_t live = 0, most = 0;
    for (size_t i = 0; i < graph->input_count; i++)
        live += bytes_of(graph, graph->inputs[i]);
    for (size_t i = 0; i < graph->node_count; i++) {
        const sh_node *node = &graph->nodes[i];
        const bool renames = node->op == SH_OP_reshape || take_place(graph, places, i);
        for (uint32_t j = renames; j < node->output_count; j++)
            live += bytes_of(graph, node->out[j]);
        if (live > most)
            most = live;
        for (uint32_t j = 0; j < node->input_count + node->output_count; j++) {
            const sh_value_id value = place_of(
                places, j < node->input_count ? node->in[j] : node->out[j - node->input_count]);
            if (places[value].last != i + 1)
                continue;
            live -= bytes_of(graph, value);
            places[value].last = 0; /* freed: the node may name it again */
        }
    }
    free(places);
    *bytes = most;
    return SH_OK;
}
