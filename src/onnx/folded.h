/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch norms that an exporter has folded into the convolutions before them.
 *
 *     const sh_onnx_folded folded = sh_onnx_find_folded(model);
 *     if (folded.certain > 0)
 *         ... folded.certain of folded.layers convolutions had one ...
 *
 * A convolution that had none looks the same but for the names of its tensors: PyTorch's older
 * exporter calls them "onnx::Conv_123", its newer one calls the result "getitem", or the bias
 * "conv1.weight_bias", and tf2onnx writes "_fused_bn".
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_FOLDED_H
#define SHOAL_ONNX_FOLDED_H

#include "onnx/onnx_file.h"

/* The call of PyTorch that keeps them. */
#define SH_ONNX_KEEP_NORMS                                                                         \
    "torch.onnx.export(network, sample, \"network.onnx\", dynamo=False, "                          \
    "do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING)"

typedef struct sh_onnx_folded {
    size_t layers;  /* convolutions, transposed ones too */
    size_t biased;  /* of them: with a bias and without a batch norm behind them */
    size_t certain; /* whose names say that a batch norm is folded in */
    size_t norms;   /* batch norms in the file */
} sh_onnx_folded;

sh_onnx_folded sh_onnx_find_folded(const sh_onnx *model);

/* Whether the node is a convolution of ONNX's own. */
bool sh_onnx_is_convolution(const Sh__Onnx__NodeProto *node);

#endif
