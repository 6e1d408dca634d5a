/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports an imported network as an ONNX model: the nodes of its own file with new values.
 *
 * Names, the order of nodes and tensors, the operator set and the final Softmax are those of the
 * file. These parts differ:
 *
 *     - Nodes that the first output does not depend on are omitted, and so are other outputs.
 *     - The weights of a replaced last layer and the output have their new shapes.
 *     - The batch size is dynamic. Shapes that contain a number of samples get -1 in its place.
 *       Tensors that exist once for each baked sample are repeated (in nodes called "value:N").
 *     - Dropout and BatchNormalization are in evaluation mode.
 *
 *     sh_arena arena;
 *     Sh__Onnx__ModelProto *model;
 *     SH_TRY(sh_onnx_from_file(&model, &(sh_from_file){.file = skeleton, ...}, &arena));
 *     SH_TRY(sh_onnx_pack(model, append, file));                          // onnx/from_graph.h
 *
 * Threads: caller locks the arena.
 */
#ifndef SHOAL_ONNX_FROM_FILE_H
#define SHOAL_ONNX_FROM_FILE_H

#include "onnx/from_graph.h"
#include "onnx/onnx_file.h"
#include "tensor/target.h"

/* All fields are borrowed as long as the model is in use. */
typedef struct sh_from_file {
    const sh_onnx *file; /* a model or a skeleton */
    sh_shape sample;     /* [C, H, W] */
    size_t outputs;      /* of the network for each sample */
    sh_target target;
    const sh_graph *graph;         /* has the names and shapes of the parameters */
    const float *const *weights;   /* by index of the parameter */
    const float *mean, *deviation; /* as in sh_from_graph */
    sh_onnx_properties properties;
} sh_from_file;

/* The model also borrows from the arena. SH_UNSUPPORTED if a trained tensor is not float32 in the
 * file, or if pixels must be normalised but the input is not an image. SH_NOT_FOUND if a tensor has
 * no values. */
sh_status sh_onnx_from_file(Sh__Onnx__ModelProto **model, const sh_from_file *of,
                            sh_arena *arena) SHOAL_CHECKED;

#endif
