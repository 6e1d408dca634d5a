/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass from the first node to the last. A node that can be fused with the node that produces
 * its input is rewritten in place, and the producer is removed. The node still follows the
 * producers of all its inputs, so the order stays valid. A rewritten node can be fused again:
 * batch_norm, add and relu become one node in the place of the relu.
 *
 * Results are bit-identical because the fused operators round at the same points as the single
 * ones: x * scale + shift is rounded before the residual is added. A sum of two is commutative.
 */
#include "graph/fuse.h"

#include <stdlib.h>

#define NOBODY UINT32_MAX

/* Graph outputs and parameters' gradients count as readers. */
typedef struct origin {
    uint32_t maker; /* index of the node; NOBODY: an input or parameter */
    uint32_t readers;
} origin;

typedef struct fusion {
    sh_graph *graph;
    origin *origins; /* by value */
    bool *dead;      /* by node: fused into another one */
} fusion;

static void find_origins(const sh_graph *graph, origin *origins)
{
    for (size_t i = 0; i < graph->value_count; i++)
        origins[i] = (origin){.maker = NOBODY};
    for (size_t i = 0; i < graph->node_count; i++) {
        const sh_node *node = &graph->nodes[i];
        for (uint32_t j = 0; j < node->input_count; j++)
            origins[node->in[j]].readers++;
        for (uint32_t j = 0; j < node->output_count; j++)
            origins[node->out[j]].maker = (uint32_t)i;
    }
    for (size_t i = 0; i < graph->output_count; i++)
        origins[graph->outputs[i]].readers++;
    for (size_t i = 0; i < graph->parameter_count; i++)
        if (graph->parameters[i].gradient != SH_NO_VALUE)
            origins[graph->parameters[i].gradient].readers++;
}

/* NULL unless the operator is `op` and the value has a single reader. */
static sh_node *maker_for_one(const fusion *f, sh_value_id value, sh_op op)
{
    const origin *from = &f->origins[value];
    if (from->maker == NOBODY || from->readers != 1)
        return NULL;
    sh_node *maker = &f->graph->nodes[from->maker];
    return maker->op == op ? maker : NULL;
}

/* relu(batch_norm(x)) */
static void take_normalisation(fusion *f, sh_node *node, sh_activation activation)
{
    const sh_node *norm = maker_for_one(f, node->in[0], SH_OP_batch_norm);
    if (norm == NULL || norm->attributes.activation != SH_ACTIVATION_NONE)
        return;
    const sh_value_id out = node->out[0];
    *node = *norm;
    node->attributes.activation = activation;
    node->out[0] = out;
    f->dead[norm - f->graph->nodes] = true;
}

/* NULL unless a residual can be added. */
static const sh_node *bare_normalisation(const fusion *f, sh_value_id value)
{
    const sh_node *norm = maker_for_one(f, value, SH_OP_batch_norm);
    const bool bare = norm != NULL && norm->attributes.activation == SH_ACTIVATION_NONE &&
                      norm->input_count == sh_op_about(SH_OP_batch_norm)->input_count - 1;
    return bare ? norm : NULL;
}

/* batch_norm(x) + b. If both are normalisations, the earlier one's result is the later one's
 * residual. */
static void take_summand(fusion *f, sh_node *node)
{
    const sh_node *left = bare_normalisation(f, node->in[0]);
    const sh_node *right = bare_normalisation(f, node->in[1]);
    const bool use_right = left == NULL || (right != NULL && right > left);
    const sh_node *norm = use_right ? right : left;
    if (norm == NULL)
        return;
    const sh_value_id out = node->out[0], residual = node->in[use_right ? 0 : 1];
    *node = *norm;
    node->in[node->input_count++] = residual;
    node->out[0] = out;
    f->dead[norm - f->graph->nodes] = true;
}

/* relu_grad(a + b, y) occurs if an activation's result is used twice. */
static void take_contributions(fusion *f, sh_node *node, sh_activation activation)
{
    const sh_node *sum = maker_for_one(f, node->in[0], SH_OP_add);
    if (sum == NULL)
        return;
    *node = (sh_node){
        .op = SH_OP_relu_sum_grad,
        .attributes = {.activation = activation},
        .input_count = 3,
        .output_count = 1,
        .in = {node->in[1], sum->in[0], sum->in[1]},
        .out = {node->out[0]},
    };
    f->dead[sum - f->graph->nodes] = true;
}

static void fuse_node(fusion *f, sh_node *node)
{
    if (node->op == SH_OP_relu)
        take_normalisation(f, node, SH_ACTIVATION_RELU);
    else if (node->op == SH_OP_relu6)
        take_normalisation(f, node, SH_ACTIVATION_RELU6);
    else if (node->op == SH_OP_add)
        take_summand(f, node);
    else if (node->op == SH_OP_relu_grad)
        take_contributions(f, node, SH_ACTIVATION_RELU);
    else if (node->op == SH_OP_relu6_grad)
        take_contributions(f, node, SH_ACTIVATION_RELU6);
}

void sh_graph_fuse(sh_graph *graph)
{
    if (graph->status != SH_OK || graph->node_count == 0)
        return;
    fusion f = {
        .graph = graph,
        .origins = calloc(graph->value_count, sizeof *f.origins),
        .dead = calloc(graph->node_count, sizeof *f.dead),
    };
    if (f.origins == NULL || f.dead == NULL) {
        sh_graph_failed(graph, sh_fail_memory(graph->value_count * sizeof *f.origins,
                                              "fusing the nodes of a graph"));
    } else {
        find_origins(graph, f.origins);
        for (size_t i = 0; i < graph->node_count; i++)
            fuse_node(&f, &graph->nodes[i]);
        size_t kept = 0;
        for (size_t i = 0; i < graph->node_count; i++)
            if (!f.dead[i])
                graph->nodes[kept++] = graph->nodes[i];
        graph->node_count = kept;
    }
    free(f.origins);
    free(f.dead);
}
