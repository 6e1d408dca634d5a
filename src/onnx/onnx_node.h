/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of an ONNX file and its attributes.
 *
 * An attribute that the node does not have, or has with another type, reads as `otherwise`, false,
 * 0 or NULL.
 *
 *     sh_onnx_node node = sh_onnx_node_of(proto, opset);
 *     const int64_t axis = sh_onnx_node_integer(&node, "axis", 1);
 *     SH_TRY(sh_onnx_node_status(&node));       // fails if an attribute had another type
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_ONNX_NODE_H
#define SHOAL_ONNX_ONNX_NODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "onnx/onnx.pb-c.h"

typedef struct sh_onnx_node {
    const Sh__Onnx__NodeProto *proto; /* borrowed */
    const char *op;                   /* never NULL; borrowed from proto */
    int64_t opset;
    const char *bad; /* the first attribute that was read as a type that it does not have */
} sh_onnx_node;

sh_onnx_node sh_onnx_node_of(const Sh__Onnx__NodeProto *proto, int64_t opset);

bool sh_onnx_node_has(const sh_onnx_node *node, const char *attribute);

int64_t sh_onnx_node_integer(sh_onnx_node *node, const char *attribute, int64_t otherwise);
float sh_onnx_node_number(sh_onnx_node *node, const char *attribute, float otherwise);

/* True if this string attribute equals `text`. */
bool sh_onnx_node_says(sh_onnx_node *node, const char *attribute, const char *text);

/* Returns the length of a string attribute in bytes. The text has no end mark. */
size_t sh_onnx_node_text(sh_onnx_node *node, const char *attribute, const char **text);

/* True if this list of strings is `texts` (ended by NULL), once or repeated. */
bool sh_onnx_node_repeats(sh_onnx_node *node, const char *attribute, const char *const *texts);

/* Return the length of a list. */
size_t sh_onnx_node_integers(sh_onnx_node *node, const char *attribute, const int64_t **values);
size_t sh_onnx_node_numbers(sh_onnx_node *node, const char *attribute, const float **values);

const Sh__Onnx__TensorProto *sh_onnx_node_tensor(sh_onnx_node *node, const char *attribute);

/* SH_FORMAT if an attribute was read as a type that it does not have. */
sh_status sh_onnx_node_status(const sh_onnx_node *node) SHOAL_CHECKED;

#endif
