/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Array operations with the semantics of other frameworks, for model code and model importers. Each
 * function uses the fastest operator that computes the same result.
 *
 * After a failure every function accepts and returns SH_NO_VALUE (graph.h).
 *
 *     m = sh_layer_reduce(&net, SH_REDUCE_LARGEST, x, SH_AXIS(1), true);
 *     y = sh_layer_pair(&net, SH_PAIR_SUBTRACT, x, m);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_GRAPH_ARRAY_LAYERS_H
#define SHOAL_GRAPH_ARRAY_LAYERS_H

#include "graph/formulas.h"
#include "graph/layers.h"

#define SH_AXIS(i) (UINT32_C(1) << (i))

/* y = function(x). `numbers` holds the function's settings, or is NULL if it has none. */
sh_value_id sh_layer_unary(sh_net *net, sh_unary function, sh_value_id x, const float *numbers);

/* y = function(a, b). Dimensions of 1 and missing leading dimensions are broadcast. */
sh_value_id sh_layer_pair(sh_net *net, sh_pair_function function, sh_value_id a, sh_value_id b);

/* a where the condition, a number, is not 0, else b. All three are broadcast. */
sh_value_id sh_layer_where(sh_net *net, sh_value_id condition, sh_value_id a, sh_value_id b);

/* Reduces the dimensions i with SH_AXIS(i) in `axes`. They become 1 (`keep`) or are removed. */
sh_value_id sh_layer_reduce(sh_net *net, sh_reduction function, sh_value_id x, uint32_t axes,
                            bool keep);

/* Broadcasts x to the common shape of x and `shape`, as sh_layer_pair does. */
sh_value_id sh_layer_expand(sh_net *net, sh_value_id x, sh_shape shape);

/* Selects elements of x along `axis` by index. The shape of `indices` replaces that dimension. */
sh_value_id sh_layer_gather(sh_net *net, sh_value_id x, sh_value_id indices, size_t axis);

/* Repeats x copies[i] times along each dimension i. */
sh_value_id sh_layer_tile(sh_net *net, sh_value_id x, const size_t *copies);

#endif
