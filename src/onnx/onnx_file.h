/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model in an ONNX file: its nodes, and the values of its tensors.
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
 * The values stay in the file, or in those that it names, until they are asked for.
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

/* The key in metadata_props that makes a model a skeleton. */
#define SH_ONNX_SKELETON "shoal.skeleton"

typedef struct sh_onnx sh_onnx;

typedef struct sh_onnx_tensor {
    const char *name; /* "" where it has none; borrowed until the model is closed */
    sh_onnx_type type;
    size_t rank;
    size_t dim[SH_ONNX_RANK_MOST];
    size_t count;                         /* of its elements; 0 where a dimension is 0 */
    const Sh__Onnx__TensorProto *message; /* where its values are; borrowed likewise */
} sh_onnx_tensor;

/*
 * Opens and checks a file; `*model` is owned: close it. SH_FORMAT: it is no ONNX file, or damaged;
 * SH_CORRUPT: it is cut short; SH_VERSION: an operator set other than 7 to 23; SH_UNSUPPORTED: it
 * has what is never trained here (functions, graphs inside nodes, sparse tensors); SH_LIMIT: larger
 * than anything sensible. Messages name the file and the node or tensor.
 */
sh_status sh_onnx_open(sh_onnx **model, const char *path) SHOAL_CHECKED;

/* The same for a file in memory: `bytes` is borrowed until close, `label` (copied) is its name. It
 * may not have values in other files. */
sh_status sh_onnx_open_bytes(sh_onnx **model, const char *label, const void *bytes,
                             size_t count) SHOAL_CHECKED;

/* As sh_onnx_open_bytes, but the bytes come from malloc and belong to the model from here on: they
 * are freed with it, and on failure. */
sh_status sh_onnx_open_owned(sh_onnx **model, const char *label, uint8_t *bytes,
                             size_t count) SHOAL_CHECKED;

/* NULL is fine. */
void sh_onnx_close(sh_onnx *model);

/* The path or label. This and what follows is borrowed until close. */
const char *sh_onnx_path(const sh_onnx *model);

/*
 * The graph. Its nodes stand in the order of computation: an input of a node is "", an input or
 * initialiser of the graph, or an output of an earlier node. A value is made once. Strings are
 * never NULL, and UTF-8 without control characters. A node's domain is "" for ONNX's own operators.
 * What an attribute's type says is there. An initialiser may also be listed as an input. A running
 * statistic has one user (onnx/untie.h).
 */
const Sh__Onnx__GraphProto *sh_onnx_graph(const sh_onnx *model);

/* The version of ONNX's own operators. */
int64_t sh_onnx_opset(const sh_onnx *model);

/* What is around the graph. */
const Sh__Onnx__ModelProto *sh_onnx_model(const sh_onnx *model);

/* Whether it is a skeleton: a model without the values of what is trained. */
bool sh_onnx_is_skeleton(const sh_onnx *model);

/* The initialiser of that name, or NULL; its index in the graph's list, or SIZE_MAX. */
const Sh__Onnx__TensorProto *sh_onnx_initializer(const sh_onnx *model, const char *name);
size_t sh_onnx_initializer_index(const sh_onnx *model, const char *name);

/*
 * What a tensor of the graph or of an attribute is. SH_UNSUPPORTED: a type of elements that cannot
 * be read, or more dimensions than SH_ONNX_RANK_MOST.
 */
sh_status sh_onnx_tensor_of(sh_onnx_tensor *tensor, const sh_onnx *model,
                            const Sh__Onnx__TensorProto *message) SHOAL_CHECKED;

/* False for what a skeleton leaves out, which has shape and type alone. */
bool sh_onnx_has_data(const sh_onnx *model, const sh_onnx_tensor *tensor);

/* Its values as float32, for FLOAT, FLOAT16, BFLOAT16 and DOUBLE (rounded to nearest, ties to
 * even). SH_INVALID for another type, SH_NOT_FOUND where it has no data. */
sh_status sh_onnx_floats(const sh_onnx *model, const sh_onnx_tensor *tensor,
                         float *values) SHOAL_CHECKED;

/* Its values as integers, for the integer types and BOOL. SH_LIMIT where one is 2^63 or more. */
sh_status sh_onnx_integers(const sh_onnx *model, const sh_onnx_tensor *tensor,
                           int64_t *values) SHOAL_CHECKED;

/* Its values as raw_data has them: little-endian, tensor->count times the type's bytes. */
sh_status sh_onnx_raw(const sh_onnx *model, const sh_onnx_tensor *tensor,
                      uint8_t *bytes) SHOAL_CHECKED;

#endif
