/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch normalisations of a model, folded into what stands before them.
 *
 *     SH_TRY(sh_onnx_fold_norms(model, &arena));      // of onnx/from_graph.h or onnx/from_file.h
 *
 * Where a convolution or dense layer makes the input and nothing else reads it or its weights, the
 * layer gets other weights and a bias and makes the output by itself. Any other normalisation
 * becomes a product and a sum, a number for each channel, called "value:N". Numbers are computed in
 * double precision and rounded once.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_FOLD_NORMS_H
#define SHOAL_ONNX_FOLD_NORMS_H

#include "base/memory.h"
#include "onnx/onnx.pb-c.h"

/* Changes the model's graph, whose tensors have raw_data; fresh parts lie in the arena. A
 * normalisation stays where its statistics are not tensors of the graph or the number of its
 * dimensions cannot be told. */
sh_status sh_onnx_fold_norms(Sh__Onnx__ModelProto *model, sh_arena *arena) SHOAL_CHECKED;

#endif
