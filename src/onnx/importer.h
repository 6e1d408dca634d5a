/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by import.c and the operators (import_*.c): the values of a file while they are imported
 * into a graph.
 *
 *     SH_TRY(sh_import_value(&x, use, 0));
 *     SH_TRY(sh_import_emit(&y, use, SH_OP_relu, NULL, &x));
 *     sh_import_give(use, 0, y, use->in[0]->batch);
 *
 * To add an operator, add a line to operators.def and a function sh_import_<name> to an import_*.c.
 * If the function fails, its node is refused and the import continues, to find all such nodes.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_IMPORTER_H
#define SHOAL_ONNX_IMPORTER_H

#include "base/diagnostics.h"
#include "onnx/fold.h"
#include "onnx/import.h"
#include "onnx/onnx_node.h"
#include "onnx/roles.h"

#define SH_NO_AXIS SIZE_MAX

typedef struct sh_onnx_entry {
    const char *name;
    enum {
        SH_ENTRY_UNKNOWN, /* not made yet, or its node was refused */
        SH_ENTRY_STORED,  /* an initialiser that was not read yet */
        SH_ENTRY_CONSTANT,
        SH_ENTRY_VALUE,
        SH_ENTRY_SEQUENCE, /* parts of a value along new_axis; `constant` has their sizes */
    } kind;
    const Sh__Onnx__TensorProto *stored; /* of an initialiser */
    sh_onnx_role role;                   /* likewise */
    sh_onnx_constant constant;
    sh_value_id value; /* SH_NO_VALUE: a constant that is not in the graph yet */
    size_t batch;      /* the sample dimension, or SH_NO_AXIS */
    size_t outer;      /* rows of the sample dimension that hold all samples each; usually 1 */
    struct sh_onnx_entry *same;  /* the value that this one is an alias of, or NULL */
    size_t maker;                /* the node that makes it, or SIZE_MAX */
    size_t readers, last_reader; /* how often nodes read it; one of these nodes */
    size_t new_axis; /* of weights of a new last layer: the output dimension; or SH_NO_AXIS */
} sh_onnx_entry;

typedef struct sh_onnx_importer {
    sh_net *net;
    const sh_onnx *model;
    char path[256]; /* for messages: the path without the digest of a skeleton */
    const Sh__Onnx__GraphProto *graph;
    const sh_onnx_wish *wish;
    sh_onnx_store store;
    sh_onnx_entry *entries; /* sorted by name */
    size_t entry_count;
    bool *needed;       /* by node: the result depends on it */
    bool *done;         /* by node: it was imported together with an earlier node */
    size_t samples;     /* N */
    size_t baked;       /* the number of samples in the file; 1 if not given */
    size_t old_outputs; /* of a last layer that is replaced; else 0 */
    sh_diagnostics diagnostics;
} sh_onnx_importer;

/* A node while it is imported. */
typedef struct sh_onnx_use {
    sh_onnx_importer *importer;
    sh_onnx_node node;
    size_t index;
    sh_onnx_entry **in; /* NULL for inputs that are not given */
    size_t in_count;
    sh_onnx_entry **out; /* NULL for outputs without a name */
    size_t out_count;
} sh_onnx_use;

/* Initial values of weights that no file provides. */
typedef enum sh_import_filling {
    SH_IMPORT_WEIGHT,  /* uniform in +-1/sqrt(fan-in); output dimension first: [O, I ...] */
    SH_IMPORT_COLUMNS, /* the same for [..., I, O] */
    SH_IMPORT_ZERO,
    SH_IMPORT_ONE,
    SH_IMPORT_MEAN,     /* a moving average, initially 0 */
    SH_IMPORT_VARIANCE, /* a moving average, initially 1 */
} sh_import_filling;

/* Returns NULL if there is none. */
sh_onnx_entry *sh_import_find(const sh_onnx_importer *importer, const char *name);

bool sh_import_given(const sh_onnx_use *use, size_t input);

/* Checks for at most `most` inputs, the first `least` given; sh_import_arity: and for an output. */
sh_status sh_import_inputs(const sh_onnx_use *use, size_t least, size_t most) SHOAL_CHECKED;
sh_status sh_import_arity(const sh_onnx_use *use, size_t least, size_t most) SHOAL_CHECKED;

/* Returns an input as a float32 value of the graph; constants and weights are added to it.
 * sh_import_weights takes the initial values of weights and does not check the type. */
sh_status sh_import_value(sh_value_id *value, const sh_onnx_use *use, size_t input) SHOAL_CHECKED;
sh_status sh_import_weights(sh_value_id *value, const sh_onnx_use *use, size_t input,
                            sh_import_filling filling) SHOAL_CHECKED;

/* Returns NULL if the input is not given. SH_UNSUPPORTED if it is not constant. */
sh_status sh_import_constant(const sh_onnx_constant **constant, const sh_onnx_use *use,
                             size_t input) SHOAL_CHECKED;

/* True if the input is given and has no sample dimension. */
bool sh_import_is_weight(const sh_onnx_use *use, size_t input);

/* Marks the axes that an attribute or input lists. `*rank` first grows by `more` for each axis. */
sh_status sh_import_axes(bool *marked, bool *given, sh_onnx_use *use, size_t input, size_t more,
                         size_t *rank) SHOAL_CHECKED;

/* Borrowed until the next value is made. */
const sh_shape *sh_import_shape(const sh_onnx_use *use, sh_value_id value);

/* Returns the operator's first output. A failure is not kept in the graph. */
sh_status sh_import_emit(sh_value_id *out, const sh_onnx_use *use, sh_op op,
                         const sh_attributes *attributes, const sh_value_id *in) SHOAL_CHECKED;

/* The same for a value made by a function of graph/layers.h or graph/general_layers.h. */
sh_status sh_import_made(sh_value_id *out, const sh_onnx_use *use, sh_value_id made) SHOAL_CHECKED;

/* Returns x itself if it already has that shape. */
sh_status sh_import_reshape(sh_value_id *y, const sh_onnx_use *use, sh_value_id x,
                            const sh_shape *shape) SHOAL_CHECKED;

/* Sets an output of the node. Does nothing if it has no name. */
void sh_import_give(const sh_onnx_use *use, size_t output, sh_value_id value, size_t batch);

/* Makes output 0 an alias of input 0. */
void sh_import_pass(const sh_onnx_use *use);

/* Records a change and fills in its node. */
sh_status sh_import_trace(const sh_onnx_use *use, const sh_onnx_change *change) SHOAL_CHECKED;

void sh_import_note(const sh_onnx_importer *importer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define SH_ONNX_OPERATOR(op, since, name) sh_status sh_import_##name(sh_onnx_use *use);
#include "onnx/operators.def"
#undef SH_ONNX_OPERATOR

#endif
