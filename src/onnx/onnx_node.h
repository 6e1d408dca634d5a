/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A node of an ONNX file and its attributes.
 *
 *     sh_onnx_node node = sh_onnx_node_of(proto, opset);
 *     const int64_t axis = sh_onnx_node_integer(&node, "axis", 1);
 *     SH_TRY(sh_onnx_node_status(&node));       // fails if an attribute had another type
 *
 * An attribute that the node does not have, or that has another type than asked for, reads as the
 * default.
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
    const char *bad; /* the first attribute that was read as another type than it has */
} sh_onnx_node;

sh_onnx_node sh_onnx_node_of(const Sh__Onnx__NodeProto *proto, int64_t opset);

bool sh_onnx_node_has(const sh_onnx_node *node, const char *attribute);

int64_t sh_onnx_node_integer(sh_onnx_node *node, const char *attribute, int64_t otherwise);
float sh_onnx_node_number(sh_onnx_node *node, const char *attribute, float otherwise);

/* Is the text of this attribute `text`? False where the node does not have it. */
bool sh_onnx_node_says(sh_onnx_node *node, const char *attribute, const char *text);

/* How many bytes of text the attribute has; 0 where the node does not have it. */
size_t sh_onnx_node_text(sh_onnx_node *node, const char *attribute, const char **text);

/* Are the texts of this attribute those of a list that ends with NULL, once or repeated? False
 * where the node does not have it. */
bool sh_onnx_node_repeats(sh_onnx_node *node, const char *attribute, const char *const *texts);

/* How many integers or numbers the attribute has; 0 where the node does not have it. */
size_t sh_onnx_node_integers(sh_onnx_node *node, const char *attribute, const int64_t **values);
size_t sh_onnx_node_numbers(sh_onnx_node *node, const char *attribute, const float **values);

/* NULL where the node does not have it. */
const Sh__Onnx__TensorProto *sh_onnx_node_tensor(sh_onnx_node *node, const char *attribute);

/* SH_FORMAT if an attribute had another type than it was read as. */
sh_status sh_onnx_node_status(const sh_onnx_node *node) SHOAL_CHECKED;

#endif
