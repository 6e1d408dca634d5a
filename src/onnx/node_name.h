/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of nodes in messages.
 *
 *     char name[SH_ONNX_NODE_TEXT];
 *     sh_fail(SH_UNSUPPORTED, "%s: %s: ...", path, sh_onnx_node_name(name, graph, i));
 *     // "node '/conv1/Conv' (Conv)"; without a name: "node 12 (Conv)", counted from 1
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_NODE_NAME_H
#define SHOAL_ONNX_NODE_NAME_H

#include <stddef.h>

#include "onnx/onnx.pb-c.h"

#define SH_ONNX_NODE_TEXT 256
#define SH_ONNX_NAME_TEXT 96

/* Writes "node '/conv1/Conv' (Conv)"; without a name "node 12 (Conv)", counted from 1. Returns
 * `text`. */
const char *sh_onnx_node_name(char text[SH_ONNX_NODE_TEXT], const Sh__Onnx__GraphProto *graph,
                              size_t index);

/* Makes a name from the file safe to print, cut if it is long. Returns `text`. */
const char *sh_onnx_name(char text[SH_ONNX_NAME_TEXT], const char *name);

#endif
