/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which tensors of an ONNX model are trained.
 *
 * These floating-point initialisers are trained:
 *
 *     - weights, biases and scales of an operator (the table in onnx/roles.c);
 *     - operands of Add, Sub, Mul, Div and Sum with more than one element.
 *
 * Identity, Cast, Transpose, Reshape, Flatten, Squeeze, Unsqueeze, Slice, Expand and Concat nodes
 * may lie between the initialiser and the operator. The mean and variance of a batch normalisation
 * are statistics. All other tensors are constants. So are operands of a Sub or Div of the samples
 * before the first layer, because this is preprocessing.
 *
 * A file and its skeleton (onnx/skeleton.h) have the same roles.
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_ROLES_H
#define SHOAL_ONNX_ROLES_H

#include "onnx/onnx_file.h"

typedef enum sh_onnx_role {
    SH_ONNX_CONSTANT,
    SH_ONNX_STATISTIC,
    SH_ONNX_TRAINED, /* even if another node uses it as a statistic */
} sh_onnx_role;

/* Writes the role of each initialiser, in order. Fails only if memory is exhausted. */
sh_status sh_onnx_roles(sh_onnx_role *roles, const sh_onnx *model) SHOAL_CHECKED;

/* True if node `index` subtracts something from the samples, or divides them, before the first
 * layer. */
bool sh_onnx_normalises_input(const sh_onnx *model, size_t index);

#endif
