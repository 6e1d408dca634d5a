/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each user of a merged tensor its own copy.
 *
 *     SH_TRY(sh_onnx_untie(model->graph, arena));
 *
 * Exporters write tensors with equal values once, so in a network that was not trained yet the
 * scales (ones) and the running variances (ones) of all batch normalisations are one initialiser,
 * and likewise offsets and means. A running statistic belongs to one node. An initialiser that is
 * the statistic of a node and has another use is therefore known to be merged, and each use gets a
 * copy: under the name of the Identity node's output that it was read through (PyTorch has the
 * parameter's name there), else under the initialiser's name with a number. Weights that no
 * statistic is merged with stay shared.
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_UNTIE_H
#define SHOAL_ONNX_UNTIE_H

#include "base/memory.h"
#include "onnx/onnx.pb-c.h"

/* The graph has passed sh_onnx_graph_check. Copies point to the same values; what is new lives in
 * the arena. Fails where memory is out. */
sh_status sh_onnx_untie(Sh__Onnx__GraphProto *graph, sh_arena *arena) SHOAL_CHECKED;

#endif
