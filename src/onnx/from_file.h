/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An imported network as an ONNX model again: the nodes of its own file with other values.
 *
 *     sh_arena arena;
 *     Sh__Onnx__ModelProto *model;
 *     SH_TRY(sh_onnx_from_file(&model, &(sh_from_file){.file = skeleton, ...}, &arena));
 *     SH_TRY(sh_onnx_pack(model, append, file));                          // onnx/from_graph.h
 *
 * Names and order of nodes and tensors, the operator set and the final Softmax are the file's.
 * These differ:
 *
 *     - What the first output does not depend on is left out, as are other outputs.
 *     - Weights of a last layer that was replaced have their new shape, and so has the output.
 *     - The batch has any size: shapes with a number of samples in them get -1 in its place, and
 *       what was there once for each baked sample is repeated (nodes called "value:N").
 *     - Dropout and BatchNormalization are those of evaluation.
 *
 * Threads: caller locks the arena.
 */
#ifndef SHOAL_ONNX_FROM_FILE_H
#define SHOAL_ONNX_FROM_FILE_H

#include "onnx/from_graph.h"
#include "onnx/onnx_file.h"
#include "tensor/target.h"

/* All borrowed until the model is no longer used. */
typedef struct sh_from_file {
    const sh_onnx *file; /* a model or a skeleton */
    sh_shape sample;     /* [C, H, W] */
    size_t outputs;      /* and what they are */
    sh_target target;
    const sh_graph *graph;         /* has the names and shapes of the parameters */
    const float *const *weights;   /* by number of the parameter */
    const float *mean, *deviation; /* as in sh_from_graph */
    sh_onnx_properties properties;
} sh_from_file;

/* Makes the model; it borrows from all of `of` and the arena. SH_UNSUPPORTED where a weight is not
 * float32 in the file, or pixels are to be normalised and the input is not made of images;
 * SH_NOT_FOUND where there are no values for a tensor. */
sh_status sh_onnx_from_file(Sh__Onnx__ModelProto **model, const sh_from_file *of,
                            sh_arena *arena) SHOAL_CHECKED;

#endif
