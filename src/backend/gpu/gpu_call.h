/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiler's interface to gpu_ops.c, which turns a node into launches.
 *
 *     sh_gpu_work work = sh_gpu_work_of(call);                // an item per element
 *     return sh_gpu_append_each(call, "relu", &work, 1);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BACKEND_GPU_GPU_CALL_H
#define SHOAL_BACKEND_GPU_GPU_CALL_H

#include "backend/gpu/work.h"
#include "graph/graph.h"

#define SH_GPU_ITEMS 256 /* of a group of kernels with independent items */

struct sh_gpu_program;

typedef struct sh_gpu_call {
    struct sh_gpu_program *program;
    const sh_graph *graph;
    const sh_node *node;
    uint32_t units;  /* of the GPU; affect the division of work, not bits */
    uint32_t tile;   /* for tests; else SH_GPU_BEST_TILE */
    uint32_t grains; /* 1 if all grains share all operands */
    sh_type in[SH_MAX_INPUTS], out[SH_MAX_OUTPUTS]; /* of a grain */
    uint32_t step[SH_MAX_INPUTS];                   /* elements from grain to grain; 0: shared */
} sh_gpu_call;

/* Returns work with an item for each element of output 0, and the node's steps and settings. */
sh_gpu_work sh_gpu_work_of(const sh_gpu_call *call);

/* Appends a launch of `grid` groups of `items`. The kernel gets the work, then the values;
 * SH_NO_VALUE is a null pointer. */
sh_status sh_gpu_append(const sh_gpu_call *call, const char *kernel, const sh_gpu_work *work,
                        const uint32_t grid[3], uint32_t items, const sh_value_id *values,
                        uint32_t count) SHOAL_CHECKED;

/* The same with work->total items, `inputs` inputs of the node, and output 0. */
sh_status sh_gpu_append_each(const sh_gpu_call *call, const char *kernel, const sh_gpu_work *work,
                             uint32_t inputs) SHOAL_CHECKED;

sh_status sh_gpu_lower(const sh_gpu_call *call) SHOAL_CHECKED;

#endif
