/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One walk from the first node to the last. A node that can take over its predecessor's work is
 * rewritten where it stands, behind the makers of all that it reads, and the predecessor dies: its
 * only reader was this node. So the order stays valid without moving anything, and a node that was
 * rewritten can be taken over again: batch_norm, add and relu end as one node in the relu's place.
 *
 * The bits are the same because the fused operators round where the single ones do: x * scale +
 * shift is rounded before the residual is added, sums of two do not depend on their order.
 */
#include "graph/fuse.h"

#include <stdlib.h>

#define NOBODY UINT32_MAX

/* Who makes a value, and how many read it; outputs and parameters' gradients are read too. */
typedef struct origin {
    uint32_t maker; /* index of the node; NOBODY: the value is given */
    uint32_t readers;
} origin;

typedef struct fusion {
    sh_graph *graph;
    origin *origins; /* by value */
    bool *dead;      /* by node: another has taken its work over */
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

/* The node that makes `value` by `op` for one reader alone; NULL if it is not like that. */
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

/* A normalisation that can still take a residual. */
static const sh_node *bare_normalisation(const fusion *f, sh_value_id value)
{
    const sh_node *norm = maker_for_one(f, value, SH_OP_batch_norm);
    const bool bare = norm != NULL && norm->attributes.activation == SH_ACTIVATION_NONE &&
                      norm->input_count == sh_op_about(SH_OP_batch_norm)->input_count - 1;
    return bare ? norm : NULL;
}

/* batch_norm(x) + b. Of two normalisations the later one takes the other's result. */
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

/* relu_grad(a + b, y): where an activation's result was used twice. */
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
