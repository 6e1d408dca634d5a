/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Less memory for a differentiated graph: values of the forward pass that backward reads are not
 * kept but computed once more right before they are needed, by the same operators on the same
 * inputs, so to the same bits (Chen, Xu, Zhang, Guestrin: "Training deep nets with sublinear memory
 * cost", 2016).
 *
 *     sh_graph_recompute(graph, 8);
 *     SH_TRY(sh_graph_verify(graph));
 *     SH_TRY(sh_graph_live_bytes(&bytes, graph));                     // graph/live_bytes.h
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_GRAPH_RECOMPUTE_H
#define SHOAL_GRAPH_RECOMPUTE_H

#include "graph/graph.h"

/* More segments than this bring nothing more. */
#define SH_RECOMPUTE_MOST 32

/*
 * Rewrites a graph that sh_graph_differentiate has completed. Into how many `segments`:
 *
 *     0      nothing is computed again
 *     1      element-wise results (sh_op_def.over) are, from what is kept anyway
 *     2..    the forward pass is cut into about so many segments where few bytes are alive. Only
 *            these are kept, and what is small; a segment is computed again before backward comes
 *            to it, its element-wise results each time that they are read
 *
 * Failures stay in the graph.
 */
void sh_graph_recompute(sh_graph *graph, uint32_t segments);

#endif
