/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A graph compiled for a GPU, which computes several grains in one go. Each grain has the bits that
 * sh_execution_run gives it (docs/arithmetic.md), however many there are at once.
 *
 *     SH_TRY(sh_gpu_kernels_new(&kernels, gpu));                  // once a GPU: takes seconds
 *     SH_TRY(sh_gpu_program_new(&program, graph, kernels, 64));   // for at most 64 grains
 *     SH_TRY(sh_gpu_program_set_parameter(program, 0, weights));  // after they have changed
 *     SH_TRY(sh_gpu_program_set_input(program, 0, 48, images));   // of 48 grains
 *     SH_TRY(sh_gpu_program_clear_sums(program));
 *     SH_TRY(sh_gpu_program_run(program, 48, units));
 *     SH_TRY(sh_gpu_program_read_sums(program, 0, integers, facts));
 *     SH_TRY(sh_gpu_program_read_output(program, 0, 48, losses));
 *     SH_TRY(sh_gpu_finish(gpu));                                 // now the host has them
 *
 * Writes, runs and reads are queued in order, as gpu/device.h says: what they copy from or to is
 * borrowed until the next sh_gpu_finish, and failures of the device may be told by a later call.
 *
 * Threads: caller locks, as for the GPU.
 */
#ifndef SHOAL_BACKEND_GPU_GPU_PROGRAM_H
#define SHOAL_BACKEND_GPU_GPU_PROGRAM_H

#include "base/clock.h"
#include "gpu/device.h"
#include "graph/graph.h"

#define SH_GPU_MAX_GRAINS 4096 /* of one run */

/* The kernels of all operators, as this GPU's driver has compiled them. */
typedef struct sh_gpu_kernels sh_gpu_kernels;
/* Owned; the GPU is borrowed until sh_gpu_kernels_free, which NULL is fine for. */
sh_status sh_gpu_kernels_new(sh_gpu_kernels **kernels, sh_gpu *gpu) SHOAL_CHECKED;
void sh_gpu_kernels_free(sh_gpu_kernels *kernels);

typedef struct sh_gpu_program sh_gpu_program;

/*
 * The graph is that of one grain; it is copied where needed and may be freed afterwards. `kernels`
 * are borrowed until sh_gpu_program_free. SH_UNSUPPORTED names an operator that has no kernel yet;
 * SH_LIMIT where a value of all grains has 2^32 elements or more; SH_NO_MEMORY where the GPU has
 * too little.
 */
sh_status sh_gpu_program_new(sh_gpu_program **program, const sh_graph *graph,
                             sh_gpu_kernels *kernels, uint32_t grains) SHOAL_CHECKED;
void sh_gpu_program_free(
    sh_gpu_program *program); /* NULL is fine; nothing that is queued uses it */

/* Bytes of the GPU's memory that it takes, and its launches a run (without those that add
 * gradients). */
size_t sh_gpu_program_bytes(const sh_gpu_program *program);
size_t sh_gpu_program_launches(const sh_gpu_program *program);

/* Queues: copies a parameter, by its number in the graph, or input number `index` of `grains`
 * grains, all row-major. Both stay for later runs. */
sh_status sh_gpu_program_set_parameter(sh_gpu_program *program, size_t parameter,
                                       const float *values) SHOAL_CHECKED;
sh_status sh_gpu_program_set_input(sh_gpu_program *program, size_t index, uint32_t grains,
                                   const void *values) SHOAL_CHECKED;

/*
 * Queues: computes that many grains, at most those of sh_gpu_program_new. With `units` (of each
 * parameter, 2^e; NULL: not at all) each gradient is added to its sum as the exact sum does at 32
 * bits: round(gradient * unit) modulo 2^32.
 */
sh_status sh_gpu_program_run(sh_gpu_program *program, uint32_t grains,
                             const float *units) SHOAL_CHECKED;

/* What one launch took. */
typedef struct sh_gpu_time {
    const char *kernel; /* static */
    uint32_t node;      /* of the graph */
    uint64_t ns;
} sh_gpu_time;

/* For measurements: the same, each launch awaited before the next one. times
 * [sh_gpu_program_launches]. */
sh_status sh_gpu_program_measure(sh_gpu_program *program, uint32_t grains, const float *units,
                                 const sh_clock *clock, sh_gpu_time *times) SHOAL_CHECKED;

/* What the exact sum's trailer needs to know of one grain's gradient of one parameter. */
typedef struct sh_gpu_facts {
    uint32_t top;        /* magnitude bits of the largest finite element; 0: no element is finite */
    uint32_t not_finite; /* elements that are not finite: they add 0 */
} sh_gpu_facts;

/* Queue: zero all sums and facts; copy those of a parameter that has a gradient. facts [grains of
 * sh_gpu_program_new], by the place of the grain in its run: without a clearing in between a later
 * run's are joined with them. */
sh_status sh_gpu_program_clear_sums(sh_gpu_program *program) SHOAL_CHECKED;
sh_status sh_gpu_program_read_sums(sh_gpu_program *program, size_t parameter, int32_t *sums,
                                   sh_gpu_facts *facts) SHOAL_CHECKED;

/* Queues: copies output number `index` of `grains` grains, one behind the other; one alone of an
 * output that depends on parameters only. */
sh_status sh_gpu_program_read_output(sh_gpu_program *program, size_t index, uint32_t grains,
                                     void *values) SHOAL_CHECKED;

#endif
