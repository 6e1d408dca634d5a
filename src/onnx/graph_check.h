/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether the graph of an ONNX file is one: names, order, attributes.
 *
 *     SH_TRY(sh_onnx_graph_check(model->graph, arena));
 *
 * Afterwards holds what onnx/onnx_file.h says of a graph. Tensors' values are not looked at.
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_GRAPH_CHECK_H
#define SHOAL_ONNX_GRAPH_CHECK_H

#include "base/memory.h"
#include "onnx/onnx.pb-c.h"

/*
 * Checks the graph, and writes what may be left out in one way: ONNX's own domain as "", an
 * attribute's missing number as 0, an unknown dimension as none. SH_FORMAT: names the node, value
 * or attribute; SH_UNSUPPORTED: graphs or sparse tensors as attributes; SH_LIMIT.
 */
sh_status sh_onnx_graph_check(Sh__Onnx__GraphProto *graph, sh_arena *arena) SHOAL_CHECKED;

#endif
