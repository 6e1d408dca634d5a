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
    size_t layers;   /* convolutions, transposed ones too */
    size_t possible; /* of them: those that may have had one */
    size_t certain;  /* of them: whose names say that they had one */
    size_t norms;    /* batch norms in the file */
} sh_onnx_folded;

sh_onnx_folded sh_onnx_find_folded(const sh_onnx *model);

/* What a node is, by itself. */
typedef enum sh_onnx_fold_sign {
    SH_ONNX_FOLD_NONE,     /* no convolution, or one with a batch norm or without a bias */
    SH_ONNX_FOLD_POSSIBLE, /* a convolution with a bias and no batch norm behind it */
    SH_ONNX_FOLD_CERTAIN,  /* names say that one was folded into it */
} sh_onnx_fold_sign;
sh_onnx_fold_sign sh_onnx_fold_sign_of(const Sh__Onnx__GraphProto *graph,
                                       const Sh__Onnx__NodeProto *node);

#endif
