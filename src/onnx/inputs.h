/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connects the samples of the data to the input of a model: images or lines with channels first or
 * last, or flat vectors.
 *
 *     SH_TRY(sh_onnx_inputs_bind(importer, samples));    // the entry of the input is a value now
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_INPUTS_H
#define SHOAL_ONNX_INPUTS_H

#include "onnx/importer.h"

/* Binds `samples` [N, C, H, W] to the input. SH_INVALID if the input does not fit them,
 * SH_UNSUPPORTED if the model has several inputs. Sets the importer's `samples` and `baked`. */
sh_status sh_onnx_inputs_bind(sh_onnx_importer *importer, sh_value_id samples) SHOAL_CHECKED;

#endif
