/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Imports an ONNX file as layers of a graph.
 *
 * The sample dimension has the size N of the graph, whatever number the file has there. Nodes that
 * depend only on constants and shapes are evaluated at import. A final Softmax, LogSoftmax or
 * Sigmoid is left out if the loss contains it. Trained initialisers become parameters of the same
 * names. Other initialisers that the graph needs become frozen parameters with their values.
 *
 *     const sh_onnx_wish wish = {.outputs = 10, .target = SH_TARGET_CLASS};
 *     sh_value_id given = sh_onnx_build(&net, samples, model, &wish);    // [N, 10]
 *     SH_TRY(sh_graph_status(net.graph));
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_IMPORT_H
#define SHOAL_ONNX_IMPORT_H

#include "graph/layers.h"
#include "onnx/constant.h"
#include "onnx/import_trace.h"
#include "onnx/onnx_file.h"
#include "tensor/target.h"

/* The outcome of importing a node. Its parts of the graph begin at the two counts. Borrowed. */
typedef struct sh_onnx_step {
    size_t index;             /* of the node in the file */
    size_t nodes, parameters; /* of the graph before the node */
    sh_value_id given;        /* first output; SH_NO_VALUE: refused, or a constant */
    const char *refused;      /* why it cannot be trained through, or NULL */
} sh_onnx_step;

/* What the data require of an imported model. */
typedef struct sh_onnx_wish {
    size_t outputs;   /* numbers for each sample; a last dense layer or 1x1 convolution that gives
                         another number is replaced; 0: any number */
    sh_target target; /* decides the loss */
    void (*note)(void *context, const char *text);         /* messages for the user; or NULL */
    void (*step)(void *context, const sh_onnx_step *step); /* outcome of each node; or NULL */
    void *context;                                         /* for both callbacks */
    sh_onnx_trace *trace; /* records how the file was read; or NULL */
} sh_onnx_wish;

/*
 * Adds the layers of `model`, from samples [N, C, H, W] to the returned value [N, outputs]. A
 * failure is kept in the graph. SH_UNSUPPORTED names all nodes that cannot be trained through, with
 * reason and remedy.
 */
sh_value_id sh_onnx_build(sh_net *net, sh_value_id samples, const sh_onnx *model,
                          const sh_onnx_wish *wish);

/* Binds an input of a file to a value of a graph. */
typedef struct sh_onnx_binding {
    const char *name; /* borrowed */
    sh_value_id value;
} sh_onnx_binding;

/* An output of a file. */
typedef struct sh_onnx_result {
    sh_value_id value;         /* SH_NO_VALUE: it is a constant */
    sh_onnx_constant constant; /* its elements, in the store */
} sh_onnx_result;

/* Adds the operators of `model` unchanged: inputs of any shape and number, no sample dimension, no
 * head, no loss. `results` has room for each output of the file. Failures as for sh_onnx_build. */
sh_status sh_onnx_apply(sh_onnx_result *results, sh_net *net, const sh_onnx *model,
                        const sh_onnx_binding *given, size_t count,
                        sh_onnx_store *store) SHOAL_CHECKED;

#endif
