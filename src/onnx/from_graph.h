/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph as an ONNX model, for runtimes elsewhere.
 *
 *     sh_arena arena;
 *     Sh__Onnx__ModelProto *model;
 *     SH_TRY(sh_onnx_from_graph(&model, &(sh_from_graph){.graph = for_one, .twice = for_two, ...},
 * &arena)); SH_TRY(sh_onnx_pack(model, append, file));
 *
 * Of the graph only what the answer is computed from is written: ONNX's operators of version 17,
 * which runtimes of 2022 and later have, the parameters under their own names, and a batch of any
 * size. Equal input gives equal bytes.
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

/* All borrowed until the model is no longer used. */
typedef struct sh_from_graph {
    const sh_graph *graph;       /* for evaluation, of one sample */
    const sh_graph *twice;       /* the same of two: what differs is the batch */
    sh_value_id samples, answer; /* of both graphs: what goes in, what comes out */
    const char *input, *output;  /* what the model calls them */
    const char *name;            /* of the model */
    const float *const *weights; /* by number of the parameter */
    const float *mean,
        *deviation; /* by channel: pixels 0 .. 255 go in; NULL: what the graph takes */
    sh_onnx_properties properties;
} sh_from_graph;

/*
 * Makes the model; it borrows from the arena, the graph and the weights. SH_UNSUPPORTED names an
 * operator that has no form in ONNX here.
 */
sh_status sh_onnx_from_graph(Sh__Onnx__ModelProto **model, const sh_from_graph *of,
                             sh_arena *arena) SHOAL_CHECKED;

/* Where the bytes go, in order. A failure ends the writing. */
typedef sh_status sh_onnx_sink(void *context, const void *bytes, size_t count);

/* Writes a model as a file has it. Tensors are not copied. SH_LIMIT: more than 2 GiB. */
sh_status sh_onnx_pack(const Sh__Onnx__ModelProto *model, sh_onnx_sink *sink,
                       void *context) SHOAL_CHECKED;

#endif
