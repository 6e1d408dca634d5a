/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Validates the graph of an ONNX file: names, order, attributes.
 *
 * Establishes what onnx/onnx_file.h guarantees about a graph. Values of tensors are not read.
 *
 *     SH_TRY(sh_onnx_graph_check(model->graph, arena));
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_GRAPH_CHECK_H
#define SHOAL_ONNX_GRAPH_CHECK_H

#include "base/memory.h"
#include "onnx/onnx.pb-c.h"

/*
 * Also normalises optional parts: the domain "ai.onnx" becomes "", a missing number of an attribute
 * becomes 0, and an unknown dimension becomes absent. SH_FORMAT names the node, value or attribute.
 * SH_UNSUPPORTED for attributes that are graphs or sparse tensors. SH_LIMIT for sizes that are too
 * large.
 */
sh_status sh_onnx_graph_check(Sh__Onnx__GraphProto *graph, sh_arena *arena) SHOAL_CHECKED;

#endif
