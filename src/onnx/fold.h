/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constant folding: evaluates nodes that depend only on constants and shapes while a file is
 * imported.
 *
 * Floating-point numbers are computed in double and rounded to float32 after each node, with
 * functions that give the same bits on every platform. Integers wrap.
 *
 *     sh_onnx_store store = {0};
 *     sh_onnx_constant shape, *in[] = {&dims, &index};
 *     if (sh_onnx_folds(node.op))
 *         SH_TRY_DONE(sh_onnx_fold(&shape, 1, &node, in, 2, &store));
 *     ...
 *     sh_onnx_store_release(&store);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_FOLD_H
#define SHOAL_ONNX_FOLD_H

#include "onnx/constant.h"

bool sh_onnx_folds(const char *op);

/* Evaluates a node. NULL stands for an input that is not given. SH_UNSUPPORTED and SH_INVALID
 * describe what is wrong with the node. */
sh_status sh_onnx_fold(sh_onnx_constant *out, size_t out_count, sh_onnx_node *node,
                       const sh_onnx_constant *const *in, size_t in_count, const sh_onnx *model,
                       sh_onnx_store *store) SHOAL_CHECKED;

#endif
