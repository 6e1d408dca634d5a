/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A compiled graph, and its execution on a lane.
 *
 *     SH_TRY(sh_program_compile(&program, graph, kernels));
 *     SH_TRY(sh_execution_new(&execution, program, lane_memory, shared_memory, weights));
 *     SH_TRY(sh_execution_prepare(execution));             // once after the weights have changed
 *     SH_TRY(sh_execution_run(execution, add_gradient, sum));
 *
 * All lanes share the weights and what is derived from weights alone (`shared_memory`).
 *
 * Threads: a program is constant after compilation, any thread. An execution belongs to one lane.
 * sh_execution_prepare writes the shared memory: call it on one lane while no other lane runs.
 */
#ifndef SHOAL_BACKEND_PROGRAM_H
#define SHOAL_BACKEND_PROGRAM_H

#include <stdatomic.h>

#include "backend/compiler.h"
#include "backend/prepared.h"
#include "base/clock.h"

typedef struct sh_program sh_program;
typedef struct sh_execution sh_execution;

typedef struct sh_gradient {
    const float *values;
    size_t first, count;
    bool last;
} sh_gradient;

/* Called with each part of a gradient as soon as it exists, in order. Borrowed for the call. */
typedef void sh_gradient_sink(void *context, uint32_t parameter, const sh_gradient *gradient);

/* `graph` is borrowed for the call; the caller owns `*program`. */
sh_status sh_program_compile(sh_program **program, const sh_graph *graph,
                             const sh_kernels *kernels) SHOAL_CHECKED;

/*
 * For a model whose programs share the memory for prepared weights. `prepared` is borrowed for the
 * call; on failure it may have more places than before.
 */
sh_status sh_program_compile_with(sh_program **program, const sh_graph *graph,
                                  const sh_kernels *kernels, sh_prepared *prepared) SHOAL_CHECKED;

/* For tests: with slabs (slabs.h) of `slab_bytes`; SIZE_MAX: without. */
sh_status sh_program_compile_in_slabs(sh_program **program, const sh_graph *graph,
                                      const sh_kernels *kernels, sh_prepared *prepared,
                                      size_t slab_bytes) SHOAL_CHECKED;
#define SH_SLAB_BYTES ((size_t)3 << 19)

void sh_program_free(sh_program *program);

/* Exact sizes of an execution's lane memory, and of the shared memory. */
size_t sh_program_lane_bytes(const sh_program *program);
size_t sh_program_shared_bytes(const sh_program *program);

/*
 * The blocks have at least the sizes above, aligned to SH_ALIGNMENT. `parameters` has one pointer
 * per parameter, in order of declaration. The program, the blocks and `parameters` are borrowed
 * until the execution is freed.
 */
sh_status sh_execution_new(sh_execution **execution, const sh_program *program, void *lane_memory,
                           void *shared_memory, float *const *parameters) SHOAL_CHECKED;
void sh_execution_free(sh_execution *execution);

/*
 * The factors of a dense layer's gradient [O, K] = dy^T x: plain dy [N, O] and x [N, K], in lane
 * memory. They last until the sink has returned.
 */
typedef struct sh_product {
    float *x, *dy;
    size_t x_bytes, dy_bytes;
} sh_product;

/* Returns false if the parameter's gradient is not such a product. */
bool sh_execution_product(const sh_execution *execution, uint32_t parameter, sh_product *product);

/* Between two runs: computes the gradient from the x and dy that the caller has written to the
 * sh_product, with the bits of a run, and passes it to the sink. */
sh_status sh_execution_multiply(sh_execution *execution, uint32_t parameter, sh_gradient_sink *sink,
                                void *context) SHOAL_CHECKED;

typedef struct sh_work {
    enum sh_work_kind {
        SH_WORK_NODE,
        SH_WORK_REORDER, /* converts `value` to another layout */
        SH_WORK_SINK,
    } kind;
    bool prepares;      /* runs in sh_execution_prepare */
    bool continues;     /* a further instruction of a node; the first one has its cost */
    uint32_t node;      /* index; for reorder and sink: the node being compiled, or SH_NO_NODE */
    sh_value_id value;  /* for a node: its first output */
    const char *layout; /* of its result: "plain" or "channels-last"; static */
    size_t bytes;       /* of all operands except scratch */
} sh_work;

#define SH_NO_NODE UINT32_MAX

/* The program's instructions, in order of execution. */
size_t sh_program_length(const sh_program *program);
sh_work sh_program_work(const sh_program *program, size_t instruction);

typedef struct sh_work_time {
    uint64_t count, ns;
} sh_work_time;

/* Times each instruction. `clock` is borrowed until the execution is freed. */
sh_status sh_execution_watch(sh_execution *execution, const sh_clock *clock) SHOAL_CHECKED;

/*
 * Each later run reads `clock` (borrowed until the execution is freed) before the first instruction
 * of a node added by differentiation. A graph without gradients has no such moment.
 */
void sh_execution_mark(sh_execution *execution, const sh_clock *clock);
/* The time read in the last run; 0 before the first. */
uint64_t sh_execution_marked_ns(const sh_execution *execution);

/* While `flag` is set (any thread), runs fail with SH_ABORTED before their next instruction or
 * slab; the sink may have got some gradients. `flag` is borrowed until the execution is freed. */
void sh_execution_interrupt_by(sh_execution *execution, const atomic_bool *flag);

/* Instructions started so far; each counts once per slab. Any thread. */
uint64_t sh_execution_progress(const sh_execution *execution);

/* Times by instruction, since the watch or the last clearing; NULL if not timed. Borrowed. */
const sh_work_time *sh_execution_times(const sh_execution *execution);
void sh_execution_clear_times(sh_execution *execution);

/* The address of input or output number `index`, row-major. */
void *sh_execution_input(const sh_execution *execution, size_t index);
const void *sh_execution_output(const sh_execution *execution, size_t index);

/* Computes what depends on the weights alone. Call it after they have changed. */
sh_status sh_execution_prepare(sh_execution *execution) SHOAL_CHECKED;

/*
 * Computes one of `parts` parts of the preparation. Lanes that share the memory may compute
 * different parts at the same time. A lane must use the same `part` for all programs of a model.
 */
sh_status sh_execution_prepare_part(sh_execution *execution, uint32_t part,
                                    uint32_t parts) SHOAL_CHECKED;

/* Computes everything else. `sink` may be NULL. */
sh_status sh_execution_run(sh_execution *execution, sh_gradient_sink *sink,
                           void *context) SHOAL_CHECKED;

#endif
