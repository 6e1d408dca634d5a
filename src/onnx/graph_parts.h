/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of a model's graph by their names, for those who change a graph.
 *
 *     Sh__Onnx__NodeProto *maker = sh_onnx_maker(graph, node->input[0]);
 *     if (maker != NULL && sh_onnx_readers(graph, node->input[0]) == 1)
 *         ... what it makes is this node's alone ...
 *
 * Results are borrowed from the graph. Threads: caller locks.
 */
#ifndef SHOAL_ONNX_GRAPH_PARTS_H
#define SHOAL_ONNX_GRAPH_PARTS_H

#include <stdbool.h>

#include "onnx/onnx.pb-c.h"

/* The initialiser of that name, or NULL. */
Sh__Onnx__TensorProto *sh_onnx_find_tensor(const Sh__Onnx__GraphProto *graph, const char *name);

/* The node that makes a value, or NULL; its index, or SIZE_MAX. */
Sh__Onnx__NodeProto *sh_onnx_maker(const Sh__Onnx__GraphProto *graph, const char *name);
size_t sh_onnx_maker_index(const Sh__Onnx__GraphProto *graph, const char *name);

/* How often a value is read, by nodes or as an output of the graph. */
size_t sh_onnx_readers(const Sh__Onnx__GraphProto *graph, const char *name);

/* Does the tensor have numbers of float32 in raw_data? NULL does not. */
bool sh_onnx_is_raw_float(const Sh__Onnx__TensorProto *tensor);

/* A number of such a tensor. */
double sh_onnx_element(const Sh__Onnx__TensorProto *tensor, size_t index);

#endif
