/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Divides a training graph into layers: the forward and backward nodes of each parameter scope, and
 * their cost.
 *
 *     sh_plan_layer *layers;
 *     size_t count;
 *     SH_TRY(sh_breakdown(&layers, &count, graph, node_seconds));
 *     free(layers);
 *
 * Threads: any; pure.
 */
#ifndef SHOAL_PLAN_BREAKDOWN_H
#define SHOAL_PLAN_BREAKDOWN_H

#include "graph/graph.h"
#include "shoal/plan.h"

/*
 * A forward node belongs to the scope of the parameters it reads, or else to the layer before it;
 * nodes that read labels, and those after them, belong to "loss". A backward node belongs to the
 * layer whose parameters or results it reads. `seconds` is by node; NULL: unknown. `*layers` is
 * owned, in order of execution.
 */
sh_status sh_breakdown(sh_plan_layer **layers, size_t *count, const sh_graph *graph,
                       const double *seconds) SHOAL_CHECKED;

#endif
