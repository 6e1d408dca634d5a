/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records how an import read a file, so that the file can be written again (onnx/from_file.h).
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

/* An input of a node that has a number of samples baked in, and what replaces it. */
typedef struct sh_onnx_change {
    struct sh_onnx_change *next;
    size_t node, input;
    size_t count;                  /* of dimensions */
    int64_t integers[SH_MAX_RANK]; /* a shape for any batch size, with -1 or 1 for the samples */
    bool reshapes;                 /* the node becomes a Reshape to that shape */
    bool repeats;      /* the input is not a shape: it is repeated along dimension `axis`, */
    size_t like, axis; /* as often as input `like` of the node is long in dimension `axis` */
} sh_onnx_change;

typedef struct sh_onnx_trace {
    sh_arena *arena;         /* the caller's; holds what follows */
    sh_onnx_change *changes; /* in no particular order */
    const char *input;       /* borrowed from the model */
    sh_shape in, out;        /* shapes of input and result */
    size_t out_batch;        /* sample dimension of the result; that of the input is 0 */
    bool turned;             /* the input has its channels last */
    bool *needed;            /* by node: the file's first output depends on it */
} sh_onnx_trace;

#endif
