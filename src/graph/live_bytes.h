/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much memory a graph takes by the lifetimes of its values, before anything is compiled.
 *
 *     SH_TRY(sh_graph_live_bytes(&bytes, graph));
 *
 * Threads: any.
 */
#ifndef SHOAL_GRAPH_LIVE_BYTES_H
#define SHOAL_GRAPH_LIVE_BYTES_H

#include "graph/graph.h"

/*
 * The most bytes that are alive at any node, parameters apart: by lifetimes, where results take
 * the place of operands wherever they may. What a program needs beyond (scratch, gaps, values in
 * two layouts) is not counted.
 */
sh_status sh_graph_live_bytes(size_t *bytes, const sh_graph *graph) SHOAL_CHECKED;

#endif
