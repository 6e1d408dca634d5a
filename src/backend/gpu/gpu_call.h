/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a node to launches: what gpu_ops.c sees of the program that is compiled.
 *
 *     sh_gpu_work work = sh_gpu_work_of(call);                // an item an element of output 0
 *     return sh_gpu_append_each(call, "relu", &work);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BACKEND_GPU_GPU_CALL_H
#define SHOAL_BACKEND_GPU_GPU_CALL_H

#include "backend/gpu/work.h"
#include "graph/graph.h"

#define SH_GPU_ITEMS 256 /* of a group of kernels whose items are on their own */

struct sh_gpu_program;

/* One node, for `grains` grains. */
typedef struct sh_gpu_call {
    struct sh_gpu_program *program; /* that launches are appended to */
    const sh_graph *graph;
    const sh_node *node;
    uint32_t units;  /* of the GPU, that work at once: how work is cut depends on it, bits do not */
    uint32_t tile;   /* for tests: number of the tile to take; SH_GPU_BEST_TILE: the best */
    uint32_t grains; /* 1 where all operands are shared by all */
    sh_type in[SH_MAX_INPUTS], out[SH_MAX_OUTPUTS]; /* of a grain */
    uint32_t step[SH_MAX_INPUTS]; /* elements of each input from a grain to the next; 0: shared */
} sh_gpu_call;

/* Work with one item for each element of output 0, with the node's steps and settings. */
sh_gpu_work sh_gpu_work_of(const sh_gpu_call *call);

/* Appends a launch of `grid` groups of `items`; the kernel gets the work, then the values, of which
 * those that are SH_NO_VALUE are null pointers. */
sh_status sh_gpu_append(const sh_gpu_call *call, const char *kernel, const sh_gpu_work *work,
                        const uint32_t grid[3], uint32_t items, const sh_value_id *values,
                        uint32_t count) SHOAL_CHECKED;

/* The same, an item for each of work->total; the kernel gets `inputs` inputs of the node and output
 * 0. */
sh_status sh_gpu_append_each(const sh_gpu_call *call, const char *kernel, const sh_gpu_work *work,
                             uint32_t inputs) SHOAL_CHECKED;

/* Appends the launches of a node. */
sh_status sh_gpu_lower(const sh_gpu_call *call) SHOAL_CHECKED;

#endif
