/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --int8: a model in integers of 8 bits, and what that costs.
 *
 *     const sh_quantisation asked = {.job = &job, .file = model, .plain = model, .samples = 200};
 *     SH_TRY(sh_quantise(&made, &found, &asked, &arena));
 *
 * Grids of values come from training samples (onnx/value_range), without augmentation. Both models
 * are measured on the validation samples, that in integers as float32 on its grids.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_QUANTISATION_H
#define SHOAL_NODE_JOB_QUANTISATION_H

#include "onnx/quantise.h"
#include "shoal/export.h"

/* All borrowed until the model is no longer used. */
typedef struct sh_quantisation {
    const sh_job *job;                 /* says where the data are, and how they are read */
    const Sh__Onnx__ModelProto *file;  /* the model that is quantised; batch norms are folded */
    const Sh__Onnx__ModelProto *plain; /* the same without the nodes that normalise pixels: its
                                          nodes are the last of `file` */
    uint32_t samples;                  /* of the training split */
} sh_quantisation;

/* Fails as sh_onnx_quantise and the opening of the data do. */
sh_status sh_quantise(Sh__Onnx__ModelProto **made, sh_model_quantised *found,
                      const sh_quantisation *asked, sh_arena *arena) SHOAL_CHECKED;

#endif
