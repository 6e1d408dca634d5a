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

#define SH_ONNX_OPSET_FIRST 7
#define SH_ONNX_OPSET_LAST 23
#define SH_ONNX_RANK_MOST 8

/* Types of elements, as the format numbers them, with the bytes of one. Values of other types
 * cannot be read. */
#define SH_ONNX_TYPE_MAP(X)                                                                        \
    X(FLOAT, 1, 4)                                                                                 \
    X(UINT8, 2, 1)                                                                                 \
    X(INT8, 3, 1)                                                                                  \
    X(UINT16, 4, 2)                                                                                \
    X(INT16, 5, 2)                                                                                 \
    X(INT32, 6, 4)                                                                                 \
    X(INT64, 7, 8)                                                                                 \
    X(BOOL, 9, 1)                                                                                  \
    X(FLOAT16, 10, 2)                                                                              \
    X(DOUBLE, 11, 8)                                                                               \
    X(UINT32, 12, 4)                                                                               \
    X(UINT64, 13, 8)                                                                               \
    X(BFLOAT16, 16, 2)

typedef enum sh_onnx_type {
#define SH_ONNX_TYPE_ENUM(name, number, bytes) SH_ONNX_##name = number,
    SH_ONNX_TYPE_MAP(SH_ONNX_TYPE_ENUM)
#undef SH_ONNX_TYPE_ENUM
} sh_onnx_type;

/* Types of attributes, as the format numbers them. */
typedef enum sh_onnx_attribute {
    SH_ONNX_ATTRIBUTE_FLOAT = 1,
    SH_ONNX_ATTRIBUTE_INT = 2,
    SH_ONNX_ATTRIBUTE_STRING = 3,
    SH_ONNX_ATTRIBUTE_TENSOR = 4,
    SH_ONNX_ATTRIBUTE_FLOATS = 6,
    SH_ONNX_ATTRIBUTE_INTS = 7,
    SH_ONNX_ATTRIBUTE_STRINGS = 8,
} sh_onnx_attribute;

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

/* NULL is fine. */
void sh_onnx_close(sh_onnx *model);

/* The path or label. This and what follows is borrowed until close. */
const char *sh_onnx_path(const sh_onnx *model);

/*
 * The graph. Its nodes stand in the order of computation: an input of a node is "", an input or
 * initialiser of the graph, or an output of an earlier node. A value is made once. Strings are
 * never NULL, and UTF-8 without control characters. A node's domain is "" for ONNX's own operators.
 * What an attribute's type says is there. An initialiser may also be listed as an input.
 */
const Sh__Onnx__GraphProto *sh_onnx_graph(const sh_onnx *model);

/* The version of ONNX's own operators. */
int64_t sh_onnx_opset(const sh_onnx *model);

/* The initialiser of that name, or NULL. */
const Sh__Onnx__TensorProto *sh_onnx_initializer(const sh_onnx *model, const char *name);

/*
 * What a tensor of the graph or of an attribute is. SH_UNSUPPORTED: a type of elements that cannot
 * be read, or more dimensions than SH_ONNX_RANK_MOST.
 */
sh_status sh_onnx_tensor_of(sh_onnx_tensor *tensor, const sh_onnx *model,
                            const Sh__Onnx__TensorProto *message) SHOAL_CHECKED;

/* False for the trained initialisers of a skeleton: shape and type alone. */
bool sh_onnx_has_data(const sh_onnx *model, const sh_onnx_tensor *tensor);

/* Its values as float32, for FLOAT, FLOAT16, BFLOAT16 and DOUBLE (rounded to nearest, ties to
 * even). SH_INVALID for another type, SH_NOT_FOUND where it has no data. */
sh_status sh_onnx_floats(const sh_onnx *model, const sh_onnx_tensor *tensor,
                         float *values) SHOAL_CHECKED;

/* Its values as integers, for the integer types and BOOL. SH_LIMIT where one is 2^63 or more. */
sh_status sh_onnx_integers(const sh_onnx *model, const sh_onnx_tensor *tensor,
                           int64_t *values) SHOAL_CHECKED;

#endif
