/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nodes of an ONNX model under construction; onnx/from_graph.h says what for.
 *
 *     sh_emitted *node = sh_emit(e, "Gemm", 3, inputs, output);
 *     sh_emit_int(e, node, "transB", 1);
 *
 * After a failure every call does nothing and gives NULL, which every call takes. Threads: caller
 * locks.
 */
#ifndef SHOAL_ONNX_EMITTER_H
#define SHOAL_ONNX_EMITTER_H

#include "onnx/from_graph.h"
#include "onnx/onnx_types.h"

typedef Sh__Onnx__NodeProto sh_emitted;

typedef struct sh_emitter {
    const sh_from_graph *of; /* NULL: the model is not made from a graph, and has no `names` */
    const sh_onnx_properties *properties;
    sh_arena *arena;
    Sh__Onnx__GraphProto *made;
    char **names; /* by value; NULL where it has none yet */
    size_t fresh; /* values that the graph does not have */
    sh_status status;
} sh_emitter;

/* Zeroed items, and a copy of a text, that live as long as the model. */
void *sh_emit_take(sh_emitter *e, size_t count, size_t bytes);
char *sh_emit_text(sh_emitter *e, const char *words);

/* A node with one output. Names are borrowed until the model is no longer used. */
sh_emitted *sh_emit(sh_emitter *e, const char *op, size_t count, char *const *inputs, char *output);

void sh_emit_int(sh_emitter *e, sh_emitted *node, const char *name, int64_t value);
void sh_emit_float(sh_emitter *e, sh_emitted *node, const char *name, float value);
void sh_emit_ints(sh_emitter *e, sh_emitted *node, const char *name, const int64_t *values,
                  size_t count);

/* The name of a value of the graph, and one that no other value has. */
char *sh_emit_name(sh_emitter *e, sh_value_id value);
char *sh_emit_fresh(sh_emitter *e);

/* Fresh names are not those of this graph either. */
void sh_emit_avoid(sh_emitter *e, const Sh__Onnx__GraphProto *graph);

/* Constants: integers [count], and a number without dimensions. */
char *sh_emit_integers(sh_emitter *e, const int64_t *values, size_t count);
char *sh_emit_number(sh_emitter *e, float value);

/* A tensor [dims] of any type; its elements are borrowed. */
void sh_emit_elements(sh_emitter *e, char *name, sh_onnx_type type, const sh_shape *shape,
                      const void *elements);

/* Weights [dims], borrowed. */
void sh_emit_tensor(sh_emitter *e, char *name, const sh_shape *shape, const float *values);

/* An input or output of float32, with "N" for dimension `batch`. */
Sh__Onnx__ValueInfoProto *sh_emit_value_info(sh_emitter *e, const char *name, const sh_shape *shape,
                                             size_t batch);

/* What is around the graph: versions, names, metadata. */
void sh_emit_frame(sh_emitter *e, Sh__Onnx__ModelProto *model, int64_t opset, int64_t ir);

#endif
