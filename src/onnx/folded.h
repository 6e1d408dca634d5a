/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds batch norms that an exporter has folded into the convolutions before them.
 *
 * Only the names of tensors tell such a convolution from one that never had a batch norm. PyTorch's
 * older exporter calls the weights "onnx::Conv_123". Its newer one calls the result "getitem", or
 * the bias "conv1.weight_bias". tf2onnx writes "_fused_bn".
 *
 *     const sh_onnx_folded folded = sh_onnx_find_folded(model);
 *     if (folded.certain > 0)
 *         ... folded.certain of folded.layers convolutions had one ...
 *
 * Threads: any.
 */
#ifndef SHOAL_ONNX_FOLDED_H
#define SHOAL_ONNX_FOLDED_H

#include "onnx/onnx_file.h"

/* The PyTorch call that keeps batch norms. */
#define SH_ONNX_KEEP_NORMS                                                                         \
    "torch.onnx.export(network, sample, \"network.onnx\", dynamo=False, "                          \
    "do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING)"

typedef struct sh_onnx_folded {
    size_t layers;   /* convolutions, including transposed ones */
    size_t possible; /* those that may have had a batch norm */
    size_t certain;  /* those whose names prove it */
    size_t norms;    /* batch norms in the file */
} sh_onnx_folded;

sh_onnx_folded sh_onnx_find_folded(const sh_onnx *model);

typedef enum sh_onnx_fold_sign {
    SH_ONNX_FOLD_NONE,     /* not a convolution, or one with a batch norm or without a bias */
    SH_ONNX_FOLD_POSSIBLE, /* a convolution with a bias that no batch norm follows */
    SH_ONNX_FOLD_CERTAIN,  /* its names prove that one was folded into it */
} sh_onnx_fold_sign;
sh_onnx_fold_sign sh_onnx_fold_sign_of(const Sh__Onnx__GraphProto *graph,
                                       const Sh__Onnx__NodeProto *node);

#endif
