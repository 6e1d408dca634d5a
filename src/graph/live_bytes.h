/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Estimates the memory of a graph from the lifetimes of its values, without compiling it.
 *
 *     SH_TRY(sh_graph_live_bytes(&bytes, graph));
 *
 * Threads: any.
 */
#ifndef SHOAL_GRAPH_LIVE_BYTES_H
#define SHOAL_GRAPH_LIVE_BYTES_H

#include "graph/graph.h"

/*
 * Sets *bytes to the peak number of bytes alive at any node, without parameters. Assumes that
 * results overwrite operands wherever the operator allows that. Does not count what a compiled
 * program adds: scratch memory, gaps, and values in two layouts. SH_NO_MEMORY is the only failure.
 */
sh_status sh_graph_live_bytes(size_t *bytes, const sh_graph *graph) SHOAL_CHECKED;

#endif
