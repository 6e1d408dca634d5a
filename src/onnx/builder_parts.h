/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the parts of a builder (shoal/builder.h) share: nodes, weights, and the shapes of values.
 *
 *     char *in[] = {sh_builder_name(builder, x), weight};
 *     sh_emitted *node = sh_builder_node(builder, &y, "MatMul", 2, in, name);
 *     sh_emit_int(&builder->e, node, "axis", 1);
 *
 * After a failure every call does nothing and gives NULL, which every call takes. Threads: caller
 * locks.
 */
#ifndef SHOAL_ONNX_BUILDER_PARTS_H
#define SHOAL_ONNX_BUILDER_PARTS_H

#include "onnx/emitter.h"
#include "onnx/network.h"
#include "shoal/builder.h"

#define SH_BUILDER_OPSET 20
#define SH_BUILDER_IR 9
#define SH_BUILDER_NODES 4096

/* What a layer gives. */
typedef struct sh_built {
    char *name;     /* in the model */
    sh_shape shape; /* of one sample; rank 0: not known yet */
} sh_built;

struct sh_builder {
    sh_arena arena;
    sh_emitter e;
    Sh__Onnx__GraphProto made;
    sh_built *layers; /* by sh_layer; owned */
    size_t count, capacity;
    sh_shape samples;
    sh_status status; /* of the first failure */
    char message[SH_MESSAGE_BYTES];
};

/* Whether the building goes on: nothing has failed so far. */
bool sh_builder_goes_on(sh_builder *builder);

/* Keeps the first failure; gives SH_NO_LAYER. */
sh_layer sh_builder_failed(sh_builder *builder, sh_status status);

/* The name of what a layer gives; NULL for SH_NO_LAYER, which is a failure. */
char *sh_builder_name(sh_builder *builder, sh_layer x);

/* The shape of what a layer gives for one sample, found by importing the model as it is. NULL, and
 * a failure in the builder, where it cannot be imported, or has fewer than `rank` dimensions. */
const sh_shape *sh_builder_shape(sh_builder *builder, sh_layer x, const char *layer, size_t rank);

/* A new value of that name. */
sh_layer sh_builder_give(sh_builder *builder, char *name);

/* A node, whose one output becomes `*y`, named `name`, or by number where that is NULL. */
sh_emitted *sh_builder_node(sh_builder *builder, sh_layer *y, const char *op, size_t count,
                            char *const *inputs, const char *name);

/* A tensor without values, "NAME.PART". */
char *sh_builder_weight(sh_builder *builder, const char *name, const char *part,
                        const sh_shape *shape);

/* Adds the settings that a text lists to a node. */
void sh_builder_set(sh_builder *builder, sh_emitted *node, const char *settings);

/* Adds a setting that is a text. */
void sh_builder_word(sh_builder *builder, sh_emitted *node, const char *name, const char *word);

/* The finished network, checked; `*network` is owned by one user. */
sh_status sh_builder_network(sh_network **network, sh_builder *builder, sh_layer result,
                             const char *name) SHOAL_CHECKED;

#endif
