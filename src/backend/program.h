/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiled graph, and its execution on a lane.
 *
 *     SH_TRY(sh_program_compile(&program, graph));
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
 * sh_execution_prepare writes the shared memory: one lane, while no other runs; in parts, several.
 */
#ifndef SHOAL_BACKEND_PROGRAM_H
#define SHOAL_BACKEND_PROGRAM_H

#include "backend/compiler.h"
#include "backend/prepared.h"
#include "base/clock.h"

typedef struct sh_program sh_program;
typedef struct sh_execution sh_execution;

/* Elements [first, first + count) of a parameter's gradient. */
typedef struct sh_gradient {
    const float *values;
    size_t first, count;
    bool last; /* the end of the gradient */
} sh_gradient;

/* Called as soon as a part of a parameter's gradient exists; parts come in order. Borrowed. */
typedef void sh_gradient_sink(void *context, uint32_t parameter, const sh_gradient *gradient);

/* The graph may be freed afterwards. */
sh_status sh_program_compile(sh_program **program, const sh_graph *graph,
                             const sh_kernels *kernels) SHOAL_CHECKED;

/*
 * As above, as one of the programs of a model that share memory for prepared weights. `prepared` is
 * borrowed until this returns. On failure it may have more places than before.
 */
sh_status sh_program_compile_with(sh_program **program, const sh_graph *graph,
                                  const sh_kernels *kernels, sh_prepared *prepared) SHOAL_CHECKED;

/* For tests: in other slabs (slabs.h) than of SH_SLAB_BYTES; SIZE_MAX: in none. The same bits. */
sh_status sh_program_compile_in_slabs(sh_program **program, const sh_graph *graph,
                                      const sh_kernels *kernels, sh_prepared *prepared,
                                      size_t slab_bytes) SHOAL_CHECKED;
#define SH_SLAB_BYTES ((size_t)3 << 19)

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

/*
 * Where a parameter's gradient [O, K] is dy^T x of a dense layer's plain dy [N, O] and x [N, K]:
 * both, in lane memory. They hold this grain's until the sink has returned.
 */
typedef struct sh_product {
    float *x, *dy;
    size_t x_bytes, dy_bytes;
} sh_product;

/* False where it is none. */
bool sh_execution_product(const sh_execution *execution, uint32_t parameter, sh_product *product);

/* Between two runs: computes that gradient of what the caller has put into the product's places, by
 * the instruction of the run itself, and hands it to the sink. */
sh_status sh_execution_multiply(sh_execution *execution, uint32_t parameter, sh_gradient_sink *sink,
                                void *context) SHOAL_CHECKED;

/* What an instruction is for. Ids are those of the graph that was compiled. */
typedef struct sh_work {
    enum sh_work_kind {
        SH_WORK_NODE,    /* computes `node` */
        SH_WORK_REORDER, /* brings `value` into another layout */
        SH_WORK_SINK,    /* hands the gradient `value` to the sink */
    } kind;
    bool prepares;      /* runs once after the weights have changed */
    bool continues;     /* the same node once more: its arithmetic belongs to the first of them */
    uint32_t node;      /* index; of reorder and sink: the node that asked for it, or SH_NO_NODE */
    sh_value_id value;  /* of a node: its first output */
    const char *layout; /* the layout of its result: "plain" or "channels-last"; static */
    size_t bytes;       /* of all operands, scratch apart */
} sh_work;

#define SH_NO_NODE UINT32_MAX

/* The program's instructions in order of execution. */
size_t sh_program_length(const sh_program *program);
sh_work sh_program_work(const sh_program *program, size_t instruction);

/* What one instruction has cost an execution. */
typedef struct sh_work_time {
    uint64_t count, ns;
} sh_work_time;

/* Times each instruction from now on; `clock` is borrowed until the execution is freed. */
sh_status sh_execution_watch(sh_execution *execution, const sh_clock *clock) SHOAL_CHECKED;

/*
 * From now on each run looks at the clock (borrowed until the execution is freed) where backward
 * begins, before the first instruction of a node that differentiation has added. In a graph without
 * gradients there is no such moment.
 */
void sh_execution_mark(sh_execution *execution, const sh_clock *clock);
/* That moment of the last run; 0 before. */
uint64_t sh_execution_marked_ns(const sh_execution *execution);

/* Instructions that were begun, each time that one is for some samples more. Any thread. */
uint64_t sh_execution_progress(const sh_execution *execution);

/* By instruction, since the watch or the last clearing; NULL where none is kept. */
const sh_work_time *sh_execution_times(const sh_execution *execution);
void sh_execution_clear_times(sh_execution *execution);

/* Where input or output number `index` of the graph lies, row-major. */
void *sh_execution_input(const sh_execution *execution, size_t index);
const void *sh_execution_output(const sh_execution *execution, size_t index);

/* Computes what depends on the weights alone. */
sh_status sh_execution_prepare(sh_execution *execution) SHOAL_CHECKED;

/*
 * Part number `part` of that, of `parts`. Lanes that share the memory may do their parts at the
 * same time, and one lane the same part of several programs of a model.
 */
sh_status sh_execution_prepare_part(sh_execution *execution, uint32_t part,
                                    uint32_t parts) SHOAL_CHECKED;

/* Computes the rest. `sink` may be NULL where the graph has no gradients. */
sh_status sh_execution_run(sh_execution *execution, sh_gradient_sink *sink,
                           void *context) SHOAL_CHECKED;

#endif
