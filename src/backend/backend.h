/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between a graph and what computes it. A backend turns nodes into instructions: it asks
 * the compiler for its operands in the layout that it likes best and emits kernels that work on
 * them.
 *
 *     sh_backend_list backends;
 *     SH_TRY(sh_backend_choose(&backends, NULL));            // the best that this machine can run
 *     SH_TRY(sh_program_compile(&program, graph, &backends));
 *
 * Backends are asked in order for each node; the last one, `portable`, does everything.
 *
 * Threads: choosing and compiling: caller locks. Running: program.h.
 */
#ifndef SHOAL_BACKEND_BACKEND_H
#define SHOAL_BACKEND_BACKEND_H

#include "graph/graph.h"

#define SH_MAX_OPERANDS 10
#define SH_MAX_BACKENDS 4
#define SH_MAX_OVERWRITES 2

typedef struct sh_backend sh_backend;
typedef struct sh_compiler sh_compiler;

/* How a value lies in memory. Plain (owner NULL) is row-major without gaps. */
typedef struct sh_layout {
    const sh_backend *owner; /* whose description it is */
    const void *description; /* the owner's; lives as long as the compiler */
    size_t bytes;
} sh_layout;

/* Do both mean the same bytes? */
bool sh_layout_same(const sh_layout *a, const sh_layout *b);

/* A place in memory that instructions work on; index into the program's buffers. */
typedef uint32_t sh_buffer_id;

/* What an instruction runs, in any lane, without allocation and locks. `state` is shared by all
 * lanes and constant. */
typedef struct sh_kernel {
    /* Required, but of a kernel that binds. Computes. */
    void (*run)(const void *state, void *const *operands);

    /* Optional. Makes what a lane needs to run on these operands, once; that is its own. Then
     * run_bound, in place of run, and unbind are required. */
    sh_status (*bind)(void **bound, const void *state, void *const *operands);
    sh_status (*run_bound)(const void *state, void *bound, void *const *operands);
    void (*unbind)(void *bound);

    void (*release)(void *state); /* optional: frees the state */
} sh_kernel;

struct sh_backend {
    const char *name;

    /* Required. May this machine run it? Never executes what the processor lacks. */
    bool (*available)(void);

    /* Optional. Prepares the calling thread to run kernels; each lane calls it once. */
    void (*enter_thread)(void);

    /* What its libraries come to hold for each such thread, beside what programs ask for: measured,
     * where weights are large. */
    size_t thread_bytes;

    /*
     * Required. Emits instructions that compute `node`. *taken = false (and nothing emitted) leaves
     * the node to the next backend.
     */
    sh_status (*compile)(sh_compiler *compiler, const sh_node *node, bool *taken);

    /* Optional, required where the backend makes layouts of its own. */
    bool (*same_layout)(const sh_layout *a, const sh_layout *b);

    /* As same_layout. Emits the conversion of a value between two layouts of which one is its own.
     */
    sh_status (*convert)(sh_compiler *compiler, sh_value_id value, sh_buffer_id from,
                         const sh_layout *from_layout, sh_buffer_id to, const sh_layout *to_layout);
};

/* Backends in the order in which they are asked. */
typedef struct sh_backend_list {
    const sh_backend *items[SH_MAX_BACKENDS];
    size_t count;
} sh_backend_list;

/*
 * The backends to use: all that this machine can run where `name` is NULL, else `name` and portable
 * beneath it. An unknown or unavailable name is a failure that lists what there is.
 */
sh_status sh_backend_choose(sh_backend_list *list, const char *name) SHOAL_CHECKED;

/* Prepares the calling thread for all backends in the list. */
void sh_backend_enter_thread(const sh_backend_list *list);

/* Every backend of this build, best first; NULL at the end. */
const sh_backend *const *sh_backend_all(void);

#endif
