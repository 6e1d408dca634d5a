/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exports a graph as an ONNX model, for other runtimes.
 *
 * Only nodes that the answer depends on are written. Parameters keep their names and the batch size
 * is dynamic. Equal input gives equal bytes.
 *
 *     sh_arena arena;
 *     Sh__Onnx__ModelProto *model;
 *     const sh_from_graph of = {.graph = for_one, .twice = for_two, ...};
 *     SH_TRY(sh_onnx_from_graph(&model, &of, &arena));
 *     SH_TRY(sh_onnx_pack(model, append, file));
 *
 * Threads: caller locks the arena.
 */
#ifndef SHOAL_ONNX_FROM_GRAPH_H
#define SHOAL_ONNX_FROM_GRAPH_H

#include "base/memory.h"
#include "graph/graph.h"
#include "onnx/onnx.pb-c.h"

#define SH_FROM_GRAPH_OPSET 17
#define SH_FROM_GRAPH_IR 8

/* metadata_props: keys and values, UTF-8. */
typedef struct sh_onnx_properties {
    const char *const (*pairs)[2];
    size_t count;
} sh_onnx_properties;

/* All fields are borrowed as long as the model is in use. */
typedef struct sh_from_graph {
    const sh_graph *graph; /* for evaluation of one sample */
    const sh_graph *twice; /* the same for two samples; the dimensions that differ are the batch */
    sh_value_id samples, answer;   /* input and output values, of both graphs */
    const char *input, *output;    /* their names in the model */
    const char *name;              /* of the model */
    const float *const *weights;   /* by index of the parameter */
    const float *mean, *deviation; /* by channel, for an input of pixels 0 .. 255; NULL: the input
                                      is not normalised */
    sh_onnx_properties properties;
} sh_from_graph;

/* The model also borrows from the arena. SH_UNSUPPORTED names an operator that cannot be
 * exported. */
sh_status sh_onnx_from_graph(Sh__Onnx__ModelProto **model, const sh_from_graph *of,
                             sh_arena *arena) SHOAL_CHECKED;

/* Receives the bytes in order. A failure ends the writing. */
typedef sh_status sh_onnx_sink(void *context, const void *bytes, size_t count);

/* Tensors are not copied. SH_LIMIT if the model has more than 2 GiB. */
sh_status sh_onnx_pack(const Sh__Onnx__ModelProto *model, sh_onnx_sink *sink,
                       void *context) SHOAL_CHECKED;

#endif
