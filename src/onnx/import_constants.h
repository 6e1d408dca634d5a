/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constants on their way into the graph, where they are parameters that stay as they begin.
 *
 *     const float mask[] = {0, 1, 1, 0};
 *     SH_TRY(sh_import_frozen(&m, use, "mask", sh_shape_of(1, (size_t[]){4}), mask));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_IMPORT_CONSTANTS_H
#define SHOAL_ONNX_IMPORT_CONSTANTS_H

#include "onnx/importer.h"

/* A tensor with these values (copied), named after the node's output and `what`, which is its own
 * within the node. */
sh_status sh_import_frozen(sh_value_id *value, const sh_onnx_use *use, const char *what,
                           sh_shape shape, const float *values) SHOAL_CHECKED;

/* An input as a value of the graph; integers and truth values of constants become numbers. */
sh_status sh_import_number(sh_value_id *value, const sh_onnx_use *use, size_t input) SHOAL_CHECKED;

/* Is the input made of truth values? In the graph they are 0 and 1, as numbers may be too. */
bool sh_import_is_truth(const sh_onnx_use *use, size_t input);

/* Elements of x along `axis`, in the order of these `count` indices, each within it. */
sh_status sh_import_places(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, size_t axis,
                           const size_t *indices, size_t count) SHOAL_CHECKED;

/* Elements [first, first + count) of x along `axis`. */
sh_status sh_import_take(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, size_t axis,
                         size_t first, size_t count) SHOAL_CHECKED;

/* A Gather that takes every element of a flat input in order, with samples in it, is a Reshape to
 * the shape of its indices: PyTorch exports as_strided so. *all: it was one, and is imported. */
sh_status sh_import_gather_all(bool *all, const sh_onnx_use *use,
                               const sh_onnx_constant *indices) SHOAL_CHECKED;

#endif
