/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From graph to program: what lowering a node sees of the compiler.
 *
 *     sh_buffer_id x, y;
 *     SH_TRY(sh_compiler_input(compiler, &x, node->in[0], NULL));      // plain
 *     SH_TRY(sh_compiler_output(compiler, &y, node->out[0], NULL));
 *     return sh_compiler_emit(compiler, &kernel, state, (sh_buffer_id[]){x, y}, 2);
 *
 * A value may lie in several layouts; the first is its maker's, others are conversions, made once.
 * Whatever depends on weights alone is computed once a step instead of once a grain.
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

/* A place in memory that instructions work on; index into the program's buffers. */
typedef uint32_t sh_buffer_id;

/* The samples that a run of an instruction is for; all zero where it does not go by sample. */
typedef struct sh_slab {
    size_t first, count; /* of this run; runs are in order */
    size_t samples;      /* of all runs together */
} sh_slab;

/* What an instruction runs. `state` is shared by all lanes and constant. */
typedef struct sh_kernel {
    /* Required. Computes. Operands that go by sample begin with the slab's first sample. No
     * allocation, no lock, any lane. */
    void (*run)(const void *state, void *const *operands, const sh_slab *slab);
    void (*release)(void *state); /* optional: frees the state */
} sh_kernel;

/*
 * How an instruction goes by sample: it reads and writes operands (bit i: operand i) sample by
 * sample, and may run for some of them at a time, in order; scratch lasts until the last.
 */
typedef struct sh_samples {
    size_t count;      /* 0: it does not */
    bool rows;         /* "samples" are the rows of a gradient of weights */
    size_t least;      /* the first run needs so many, if there are so many */
    uint32_t operands; /* each has count samples, one behind the other */
} sh_samples;

const sh_graph *sh_compiler_graph(const sh_compiler *compiler);

/* What its instructions run. */
const sh_kernels *sh_compiler_kernels(const sh_compiler *compiler);

/* The layout in which the value was made; plain for inputs and parameters. */
sh_layout sh_compiler_layout(const sh_compiler *compiler, sh_value_id value);

/* The buffer that holds `value` in `layout` (NULL: plain); emits a conversion where there is none.
 */
sh_status sh_compiler_input(sh_compiler *compiler, sh_buffer_id *buffer, sh_value_id value,
                            const sh_layout *layout) SHOAL_CHECKED;

/* A new buffer that the node will fill with `value` in `layout` (NULL: plain). */
sh_status sh_compiler_output(sh_compiler *compiler, sh_buffer_id *buffer, sh_value_id value,
                             const sh_layout *layout) SHOAL_CHECKED;

/*
 * Says that the instruction which writes `out` may do so in the place of `in`: wherever `in` is
 * among its operands, it reads each byte before it writes the same byte of `out`, and reads none of
 * it later. Where nobody needs `in` afterwards the two then share their memory; the kernel finds
 * equal pointers, so it declares neither `restrict`. Of several such inputs (at most
 * SH_MAX_OVERWRITES) one is taken.
 */
void sh_compiler_may_overwrite(sh_compiler *compiler, sh_buffer_id out, sh_buffer_id in);

/* `value` is the same bytes as what plain `buffer` holds: no instruction, no copy. */
sh_status sh_compiler_alias(sh_compiler *compiler, sh_value_id value,
                            sh_buffer_id buffer) SHOAL_CHECKED;

/* Memory for the time of one instruction; aligned to SH_ALIGNMENT. */
sh_status sh_compiler_scratch(sh_compiler *compiler, sh_buffer_id *buffer,
                              size_t bytes) SHOAL_CHECKED;

/* Zeroed memory for packings; lives at least as long as the compilation. */
void *sh_compiler_take(sh_compiler *compiler, size_t bytes);

/*
 * Appends an instruction. `operands` are passed to the kernel as pointers, in this order. `state`
 * is owned by the program from here on, also where this fails. Buffers from sh_compiler_output
 * among the operands are written, all others but scratch are read.
 */
sh_status sh_compiler_emit(sh_compiler *compiler, const sh_kernel *kernel, void *state,
                           const sh_buffer_id *operands, size_t count,
                           sh_samples samples) SHOAL_CHECKED;

#endif
