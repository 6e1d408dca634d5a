/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a network: what the loss replaces, and a last layer for another number of outputs.
 *
 *     SH_TRY(sh_onnx_head_result(&result, importer));      // an entry
 *     ...
 *     SH_TRY(sh_onnx_head_replace(importer, result));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_HEAD_H
#define SHOAL_ONNX_HEAD_H

#include "onnx/importer.h"

/*
 * The value that the loss is to be given: the file's first output, or what its last Softmax,
 * LogSoftmax or Sigmoid is given where the loss begins with that.
 */
sh_status sh_onnx_head_result(sh_onnx_entry **result, sh_onnx_importer *importer) SHOAL_CHECKED;

/*
 * Finds the last dense layer or 1x1 convolution. If it gives another number of outputs than wanted,
 * marks its weights so that they get the wanted size, and says so.
 */
sh_status sh_onnx_head_replace(sh_onnx_importer *importer,
                               const sh_onnx_entry *result) SHOAL_CHECKED;

#endif
