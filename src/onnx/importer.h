/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What import.c and the operators (import_*.c) share: the values of a file on their way into a
 * graph.
 *
 *     sh_status sh_import_relu(sh_onnx_use *use)
 *     {
 *         sh_value_id x, y;
 *         SH_TRY(sh_import_value(&x, use, 0));
 *         SH_TRY(sh_import_emit(&y, use, SH_OP_relu, NULL, &x));
 *         sh_import_give(use, 0, y, use->in[0]->batch);
 *         return SH_OK;
 *     }
 *
 * To add an operator: a line in operators.def and a function sh_import_<name> in an import_*.c. A
 * failure that it returns refuses the node; the import goes on, to find all that is wrong.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_IMPORTER_H
#define SHOAL_ONNX_IMPORTER_H

#include "base/complaints.h"
#include "onnx/fold.h"
#include "onnx/import.h"
#include "onnx/onnx_node.h"
#include "onnx/roles.h"

#define SH_NO_AXIS SIZE_MAX

/* A value of the file. */
typedef struct sh_onnx_entry {
    const char *name;
    enum {
        SH_ENTRY_UNKNOWN,  /* not made yet, or its node was refused */
        SH_ENTRY_STORED,   /* an initialiser, not read yet */
        SH_ENTRY_CONSTANT, /* its elements are known */
        SH_ENTRY_VALUE,    /* a value of the graph */
        SH_ENTRY_SEQUENCE, /* parts of a value along new_axis; constant has their sizes */
    } kind;
    const Sh__Onnx__TensorProto *stored; /* of an initialiser */
    sh_onnx_role role;                   /* of an initialiser */
    sh_onnx_constant constant;
    sh_value_id value;           /* SH_NO_VALUE: a constant that is not in the graph yet */
    size_t batch;                /* the dimension with the samples, or SH_NO_AXIS */
    size_t outer;                /* its rows that have all samples each: 1 as a rule */
    struct sh_onnx_entry *same;  /* another that this is a name of, or NULL */
    size_t maker;                /* the node that makes it, or SIZE_MAX */
    size_t readers, last_reader; /* nodes that read it, and one of them */
    size_t new_axis;             /* of a new last layer: the dimension of outputs; or SH_NO_AXIS */
} sh_onnx_entry;

typedef struct sh_onnx_importer {
    sh_net *net;
    const sh_onnx *model;
    char path[256]; /* what messages call it: without the digest of a skeleton */
    const Sh__Onnx__GraphProto *graph;
    const sh_onnx_wish *wish;
    sh_onnx_store store;
    sh_onnx_entry *entries; /* by name, sorted */
    size_t entry_count;
    bool *needed;       /* by node: the result depends on it */
    bool *done;         /* by node: a node before it has computed it as well */
    size_t samples;     /* N */
    size_t baked;       /* the number in its place in the file, 1 if it does not say */
    size_t old_outputs; /* of a last layer that is replaced; else 0 */
    sh_complaints complaints;
} sh_onnx_importer;

/* A node that is being imported. */
typedef struct sh_onnx_use {
    sh_onnx_importer *importer;
    sh_onnx_node node;
    size_t index;
    sh_onnx_entry **in; /* NULL where one is not given */
    size_t in_count;
    sh_onnx_entry **out; /* NULL where nobody wants it */
    size_t out_count;
} sh_onnx_use;

/* How the weights of a node begin where no file gives their values. */
typedef enum sh_import_filling {
    SH_IMPORT_WEIGHT,  /* uniform in +-1/sqrt(fan-in), outputs first: [O, I ...] */
    SH_IMPORT_COLUMNS, /* the same of [..., I, O] */
    SH_IMPORT_ZERO,
    SH_IMPORT_ONE,
    SH_IMPORT_MEAN,     /* a moving average that begins as 0, */
    SH_IMPORT_VARIANCE, /* and one that begins as 1 */
} sh_import_filling;

/* The entry of that name, or NULL. */
sh_onnx_entry *sh_import_find(const sh_onnx_importer *importer, const char *name);

/* Was this input given? */
bool sh_import_given(const sh_onnx_use *use, size_t input);

/* At most `most` inputs, the first `least` given; the second: and an output. */
sh_status sh_import_inputs(const sh_onnx_use *use, size_t least, size_t most) SHOAL_CHECKED;
sh_status sh_import_arity(const sh_onnx_use *use, size_t least, size_t most) SHOAL_CHECKED;

/* An input as a value of the graph, of float32: constants and weights are added to it. The second:
 * for weights. */
sh_status sh_import_value(sh_value_id *value, const sh_onnx_use *use, size_t input) SHOAL_CHECKED;
sh_status sh_import_weights(sh_value_id *value, const sh_onnx_use *use, size_t input,
                            sh_import_filling filling) SHOAL_CHECKED;

/* An input whose elements are known. *constant is NULL where it is not given. */
sh_status sh_import_constant(const sh_onnx_constant **constant, const sh_onnx_use *use,
                             size_t input) SHOAL_CHECKED;

/* Is the input an initialiser or a constant? Its shape is then known before it is in the graph. */
bool sh_import_is_weight(const sh_onnx_use *use, size_t input);

/* The axes that an attribute or input lists, as marks of *rank dimensions, plus `more` an axis. */
sh_status sh_import_axes(bool *marked, bool *given, sh_onnx_use *use, size_t input, size_t more,
                         size_t *rank) SHOAL_CHECKED;

/* The shape of a value of the graph; borrowed until the next is made. */
const sh_shape *sh_import_shape(const sh_onnx_use *use, sh_value_id value);

/* Adds an operator to the graph and gives its first output. Wrong types are a failure, which the
 * graph does not keep. */
sh_status sh_import_emit(sh_value_id *out, const sh_onnx_use *use, sh_op op,
                         const sh_attributes *attributes, const sh_value_id *in) SHOAL_CHECKED;

/* The same for what a function of graph/layers.h or graph/general_layers.h has made. */
sh_status sh_import_made(sh_value_id *out, const sh_onnx_use *use, sh_value_id made) SHOAL_CHECKED;

/* x in another shape; x itself if it has that shape. */
sh_status sh_import_reshape(sh_value_id *y, const sh_onnx_use *use, sh_value_id x,
                            const sh_shape *shape) SHOAL_CHECKED;

/* An output of the node is this value of the graph. Nothing where nobody wants it. */
void sh_import_give(const sh_onnx_use *use, size_t output, sh_value_id value, size_t batch);

/* Output 0 is input 0. */
void sh_import_pass(const sh_onnx_use *use);

/* For whoever writes the file again (onnx/import_trace.h). The node is filled in. */
sh_status sh_import_trace(const sh_onnx_use *use, const sh_onnx_change *change) SHOAL_CHECKED;

/* Tells whoever imports something. */
void sh_import_note(const sh_onnx_importer *importer, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define SH_ONNX_OPERATOR(op, since, name) sh_status sh_import_##name(sh_onnx_use *use);
#include "onnx/operators.def"
#undef SH_ONNX_OPERATOR

#endif
