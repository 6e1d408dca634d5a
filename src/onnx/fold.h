/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a file computes from constants and shapes, computed while it is imported.
 *
 *     sh_onnx_store store = {0};
 *     sh_onnx_constant shape, *in[] = {&dims, &index};
 *     if (sh_onnx_folds(node.op))
 *         SH_TRY_DONE(sh_onnx_fold(&shape, 1, &node, in, 2, &store));
 *     ...
 *     sh_onnx_store_release(&store);
 *
 * Numbers are computed in double and rounded to float32 after each node, by functions that give the
 * same bits everywhere; integers wrap.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_FOLD_H
#define SHOAL_ONNX_FOLD_H

#include "onnx/constant.h"

/* Can this operator be evaluated on constants? */
bool sh_onnx_folds(const char *op);

/*
 * Evaluates a node whose inputs are all constants (NULL for one that is not given) into its
 * `out_count` outputs. SH_UNSUPPORTED and SH_INVALID say what is wrong with the node.
 */
sh_status sh_onnx_fold(sh_onnx_constant *out, size_t out_count, sh_onnx_node *node,
                       const sh_onnx_constant *const *in, size_t in_count, const sh_onnx *model,
                       sh_onnx_store *store) SHOAL_CHECKED;

#endif
