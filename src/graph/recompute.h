/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Activation recomputation: reduces the memory of a differentiated graph (Chen, Xu, Zhang,
 * Guestrin: "Training deep nets with sublinear memory cost", 2016). Some values of the forward pass
 * are not kept for the backward pass. The same operators compute them again from the same inputs
 * right before they are needed, so all results stay bit-identical.
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

/* More segments than this save no further memory. */
#define SH_RECOMPUTE_MOST 32

/*
 * Rewrites a graph after sh_graph_differentiate. `segments` selects what is recomputed:
 *
 *     0      nothing
 *     1      element-wise results (sh_op_def.over) that can be computed from kept values
 *     2..    the forward pass is cut into about this number of segments, at nodes where few bytes
 *            are alive. Only small values and those alive at a cut are kept. Each segment except
 *            the last is recomputed before the backward pass reaches it. Its element-wise results
 *            are recomputed again for distant readers.
 *
 * Failures are recorded in the graph.
 */
void sh_graph_recompute(sh_graph *graph, uint32_t segments);

#endif
