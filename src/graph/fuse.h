/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuses a node with the node that produces its input. Normalised networks do little arithmetic:
 * most of their time goes into reading and writing activations.
 *
 *     sh_graph_fuse(graph);                           // the forward pass
 *     sh_graph_differentiate(graph, loss, seed);
 *     sh_graph_fuse(graph);                           // the backward pass
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_GRAPH_FUSE_H
#define SHOAL_GRAPH_FUSE_H

#include "graph/graph.h"

/*
 * Merges these pairs if nothing else reads the value between the two nodes:
 *
 *     relu or relu6 of batch_norm            batch_norm with an activation
 *     add of batch_norm and another value    batch_norm with a residual
 *     relu_grad or relu6_grad of add         relu_sum_grad
 *
 * and removes redundant nodes, whose values no longer exist. Results and gradients stay
 * bit-identical. Failures are recorded in the graph.
 */
void sh_graph_fuse(sh_graph *graph);

#endif
