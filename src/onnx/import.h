/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an ONNX file to the layers of a graph.
 *
 *     const sh_onnx_wish wish = {.outputs = 10, .target = SH_TARGET_CLASS};
 *     sh_value_id given = sh_onnx_build(&net, samples, model, &wish);    // [N, 10]
 *     SH_TRY(sh_graph_status(net.graph));
 *
 * The axis of samples is the graph's N, whatever number the file has there. What the file computes
 * from constants and shapes is computed here. A final Softmax, LogSoftmax or Sigmoid is left out
 * where the loss has it. Initialisers that are trained become parameters of their names; others,
 * where the graph needs them, frozen parameters that begin with their values.
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

/* What became of a node; what it added to the graph stands behind the counts. Borrowed. */
typedef struct sh_onnx_step {
    size_t index;             /* of the node in the file */
    size_t nodes, parameters; /* of the graph before it */
    sh_value_id given;        /* its first output; SH_NO_VALUE: refused, or known without samples */
    const char *refused;      /* why it cannot be trained through; else NULL */
} sh_onnx_step;

/* What the data ask of an imported model. */
typedef struct sh_onnx_wish {
    size_t outputs;   /* numbers a sample: where the last dense layer or 1x1 convolution gives
                         another number of them, a new one takes its place; 0: any number */
    sh_target target; /* decides the loss */
    void (*note)(void *context, const char *text); /* is told what the user should know; or NULL */
    void (*step)(void *context, const sh_onnx_step *step); /* is told of each node; or NULL */
    void *context;                                         /* of both */
    sh_onnx_trace *trace; /* is told how the file was read; or NULL */
} sh_onnx_wish;

/*
 * Adds the layers of `model` to the net, from samples [N, C, H, W] to what it gives, [N, outputs].
 * A failure stays in the graph: SH_UNSUPPORTED names all nodes that cannot be trained through, with
 * reason and remedy.
 */
sh_value_id sh_onnx_build(sh_net *net, sh_value_id samples, const sh_onnx *model,
                          const sh_onnx_wish *wish);

/* An input of a file, and the value of a graph that it is. */
typedef struct sh_onnx_binding {
    const char *name; /* borrowed */
    sh_value_id value;
} sh_onnx_binding;

/* What a file gives as an output. */
typedef struct sh_onnx_result {
    sh_value_id value;         /* SH_NO_VALUE: its elements are known, */
    sh_onnx_constant constant; /* which are in the store */
} sh_onnx_result;

/*
 * Adds the operators of `model` to the net as they are: inputs of any shape and number, no axis of
 * samples, no head, no loss. `results` has a place for each output of the file. Fails as above.
 */
sh_status sh_onnx_apply(sh_onnx_result *results, sh_net *net, const sh_onnx *model,
                        const sh_onnx_binding *given, size_t count,
                        sh_onnx_store *store) SHOAL_CHECKED;

#endif
