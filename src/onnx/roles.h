/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which tensors of an ONNX model are trained.
 *
 *     sh_onnx_role *roles = calloc(graph->n_initializer + 1, sizeof *roles);
 *     SH_TRY(sh_onnx_roles(roles, model));
 *     if (roles[i] == SH_ONNX_TRAINED)
 *         ... graph->initializer[i] is a parameter ...
 *
 * Trained are the initialisers of floating-point numbers that are weights, biases, scales or states
 * of an operator that has such (the table in onnx/roles.c), and those of more than one element that
 * are added, subtracted, multiplied or divided by, a scalar or a single number aside. Between the
 * initialiser and the operator there may be Identity, Cast, Transpose, Reshape, Flatten, Squeeze,
 * Unsqueeze, Slice, Expand, Concat. Mean and variance of a batch normalisation are its statistics.
 * All others, and all that nodes make, are constants; also what a Sub or Div takes from the
 * samples, or divides them by, before the first layer: that is preprocessing.
 *
 * This follows from the network alone, so it is the same for a file and its skeleton
 * (onnx/skeleton.h).
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_ROLES_H
#define SHOAL_ONNX_ROLES_H

#include "onnx/onnx_file.h"

typedef enum sh_onnx_role {
    SH_ONNX_CONSTANT,
    SH_ONNX_STATISTIC,
    SH_ONNX_TRAINED, /* also where it is a statistic of another node */
} sh_onnx_role;

/* Writes the role of each initialiser of the graph, in their order. Fails where memory is out. */
sh_status sh_onnx_roles(sh_onnx_role *roles, const sh_onnx *model) SHOAL_CHECKED;

/* Does node number `index` subtract something from the samples, or divide them, before the first
 * layer? */
bool sh_onnx_normalises_input(const sh_onnx *model, size_t index);

#endif
