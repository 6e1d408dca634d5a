/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions shared by the parts of a builder (shoal/builder.h): nodes, weights, and the shapes of
 * values.
 *
 * After a failure every call does nothing and returns NULL. Every call accepts NULL.
 *
 *     char *in[] = {sh_builder_name(builder, x), weight};
 *     sh_emitted *node = sh_builder_node(builder, &y, "MatMul", 2, in, name);
 *     sh_emit_int(&builder->e, node, "axis", 1);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_BUILDER_PARTS_H
#define SHOAL_ONNX_BUILDER_PARTS_H

#include "onnx/emitter.h"
#include "onnx/network.h"
#include "shoal/builder.h"

#define SH_BUILDER_OPSET 20
#define SH_BUILDER_IR 9
#define SH_BUILDER_NODES 4096

/* The output of a layer. */
typedef struct sh_built {
    char *name;     /* of the value in the model */
    sh_shape shape; /* for one sample; rank 0: not known yet */
} sh_built;

struct sh_builder {
    sh_arena arena;
    sh_emitter e;
    Sh__Onnx__GraphProto made;
    sh_built *layers; /* indexed by sh_layer; owned */
    size_t count, capacity;
    sh_shape samples;
    sh_status status; /* the first failure */
    char message[SH_MESSAGE_BYTES];
};

/* True while no call has failed. */
bool sh_builder_goes_on(sh_builder *builder);

/* Records the first failure. Returns SH_NO_LAYER. */
sh_layer sh_builder_failed(sh_builder *builder, sh_status status);

/* Returns the name of a layer's output. For SH_NO_LAYER it records a failure and returns NULL. */
char *sh_builder_name(sh_builder *builder, sh_layer x);

/* Returns the shape of a layer's output for one sample, found by importing the unfinished model.
 * Records a failure and returns NULL if that fails or the shape has fewer than `rank`
 * dimensions. */
const sh_shape *sh_builder_shape(sh_builder *builder, sh_layer x, const char *layer, size_t rank);

/* Adds a value of that name. */
sh_layer sh_builder_give(sh_builder *builder, char *name);

/* Adds a node whose one output becomes `*y`. The node gets a numbered name if `name` is
 * NULL. */
sh_emitted *sh_builder_node(sh_builder *builder, sh_layer *y, const char *op, size_t count,
                            char *const *inputs, const char *name);

/* Adds a tensor without values, named "NAME.PART". Returns its name. */
char *sh_builder_weight(sh_builder *builder, const char *name, const char *part,
                        const sh_shape *shape);

/* Parses a list of settings into attributes of the node. */
void sh_builder_set(sh_builder *builder, sh_emitted *node, const char *settings);

void sh_builder_word(sh_builder *builder, sh_emitted *node, const char *name, const char *word);

/* Checks the finished network. The caller owns one reference. */
sh_status sh_builder_network(sh_network **network, sh_builder *builder, sh_layer result,
                             const char *name) SHOAL_CHECKED;

#endif
