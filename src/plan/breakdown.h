/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A training graph by layers: which nodes, forward and backward, belong to which scope of
 * parameters, and what they cost.
 *
 *     sh_plan_layer *layers;
 *     size_t count;
 *     SH_TRY(sh_breakdown(&layers, &count, graph, node_seconds));
 *     free(layers);
 *
 * Threads: any; a pure function.
 */
#ifndef SHOAL_PLAN_BREAKDOWN_H
#define SHOAL_PLAN_BREAKDOWN_H

#include "graph/graph.h"
#include "shoal/plan.h"

/*
 * A forward node that reads parameters belongs to their scope, one that reads none to the layer
 * before it, what reads the labels and all behind it to "loss". A backward node belongs to the
 * layer whose parameters or whose results it reads. `seconds` (by node; NULL: unknown) is what each
 * takes. `*layers` is owned, in order of execution.
 */
sh_status sh_breakdown(sh_plan_layer **layers, size_t *count, const sh_graph *graph,
                       const double *seconds) SHOAL_CHECKED;

#endif
