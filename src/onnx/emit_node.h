/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Translates each operator of a graph to nodes of an ONNX model.
 *
 *     SH_TRY(sh_emit_node(e, index)); // of e->of->graph
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_EMIT_NODE_H
#define SHOAL_ONNX_EMIT_NODE_H

#include "onnx/emitter.h"

/* Translates node `index` of e->of->graph. SH_UNSUPPORTED names an operator that cannot be
 * exported. */
sh_status sh_emit_node(sh_emitter *e, size_t index) SHOAL_CHECKED;

/* The most nodes and tensors that one node becomes. */
#define SH_EMIT_NODES_MOST 6
#define SH_EMIT_TENSORS_MOST 4

#endif
