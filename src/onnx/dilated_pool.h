/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pooling with dilation. The graph has no such operator, so the elements of each window are
 * gathered first.
 *
 *     SH_TRY(sh_import_dilated_pool(&y, use, SH_OP_max_pool, x, &attributes, false));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_DILATED_POOL_H
#define SHOAL_ONNX_DILATED_POOL_H

#include "onnx/importer.h"

/* The attributes are those of sh_net_pool (graph/general_layers.h), and `dilation`. */
sh_status sh_import_dilated_pool(sh_value_id *y, const sh_onnx_use *use, sh_op op, sh_value_id x,
                                 const sh_attributes *attributes, bool ceil) SHOAL_CHECKED;

#endif
