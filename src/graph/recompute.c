/* SPDX-License-Identifier: Apache-2.0 */
/*
 * *Cheap* values come from element-wise operators or reshapes and cost one pass over memory. *Dear*
 * values are all others, mainly convolutions.
 *
 * Dynamic programming selects the cuts of the forward pass. Among all cuts whose segments compute
 * at most total / segments bytes of dear values, it takes those with the fewest bytes alive at the
 * cuts in total. The last segment is not recomputed, because the backward pass starts with it.
 *
 *     forward   | kept ........|........ kept |........ kept |  all kept: last segment
 *     backward                                               |  last, second segment again, ...
 *
 * The nodes of the backward pass are copied in order. Before a node that reads a value which is not
 * kept, a clone of the value's producer is appended, and before that, recursively, clones of what
 * the producer reads. All readers of a dear value use the same clone. Readers of a cheap value
 * share a clone only if they are at most NEAR nodes apart, so that its memory is free in between.
 *
 * In the last segment a cheap value is dropped only if its inputs are kept for the backward pass
 * anyway, and if at most DEPTH operators compute it from kept values.
 */
#include "graph/recompute.h"

#include <stdlib.h>
#include <string.h>

#define NEAR 3
#define DEPTH 4
#define SMALL_PART 256 /* values smaller than the largest / SMALL_PART are always kept */
#define NOWHERE SIZE_MAX

/* Properties of a value of the original graph. */
typedef struct fate {
    size_t maker;     /* NOWHERE for inputs and parameters */
    size_t last_read; /* last node of the forward pass that reads it; 0: none */
    size_t bytes;
    bool small;     /* or an output, input or parameter: always kept */
    bool read_back; /* the backward pass reads it */
    bool kept;      /* until the backward pass has read it */
    uint32_t depth; /* number of operators from kept values; 0 if kept */
    sh_value_id clone;
    size_t clone_read; /* last node of the backward pass that used the clone */
} fate;

typedef struct pass {
    sh_graph *graph;
    size_t forward;      /* nodes of the forward pass */
    size_t now;          /* node of the backward pass that is being copied */
    size_t last_segment; /* its first node */
    size_t *cuts;        /* first nodes of segments 1.. */
    size_t cut_count;
    sh_node *backward; /* copies of the backward pass's nodes */
    size_t backward_count;
    size_t value_count; /* of the original graph */
    fate *fates;        /* indexed by value */
} pass;

static bool is_cheap(const sh_node *node)
{
    return node->op == SH_OP_reshape || sh_op_about(node->op)->def->over != 0;
}

static void observe(pass *p)
{
    const sh_graph *graph = p->graph;
    size_t largest = 0;
    for (size_t v = 0; v < p->value_count; v++)
        p->fates[v] = (fate){
            .maker = NOWHERE, .bytes = sh_type_bytes(&graph->values[v].type), .clone = SH_NO_VALUE};
    for (size_t i = 0; i < graph->node_count; i++) {
        const sh_node *node = &graph->nodes[i];
        for (uint32_t j = 0; j < node->output_count; j++)
            p->fates[node->out[j]].maker = i;
        for (uint32_t j = 0; j < node->input_count; j++) {
            fate *read = &p->fates[node->in[j]];
            if (i < p->forward)
                read->last_read = i;
            else if (read->maker < p->forward)
                read->read_back = true;
        }
    }
    for (size_t v = 0; v < p->value_count; v++)
        if (p->fates[v].maker < p->forward && p->fates[v].bytes > largest)
            largest = p->fates[v].bytes;
    for (size_t v = 0; v < p->value_count; v++)
        p->fates[v].small =
            p->fates[v].maker == NOWHERE || p->fates[v].bytes < largest / SMALL_PART;
    for (size_t i = 0; i < graph->output_count; i++)
        p->fates[graph->outputs[i]].small = true;
}

/* ---- cuts ------------------------------------------------------------------------------------ */

/*
 * Chooses where segments begin. The arrays have one element per node of the forward pass and one
 * for its end:
 *
 *     alive[i]   bytes alive between nodes i - 1 and i, without small values
 *     dear[i]    bytes of dear values that are computed before node i
 *     cost[i]    least sum of bytes alive at the cuts up to a segment that begins at node i
 *     from[i]    where the segment before that one begins
 *
 * A segment of a single node may exceed the limit.
 */
static sh_status cut(pass *p, uint32_t segments)
{
    const size_t slots = p->forward + 1;
    size_t *counts = calloc(slots * 4, sizeof *counts);
    p->cuts = calloc(slots, sizeof *p->cuts);
    if (counts == NULL || p->cuts == NULL) {
        free(counts);
        return sh_fail_memory(slots * 5 * sizeof *counts, "choosing what is computed again");
    }
    size_t *alive = counts, *dear = alive + slots, *cost = dear + slots, *from = cost + slots;
    for (size_t v = 0; v < p->value_count; v++) {
        const fate *f = &p->fates[v];
        for (size_t i = f->maker + 1; !f->small && f->maker < p->forward && i <= f->last_read; i++)
            alive[i] += f->bytes;
    }
    for (size_t i = 0; i < p->forward; i++) {
        const sh_node *node = &p->graph->nodes[i];
        dear[i + 1] = dear[i];
        for (uint32_t j = 0; j < node->output_count && !is_cheap(node); j++)
            if (!p->fates[node->out[j]].small)
                dear[i + 1] += p->fates[node->out[j]].bytes;
    }
    const size_t most = dear[p->forward] / segments;
    for (size_t i = 1; i <= p->forward; i++) {
        cost[i] = SIZE_MAX;
        for (size_t j = i; j-- > 0;) {
            if (dear[i] - dear[j] > most && j + 1 < i)
                break;
            const size_t here = cost[j] + (i < p->forward ? alive[i] + 1 : 0);
            if (here < cost[i]) {
                cost[i] = here;
                from[i] = j;
            }
        }
    }
    for (size_t i = from[p->forward]; i > 0; i = from[i])
        p->cuts[p->cut_count++] = i;
    p->last_segment = from[p->forward];
    free(counts);
    return SH_OK;
}

