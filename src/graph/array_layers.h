/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators on arrays as other frameworks have them, for those who write models or read them.
 * They choose the fastest operator that means the same.
 *
 *     m = sh_layer_reduce(&net, SH_REDUCE_LARGEST, x, SH_AXIS(1), true);
 *     y = sh_layer_pair(&net, SH_PAIR_SUBTRACT, x, m);
 *
 * Every function takes and gives SH_NO_VALUE after a failure (graph.h). Threads: caller locks.
 */
#ifndef SHOAL_GRAPH_ARRAY_LAYERS_H
#define SHOAL_GRAPH_ARRAY_LAYERS_H

#include "graph/formulas.h"
#include "graph/layers.h"

#define SH_AXIS(i) (UINT32_C(1) << (i))

/* y from x; `numbers` NULL: the function has none. */
sh_value_id sh_layer_unary(sh_net *net, sh_unary function, sh_value_id x, const float *numbers);

/* y from a and b; dimensions of 1, and those missing in front, are repeated. */
sh_value_id sh_layer_pair(sh_net *net, sh_pair_function function, sh_value_id a, sh_value_id b);

/* a where the condition, a number, is not 0, else b; all three are repeated as above. */
sh_value_id sh_layer_where(sh_net *net, sh_value_id condition, sh_value_id a, sh_value_id b);

/* Over the dimensions i with SH_AXIS(i) in `axes`, which become 1 (keep) or disappear. */
sh_value_id sh_layer_reduce(sh_net *net, sh_reduction function, sh_value_id x, uint32_t axes,
                            bool keep);

/* x repeated until it has the shape that results from both, as with sh_layer_pair. */
sh_value_id sh_layer_expand(sh_net *net, sh_value_id x, sh_shape shape);

/* Places of x along `axis`, by indices of any shape, which takes that dimension's place. */
sh_value_id sh_layer_gather(sh_net *net, sh_value_id x, sh_value_id indices, size_t axis);

/* x copies[i] times behind itself along each dimension i of its own. */
sh_value_id sh_layer_tile(sh_net *net, sh_value_id x, const size_t *copies);

#endif
