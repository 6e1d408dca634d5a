/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph compiled for a GPU, which computes several grains at once. The bits of a grain equal
 * those of sh_execution_run (docs/arithmetic.md), for any number of grains.
 *
 *     SH_TRY(sh_gpu_program_new(&program, graph, kernels, 64));   // for at most 64 grains
 *     SH_TRY(sh_gpu_program_set_parameter(program, 0, weights));  // after they have changed
 *     SH_TRY(sh_gpu_program_set_input(program, 0, 48, images));
 *     SH_TRY(sh_gpu_program_clear_sums(program));
 *     SH_TRY(sh_gpu_program_run(program, 48, units));
 *     SH_TRY(sh_gpu_program_read_sums(program, 0, integers, facts));
 *     SH_TRY(sh_gpu_finish(gpu));                                 // now the host has them
 *
 * Writes, runs and reads are queued in order (gpu/device.h). Their host memory is borrowed until
 * the next sh_gpu_finish, and a later call may report failures of the device.
 *
 * Threads: caller locks, as for the GPU.
 */
#ifndef SHOAL_BACKEND_GPU_GPU_PROGRAM_H
#define SHOAL_BACKEND_GPU_GPU_PROGRAM_H

#include "base/clock.h"
#include "gpu/device.h"
#include "graph/graph.h"

#define SH_GPU_MAX_GRAINS 4096 /* in one run */

/* The compiled kernels of all operators. */
typedef struct sh_gpu_kernels sh_gpu_kernels;
/* Takes seconds. Owned; the GPU is borrowed until sh_gpu_kernels_free. */
sh_status sh_gpu_kernels_new(sh_gpu_kernels **kernels, sh_gpu *gpu) SHOAL_CHECKED;
void sh_gpu_kernels_free(sh_gpu_kernels *kernels);

typedef struct sh_gpu_program sh_gpu_program;

/*
 * The graph is of one grain, and copied; `grains` is the limit for a run. `kernels` are borrowed
 * until sh_gpu_program_free. SH_UNSUPPORTED names an operator without a kernel. SH_LIMIT: a value
 * of all grains has 2^32 elements or more. SH_NO_MEMORY: the GPU has too little.
 */
sh_status sh_gpu_program_new(sh_gpu_program **program, const sh_graph *graph,
                             sh_gpu_kernels *kernels, uint32_t grains) SHOAL_CHECKED;
void sh_gpu_program_free(sh_gpu_program *program); /* the queue must not use it */

/* The GPU memory that it takes, and the launches of a run without those that add gradients. */
size_t sh_gpu_program_bytes(const sh_gpu_program *program);
size_t sh_gpu_program_launches(const sh_gpu_program *program);

/* Queue a copy to a parameter, by its number in the graph, or to an input of `grains` grains,
 * row-major. Values are kept for later runs. */
sh_status sh_gpu_program_set_parameter(sh_gpu_program *program, size_t parameter,
                                       const float *values) SHOAL_CHECKED;
sh_status sh_gpu_program_set_input(sh_gpu_program *program, size_t index, uint32_t grains,
                                   const void *values) SHOAL_CHECKED;

/*
 * `units`, by parameter, are powers of two: round(gradient * unit) modulo 2^32 is added to each
 * sum, as in the exact sum. NULL: nothing is added.
 */
sh_status sh_gpu_program_run(sh_gpu_program *program, uint32_t grains,
                             const float *units) SHOAL_CHECKED;

typedef struct sh_gpu_time {
    const char *kernel; /* static */
    uint32_t node;
    uint64_t ns;
} sh_gpu_time;

/* For measurements: the same, but waits for each launch. times [sh_gpu_program_launches]. */
sh_status sh_gpu_program_measure(sh_gpu_program *program, uint32_t grains, const float *units,
                                 const sh_clock *clock, sh_gpu_time *times) SHOAL_CHECKED;

/* What the exact sum's trailer needs about a grain's gradient of a parameter. */
typedef struct sh_gpu_facts {
    uint32_t top;        /* magnitude bits of the largest finite element; 0: none */
    uint32_t not_finite; /* elements, which add 0 */
} sh_gpu_facts;

/* Queue zeroing all sums and facts, and copying those of a parameter with a gradient. facts [grains
 * of sh_gpu_program_new], by the grain's index in its run. Runs accumulate until cleared. */
sh_status sh_gpu_program_clear_sums(sh_gpu_program *program) SHOAL_CHECKED;
sh_status sh_gpu_program_read_sums(sh_gpu_program *program, size_t parameter, int32_t *sums,
                                   sh_gpu_facts *facts) SHOAL_CHECKED;

/* Queues a copy of output number `index` of `grains` grains, which are consecutive; of one grain if
 * the output depends on parameters alone. */
sh_status sh_gpu_program_read_output(sh_gpu_program *program, size_t index, uint32_t grains,
                                     void *values) SHOAL_CHECKED;

#endif
