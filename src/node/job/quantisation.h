/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --int8: quantises a model to 8-bit integers and measures the cost.
 *
 * The grids of values come from training samples without augmentation (onnx/value_range). Both
 * models are measured on the validation samples, the quantised one as float32 on its grids.
 *
 *     const sh_quantisation asked = {.job = &job, .file = model, .plain = model, .samples = 200};
 *     SH_TRY(sh_quantise(&made, &found, &asked, &arena));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_QUANTISATION_H
#define SHOAL_NODE_JOB_QUANTISATION_H

#include "onnx/quantise.h"
#include "shoal/export.h"

/* Borrowed until the model is no longer used. */
typedef struct sh_quantisation {
    const sh_job *job;                /* the data and how to read them */
    const Sh__Onnx__ModelProto *file; /* the model to quantise; batch norms are folded */
    const Sh__Onnx__ModelProto
        *plain;       /* the same without normalising pixels: its nodes are the last of `file` */
    uint32_t samples; /* of the training split */
} sh_quantisation;

/* Fails as sh_onnx_quantise and the opening of the data do. */
sh_status sh_quantise(Sh__Onnx__ModelProto **made, sh_model_quantised *found,
                      const sh_quantisation *asked, sh_arena *arena) SHOAL_CHECKED;

#endif
