/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds the nodes of an ONNX model.
 *
 * After a failure every call does nothing and returns NULL. Every call accepts NULL.
 *
 *     sh_emitted *node = sh_emit(e, "Gemm", 3, inputs, output);
 *     sh_emit_int(e, node, "transB", 1);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_EMITTER_H
#define SHOAL_ONNX_EMITTER_H

#include "onnx/from_graph.h"
#include "onnx/onnx_types.h"

typedef Sh__Onnx__NodeProto sh_emitted;

typedef struct sh_emitter {
    const sh_from_graph *of; /* NULL if not made from a graph; then `names` is NULL too */
    const sh_onnx_properties *properties;
    sh_arena *arena;
    Sh__Onnx__GraphProto *made;
    char **names; /* by value of the graph; NULL until it has a name */
    size_t fresh; /* number of the last generated name */
    sh_status status;
} sh_emitter;

/* Returns zeroed items, or a copy of a text. Both live in the arena. */
void *sh_emit_take(sh_emitter *e, size_t count, size_t bytes);
char *sh_emit_text(sh_emitter *e, const char *words);

/* Adds a node with one output. Names are borrowed as long as the model is in use. */
sh_emitted *sh_emit(sh_emitter *e, const char *op, size_t count, char *const *inputs, char *output);

void sh_emit_int(sh_emitter *e, sh_emitted *node, const char *name, int64_t value);
void sh_emit_float(sh_emitter *e, sh_emitted *node, const char *name, float value);
void sh_emit_ints(sh_emitter *e, sh_emitted *node, const char *name, const int64_t *values,
                  size_t count);

/* Returns the name of a value, or a new name that no other value has. */
char *sh_emit_name(sh_emitter *e, sh_value_id value);
char *sh_emit_fresh(sh_emitter *e);

/* Makes later fresh names differ from all names in this graph. */
void sh_emit_avoid(sh_emitter *e, const Sh__Onnx__GraphProto *graph);

/* Adds a constant: integers [count], or a scalar. Returns its name. */
char *sh_emit_integers(sh_emitter *e, const int64_t *values, size_t count);
char *sh_emit_number(sh_emitter *e, float value);

/* Adds a tensor of any type. Its elements are borrowed. */
void sh_emit_elements(sh_emitter *e, char *name, sh_onnx_type type, const sh_shape *shape,
                      const void *elements);

/* The same for float32. */
void sh_emit_tensor(sh_emitter *e, char *name, const sh_shape *shape, const float *values);

/* Describes a float32 input or output. Dimension `batch` is written as "N". */
Sh__Onnx__ValueInfoProto *sh_emit_value_info(sh_emitter *e, const char *name, const sh_shape *shape,
                                             size_t batch);

/* Fills in the model around the graph: versions, names, metadata. */
void sh_emit_frame(sh_emitter *e, Sh__Onnx__ModelProto *model, int64_t opset, int64_t ir);

#endif
