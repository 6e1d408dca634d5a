/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds constants to the graph as frozen parameters.
 *
 *     const float mask[] = {0, 1, 1, 0};
 *     SH_TRY(sh_import_frozen(&m, use, "mask", sh_shape_of(1, (size_t[]){4}), mask));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_IMPORT_CONSTANTS_H
#define SHOAL_ONNX_IMPORT_CONSTANTS_H

#include "onnx/importer.h"

/* The values are copied. The name is made of the node's output and `what`, which must be unique
 * within the node. */
sh_status sh_import_frozen(sh_value_id *value, const sh_onnx_use *use, const char *what,
                           sh_shape shape, const float *values) SHOAL_CHECKED;

/* Returns an input as a value of the graph. Integers and truth values become float32. */
sh_status sh_import_number(sh_value_id *value, const sh_onnx_use *use, size_t input) SHOAL_CHECKED;

/* In the graph truth values are the numbers 0 and 1. */
bool sh_import_is_truth(const sh_onnx_use *use, size_t input);

/* Gathers elements of x along `axis`. Each index must be within the dimension. */
sh_status sh_import_places(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, size_t axis,
                           const size_t *indices, size_t count) SHOAL_CHECKED;

/* Takes elements [first, first + count) of x along `axis`. */
sh_status sh_import_take(sh_value_id *y, const sh_onnx_use *use, sh_value_id x, size_t axis,
                         size_t first, size_t count) SHOAL_CHECKED;

/* Imports a Gather that takes every element of a flat input in order, samples included, as a
 * Reshape to the shape of its indices. PyTorch exports as_strided this way. `*all` is true if
 * the node was imported. */
sh_status sh_import_gather_all(bool *all, const sh_onnx_use *use,
                               const sh_onnx_constant *indices) SHOAL_CHECKED;

#endif
