/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How an import read a file, for those who write the file again (onnx/from_file.h).
 *
 *     sh_onnx_trace trace = {.arena = &arena};
 *     const sh_onnx_wish wish = {.outputs = 10, .trace = &trace};
 *     sh_onnx_build(&net, samples, model, &wish);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_IMPORT_TRACE_H
#define SHOAL_ONNX_IMPORT_TRACE_H

#include "base/memory.h"
#include "tensor/shape.h"

/* An input of a node that has a number of samples baked into it. */
typedef struct sh_onnx_change {
    struct sh_onnx_change *next;
    size_t node, input;
    size_t count;                  /* of dimensions: */
    int64_t integers[SH_MAX_RANK]; /* a shape for any batch, with -1 or 1 for the samples */
    bool reshapes;                 /* the node becomes a Reshape to that shape */
    bool repeats;      /* the input is no shape, but is repeated along dimension `axis` of these */
    size_t like, axis; /* as often as input `like` of the node is long there */
} sh_onnx_change;

typedef struct sh_onnx_trace {
    sh_arena *arena;         /* the caller's: what follows lies there */
    sh_onnx_change *changes; /* a list in no order */
    const char *input;       /* its name, borrowed from the model */
    sh_shape in, out;        /* shapes of input and result, */
    size_t out_batch;        /* and the result's dimension with the samples; the input's is 0 */
    bool turned;             /* the input has its channels last */
    bool *needed;            /* by node: the file's first output depends on it */
} sh_onnx_trace;

#endif