/* ---- kept values ----------------------------------------------------------------------------- */

static bool crosses_a_cut(const pass *p, const fate *f)
{
    for (size_t i = 0; i < p->cut_count; i++)
        if (f->maker < p->cuts[i] && p->cuts[i] <= f->last_read)
            return true;
    return false;
}

/* Number of operators that compute a cheap value from values kept anyway. 0 if that is impossible
 * or takes more than DEPTH. */
static uint32_t depth_from_kept(const pass *p, const sh_node *node)
{
    uint32_t depth = 1;
    for (uint32_t i = 0; i < node->input_count; i++) {
        const fate *in = &p->fates[node->in[i]];
        if (in->small)
            continue;
        if (in->kept && !in->read_back && !crosses_a_cut(p, in))
            return 0;
        if (in->depth + 1 > depth)
            depth = in->depth + 1;
    }
    return depth <= DEPTH ? depth : 0;
}

static void decide(pass *p)
{
    for (size_t v = 0; v < p->value_count; v++)
        p->fates[v].kept = p->fates[v].small || p->fates[v].maker >= p->forward;
    for (size_t i = 0; i < p->forward; i++) {
        const sh_node *node = &p->graph->nodes[i];
        for (uint32_t j = 0; j < node->output_count; j++) {
            fate *f = &p->fates[node->out[j]];
            if (f->small)
                continue;
            const bool crosses = crosses_a_cut(p, f);
            f->depth =
                !crosses && i >= p->last_segment && is_cheap(node) ? depth_from_kept(p, node) : 0;
            f->kept = crosses || (i >= p->last_segment && f->depth == 0);
        }
    }
}

/* ---- the new backward pass ------------------------------------------------------------------- */

/* Appends the nodes that compute the clone of a value that is not kept. */
static sh_value_id provide(pass *p, sh_value_id value)
{
    fate *f = &p->fates[value];
    if (f->kept)
        return value;
    const sh_node node = p->graph->nodes[f->maker]; /* copied: growing moves the list */
    const bool near = p->now - f->clone_read <= NEAR || !is_cheap(&node);
    if (f->clone == SH_NO_VALUE || !near) {
        sh_value_id in[SH_MAX_INPUTS], out[SH_MAX_OUTPUTS];
        for (uint32_t i = 0; i < SH_MAX_INPUTS; i++)
            in[i] = i < node.input_count ? provide(p, node.in[i]) : SH_NO_VALUE;
        sh_graph_add(p->graph, node.op, &node.attributes, in, out);
        for (uint32_t i = 0; i < node.output_count; i++) {
            p->fates[node.out[i]].clone = out[i];
            p->fates[node.out[i]].clone_read = p->now;
        }
    }
    f->clone_read = p->now;
    return f->clone;
}

static void copy_backward(pass *p)
{
    sh_graph *graph = p->graph;
    graph->node_count = p->forward;
    for (size_t i = 0; i < p->backward_count && graph->status == SH_OK; i++) {
        sh_node node = p->backward[i];
        p->now = p->forward + i;
        for (uint32_t j = 0; j < node.input_count; j++)
            node.in[j] = provide(p, node.in[j]);
        if (graph->status == SH_OK)
            sh_graph_failed(graph, sh_array_grow((void **)&graph->nodes, &graph->node_capacity,
                                                 graph->node_count + 1, sizeof *graph->nodes));
        if (graph->status == SH_OK)
            graph->nodes[graph->node_count++] = node;
    }
}

void sh_graph_recompute(sh_graph *graph, uint32_t segments)
{
    if (graph->status != SH_OK || segments == 0 || graph->forward_count == 0)
        return;
    pass p = {
        .graph = graph,
        .forward = graph->forward_count,
        .backward_count = graph->node_count - graph->forward_count,
        .value_count = graph->value_count,
    };
    sh_status status = SH_OK;
    p.fates = calloc(p.value_count + 1, sizeof *p.fates);
    p.backward = calloc(p.backward_count + 1, sizeof *p.backward);
    if (p.fates == NULL || p.backward == NULL)
        SH_TRY_DONE(sh_fail_memory(p.backward_count * sizeof *p.backward,
                                   "choosing what is computed again"));
    memcpy(p.backward, graph->nodes + p.forward, p.backward_count * sizeof *p.backward);
    observe(&p);
    if (segments > 1)
        SH_TRY_DONE(cut(&p, segments));
    decide(&p);
    copy_backward(&p);
done:
    sh_graph_failed(graph, status);
    free(p.cuts);
    free(p.backward);
    free(p.fates);
}
