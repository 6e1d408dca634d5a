/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds parts of a graph by name, for code that changes graphs.
 *
 * Results are borrowed from the graph; NULL or SIZE_MAX if there is none.
 *
 *     Sh__Onnx__NodeProto *maker = sh_onnx_maker(graph, node->input[0]);
 *     if (maker != NULL && sh_onnx_readers(graph, node->input[0]) == 1)
 *         ... only this node reads the output of `maker` ...
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_GRAPH_PARTS_H
#define SHOAL_ONNX_GRAPH_PARTS_H

#include <stdbool.h>

#include "onnx/onnx.pb-c.h"

/* Finds an initialiser. */
Sh__Onnx__TensorProto *sh_onnx_find_tensor(const Sh__Onnx__GraphProto *graph, const char *name);

/* Finds the node that makes a value. */
Sh__Onnx__NodeProto *sh_onnx_maker(const Sh__Onnx__GraphProto *graph, const char *name);
size_t sh_onnx_maker_index(const Sh__Onnx__GraphProto *graph, const char *name);

/* Counts how often a value is read, by nodes or as an output of the graph. */
size_t sh_onnx_readers(const Sh__Onnx__GraphProto *graph, const char *name);

/* True if the tensor has float32 values in raw_data. False for NULL. */
bool sh_onnx_is_raw_float(const Sh__Onnx__TensorProto *tensor);

/* Returns an element of such a tensor. */
double sh_onnx_element(const Sh__Onnx__TensorProto *tensor, size_t index);

#endif
