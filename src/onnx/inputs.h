/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The data's samples as the input of a model: images or lines with channels first or last, or flat.
 *
 *     SH_TRY(sh_onnx_inputs_bind(importer, samples));    // the entry of the input is a value now
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_INPUTS_H
#define SHOAL_ONNX_INPUTS_H

#include "onnx/importer.h"

/*
 * `samples` [N, C, H, W]. SH_INVALID: the model's input does not fit them, or it has more than one.
 * Sets what the file has in place of N.
 */
sh_status sh_onnx_inputs_bind(sh_onnx_importer *importer, sh_value_id samples) SHOAL_CHECKED;

#endif
