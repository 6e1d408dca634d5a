/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model in an ONNX file: its nodes and the values of its tensors.
 *
 * Values are read from the file, or from files that it refers to, only on demand.
 *
 *     sh_onnx *model;
 *     SH_TRY(sh_onnx_open(&model, "lenet.onnx"));
 *     const Sh__Onnx__GraphProto *graph = sh_onnx_graph(model);
 *     sh_onnx_tensor tensor;
 *     SH_TRY_DONE(sh_onnx_tensor_of(&tensor, model, graph->initializer[0]));
 *     SH_TRY_DONE(sh_onnx_floats(model, &tensor, values)); // tensor.count of them
 *     ...
 *     sh_onnx_close(model);
 *
 * Threads: any number may read one open model.
 */
#ifndef SHOAL_ONNX_ONNX_FILE_H
#define SHOAL_ONNX_ONNX_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"
#include "onnx/onnx.pb-c.h"
#include "onnx/onnx_types.h"

/* The key in metadata_props that marks a model as a skeleton. */
#define SH_ONNX_SKELETON "shoal.skeleton"

typedef struct sh_onnx sh_onnx;

typedef struct sh_onnx_tensor {
    const char *name; /* "" if it has no name; borrowed until the model is closed */
    sh_onnx_type type;
    size_t rank;
    size_t dim[SH_ONNX_RANK_MOST];
    size_t count;                         /* 0 if a dimension is 0 */
    const Sh__Onnx__TensorProto *message; /* locates its values; borrowed */
} sh_onnx_tensor;

/*
 * The caller owns `*model`. SH_FORMAT: not an ONNX file, or damaged; SH_CORRUPT: truncated;
 * SH_VERSION: an operator set other than 7 to 23; SH_UNSUPPORTED: functions, graphs inside nodes or
 * sparse tensors; SH_LIMIT: too large. Messages name the file and the node or tensor.
 */
sh_status sh_onnx_open(sh_onnx **model, const char *path) SHOAL_CHECKED;

/* `bytes` is borrowed until close. `label` (copied) stands for the path. Values in other files are
 * refused. */
sh_status sh_onnx_open_bytes(sh_onnx **model, const char *label, const void *bytes,
                             size_t count) SHOAL_CHECKED;

/* The same, but takes ownership of `bytes`, also on failure. They must come from malloc. */
sh_status sh_onnx_open_owned(sh_onnx **model, const char *label, uint8_t *bytes,
                             size_t count) SHOAL_CHECKED;

/* NULL is allowed. */
void sh_onnx_close(sh_onnx *model);

/* The path or label. This and the following results are borrowed until close. */
const char *sh_onnx_path(const sh_onnx *model);

/*
 * The graph has these properties:
 *
 *     - Nodes are in the order of computation. An input of a node is "", an input or initialiser of
 *       the graph, or an output of an earlier node. A value is made once.
 *     - Strings are never NULL. They are UTF-8 without control characters.
 *     - The domain of a node is "" for ONNX's own operators.
 *     - An attribute has the field that its type requires.
 *     - An initialiser may also be listed as an input.
 *     - A running statistic has one user (onnx/untie.h).
 */
const Sh__Onnx__GraphProto *sh_onnx_graph(const sh_onnx *model);

/* The version of ONNX's own operators. */
int64_t sh_onnx_opset(const sh_onnx *model);

const Sh__Onnx__ModelProto *sh_onnx_model(const sh_onnx *model);

/* A skeleton is a model without the values of trained tensors. */
bool sh_onnx_is_skeleton(const sh_onnx *model);

/* NULL or SIZE_MAX if there is none. The index is that in the graph's list. */
const Sh__Onnx__TensorProto *sh_onnx_initializer(const sh_onnx *model, const char *name);
size_t sh_onnx_initializer_index(const sh_onnx *model, const char *name);

/* Describes a tensor of the graph or of an attribute. SH_UNSUPPORTED if its element type cannot
 * be read or it has more than SH_ONNX_RANK_MOST dimensions. */
sh_status sh_onnx_tensor_of(sh_onnx_tensor *tensor, const sh_onnx *model,
                            const Sh__Onnx__TensorProto *message) SHOAL_CHECKED;

/* False for the tensors of a skeleton that have only shape and type. */
bool sh_onnx_has_data(const sh_onnx *model, const sh_onnx_tensor *tensor);

/* Reads FLOAT, FLOAT16, BFLOAT16 and DOUBLE as float32 (rounded to nearest, ties to even).
 * SH_INVALID for another type, SH_NOT_FOUND if the tensor has no data. */
sh_status sh_onnx_floats(const sh_onnx *model, const sh_onnx_tensor *tensor,
                         float *values) SHOAL_CHECKED;

/* Reads the integer types and BOOL. SH_LIMIT if a value is 2^63 or more. */
sh_status sh_onnx_integers(const sh_onnx *model, const sh_onnx_tensor *tensor,
                           int64_t *values) SHOAL_CHECKED;

/* Reads the format of raw_data: little-endian, tensor->count elements. */
sh_status sh_onnx_raw(const sh_onnx *model, const sh_onnx_tensor *tensor,
                      uint8_t *bytes) SHOAL_CHECKED;

#endif
