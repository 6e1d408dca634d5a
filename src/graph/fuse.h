/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes that read what another has just written become one with it: the arithmetic of a normalised
 * network is little, reading and writing its activations is what takes time.
 *
 *     build(graph);
 *     sh_graph_fuse(graph);                           // the forward pass
 *     sh_graph_differentiate(graph, loss, seed);
 *     sh_graph_fuse(graph);                           // and the backward one
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_GRAPH_FUSE_H
#define SHOAL_GRAPH_FUSE_H

#include "graph/graph.h"

/*
 * Merges, where nothing else reads the value between the two:
 *
 *     relu or relu6 of batch_norm            batch_norm with an activation
 *     add of batch_norm and another value    batch_norm with a residual
 *     relu_grad or relu6_grad of add         relu_sum_grad
 *
 * and drops the nodes that have become needless. The graph computes the same bits as before; so do
 * the gradients that are derived from it. Values of dropped nodes exist no longer. Failures stay in
 * the graph.
 */
void sh_graph_fuse(sh_graph *graph);

#endif
