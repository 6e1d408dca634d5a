/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The end of a network: finds the value that the loss takes, and replaces the last layer if the
 * data need another number of outputs.
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

/* The result is the first output of the file, or the input of its last Softmax, LogSoftmax or
 * Sigmoid if the loss contains that function. */
sh_status sh_onnx_head_result(sh_onnx_entry **result, sh_onnx_importer *importer) SHOAL_CHECKED;

/* If the last dense layer or 1x1 convolution does not have the wanted number of outputs, marks its
 * weights to be made anew in the wanted size and notes this to the user. */
sh_status sh_onnx_head_replace(sh_onnx_importer *importer,
                               const sh_onnx_entry *result) SHOAL_CHECKED;

#endif
