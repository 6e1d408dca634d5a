/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiled graph, and its execution on a lane.
 *
 *     SH_TRY(sh_program_compile(&program, graph, &backends));
 *     SH_TRY(sh_execution_new(&execution, program, lane_memory, shared_memory, weights));
 *     fill(sh_execution_input(execution, 0));
 *     SH_TRY(sh_execution_prepare(execution));             // once after the weights have changed
 *     SH_TRY(sh_execution_run(execution, add_gradient, sum));
 *     read(sh_execution_output(execution, 0));
 *
 * Memory is the caller's and its size is known before the start. Weights are shared by all lanes,
 * and so is what is derived from weights alone (`shared_memory`); everything else is in
 * `lane_memory`.
 *
 * Threads: a program is constant after compilation, any thread. An execution belongs to one lane.
 * sh_execution_prepare writes the shared memory: one lane, while no other runs.
 */
#ifndef SHOAL_BACKEND_PROGRAM_H
#define SHOAL_BACKEND_PROGRAM_H

#include "backend/backend.h"

typedef struct sh_program sh_program;
typedef struct sh_execution sh_execution;

/* Called as soon as the gradient of parameter `parameter` exists; borrowed until it returns. */
typedef void sh_gradient_sink(void *context, uint32_t parameter, const float *gradient);

/* Compiles the graph, which may be freed afterwards. */
sh_status sh_program_compile(sh_program **program, const sh_graph *graph,
                             const sh_backend_list *backends) SHOAL_CHECKED;
void sh_program_free(sh_program *program);

/* Bytes of memory that an execution needs for itself, and that all executions share. Exact. */
size_t sh_program_lane_bytes(const sh_program *program);
size_t sh_program_shared_bytes(const sh_program *program);

/*
 * Binds the program to memory: blocks aligned to SH_ALIGNMENT of at least the sizes above, and one
 * pointer a parameter in order of declaration. All are borrowed until the execution is freed.
 */
sh_status sh_execution_new(sh_execution **execution, const sh_program *program, void *lane_memory,
                           void *shared_memory, float *const *parameters) SHOAL_CHECKED;
void sh_execution_free(sh_execution *execution);

/* Where input or output number `index` of the graph lies, row-major. */
void *sh_execution_input(const sh_execution *execution, size_t index);
const void *sh_execution_output(const sh_execution *execution, size_t index);

/* Computes what depends on the weights alone. */
sh_status sh_execution_prepare(sh_execution *execution) SHOAL_CHECKED;

/* Computes the rest. `sink` may be NULL where the graph has no gradients. */
sh_status sh_execution_run(sh_execution *execution, sh_gradient_sink *sink,
                           void *context) SHOAL_CHECKED;

#endif
