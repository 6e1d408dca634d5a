/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folds the batch normalisations of a model into the layers before them.
 *
 * A normalisation is folded if its input comes from a convolution or dense layer, and nothing else
 * reads that input or the weights of the layer. The layer gets new weights and a bias, and produces
 * the output of the normalisation. Any other normalisation becomes a Mul and an Add with one number
 * for each channel, in tensors called "value:N". Numbers are computed in double precision and
 * rounded once.
 *
 *     SH_TRY(sh_onnx_fold_norms(model, &arena));      // of onnx/from_graph.h or onnx/from_file.h
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_FOLD_NORMS_H
#define SHOAL_ONNX_FOLD_NORMS_H

#include "base/memory.h"
#include "onnx/onnx.pb-c.h"

/* The model's tensors must have raw_data. New parts are allocated in the arena. A normalisation is
 * kept if its statistics are not tensors of the graph or the rank of its input is not known. */
sh_status sh_onnx_fold_norms(Sh__Onnx__ModelProto *model, sh_arena *arena) SHOAL_CHECKED;

#endif
