/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each user of a merged tensor its own copy.
 *
 * Exporters write tensors with equal values once. In an untrained network the running variances of
 * all batch normalisations become one initialiser. A running statistic belongs to one node, so an
 * initialiser that is a statistic of a node and has another use must have been merged. Each use
 * then gets a copy. If the use reads the initialiser through an Identity node, the copy is named
 * after the output of this node, where PyTorch has the name of the parameter. Otherwise it gets the
 * name of the initialiser with a number. Weights that are not merged with a statistic stay shared.
 *
 *     SH_TRY(sh_onnx_untie(model->graph, arena));
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_UNTIE_H
#define SHOAL_ONNX_UNTIE_H

#include "base/memory.h"
#include "onnx/onnx.pb-c.h"

/* The graph must have passed sh_onnx_graph_check. Copies point to the same values. New parts are
 * allocated in the arena. Fails only if memory is exhausted. */
sh_status sh_onnx_untie(Sh__Onnx__GraphProto *graph, sh_arena *arena) SHOAL_CHECKED;

#endif
