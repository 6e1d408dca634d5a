/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compiler's interface to the lowerings (lower/), which translate nodes to instructions.
 *
 *     SH_TRY(sh_compiler_input(compiler, &x, node->in[0], NULL));
 *     SH_TRY(sh_compiler_output(compiler, &y, node->out[0], NULL));
 *     return sh_compiler_emit(compiler, &kernel, state, (sh_buffer_id[]){x, y}, 2,
 *                             (sh_samples){0});
 *
 * A value may exist in several layouts. Its node writes the first one; others are conversions. What
 * depends on weights alone is computed once a step instead of once a grain.
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_BACKEND_COMPILER_H
#define SHOAL_BACKEND_COMPILER_H

#include "backend/kernel/kernels.h"
#include "backend/layout.h"
#include "graph/graph.h"

#define SH_MAX_OPERANDS 10
#define SH_MAX_OVERWRITES 2

typedef struct sh_compiler sh_compiler;

/* Index into the program's buffers. */
typedef uint32_t sh_buffer_id;

/* The samples of one run of an instruction; all zero if it does not run by sample. */
typedef struct sh_slab {
    size_t first, count; /* of this run; runs are in ascending order */
    size_t samples;      /* of all runs together */
} sh_slab;

/* The code of an instruction. `state` is constant and shared by all lanes. */
typedef struct sh_kernel {
    /* Required. A by-sample operand points to the slab's first sample. Any lane; must not allocate
     * memory or take locks. */
    void (*run)(const void *state, void *const *operands, const sh_slab *slab);
    void (*release)(void *state); /* optional */
} sh_kernel;

/*
 * Whether an instruction may run for a few samples at a time. It then accesses the by-sample
 * operands in ascending order of samples. Scratch keeps its contents until the last run.
 */
typedef struct sh_samples {
    size_t count;      /* 0: not by sample */
    bool rows;         /* "samples" are the rows of a gradient of weights */
    size_t least;      /* minimum size of the first slab, unless there are fewer samples */
    uint32_t operands; /* bit i: operand i is by-sample: `count` consecutive samples */
} sh_samples;

const sh_graph *sh_compiler_graph(const sh_compiler *compiler);

const sh_kernels *sh_compiler_kernels(const sh_compiler *compiler);

/* The layout that the node wrote; plain for inputs and parameters. */
sh_layout sh_compiler_layout(const sh_compiler *compiler, sh_value_id value);

/* Returns the buffer of `value` in `layout` (NULL: plain), after a conversion if needed. */
sh_status sh_compiler_input(sh_compiler *compiler, sh_buffer_id *buffer, sh_value_id value,
                            const sh_layout *layout) SHOAL_CHECKED;

/* Returns a new buffer, which the node must fill in `layout` (NULL: plain). */
sh_status sh_compiler_output(sh_compiler *compiler, sh_buffer_id *buffer, sh_value_id value,
                             const sh_layout *layout) SHOAL_CHECKED;

/*
 * Declares that `out` may share the memory of `in`: an instruction that has both as operands never
 * reads a byte of `in` after it has written the same byte of `out`. If nothing reads `in`
 * afterwards, the kernel may get equal pointers for both, so it must declare neither `restrict`. At
 * most SH_MAX_OVERWRITES inputs for each `out`; the compiler uses one of them.
 */
void sh_compiler_may_overwrite(sh_compiler *compiler, sh_buffer_id out, sh_buffer_id in);

/* Declares that plain `buffer` holds the bytes of `value`. */
sh_status sh_compiler_alias(sh_compiler *compiler, sh_value_id value,
                            sh_buffer_id buffer) SHOAL_CHECKED;

/* For one instruction; aligned to SH_ALIGNMENT. */
sh_status sh_compiler_scratch(sh_compiler *compiler, sh_buffer_id *buffer,
                              size_t bytes) SHOAL_CHECKED;

/* Returns zeroed memory for packings, which lives at least as long as the compilation; NULL if
 * memory is exhausted. */
void *sh_compiler_take(sh_compiler *compiler, size_t bytes);

/*
 * Appends an instruction. Takes ownership of `state`, also on failure. The kernel gets pointers to
 * `operands`, in this order. It writes those from sh_compiler_output that no instruction has
 * written yet, and reads all others except scratch.
 */
sh_status sh_compiler_emit(sh_compiler *compiler, const sh_kernel *kernel, void *state,
                           const sh_buffer_id *operands, size_t count,
                           sh_samples samples) SHOAL_CHECKED;

#endif
