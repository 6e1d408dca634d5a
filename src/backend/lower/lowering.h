/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How each operator is computed: the layouts of its operands, and the function that runs on them.
 *
 *     static void run(const sh_call *call) { ... call->in[0] ... call->out[0] ... }
 *     const sh_lowering sh_lower_relu = {.run = run, .layout = SH_LAYOUT_OF_FIRST};
 *
 * One `const sh_lowering sh_lower_<name>` an operator; the operator list makes a forgotten one a
 * link error. docs/arithmetic.md says what each computes, operation by operation.
 *
 * Threads: any; `run` allocates nothing and takes no lock.
 */
#ifndef SHOAL_BACKEND_LOWER_LOWERING_H
#define SHOAL_BACKEND_LOWER_LOWERING_H

#include "backend/compiler.h"
#include "backend/kernel/kernels.h"
#include "base/variant.h"

/* One execution of one node: its settings, types and operands. */
typedef struct sh_call {
    sh_op op;
    const sh_attributes *attributes;
    const sh_type *in_type;
    const sh_type *out_type;
    uint32_t in_count, out_count;
    void *const *in;
    void *const *out;
    void *scratch;      /* aligned to SH_ALIGNMENT */
    size_t elements;    /* of input 0 */
    bool channels_last; /* the layout of input 0 */
    const sh_kernels *kernels;
    sh_slab slab; /* the types of by-sample operands are those of the slab */
} sh_call;

/* By-sample operands. */
#define SH_IN(i) (UINT32_C(1) << (i))
#define SH_OUT(i) (UINT32_C(1) << (SH_MAX_INPUTS + (i)))

typedef struct sh_lowering {
    /* Required, except for aliases. */
    void (*run)(const sh_call *call);

    /* Optional: bytes of scratch for these types. */
    size_t (*scratch_bytes)(const sh_attributes *attributes, const sh_type *in, const sh_type *out);

    /* The layout of operands of three dimensions and more; others are plain. */
    enum {
        SH_LAYOUT_PLAIN,
        SH_LAYOUT_CHANNELS_LAST,
        SH_LAYOUT_OF_FIRST, /* that of input 0, whichever it is: works element by element */
    } layout;

    bool plain_outputs; /* whatever the layout of inputs: weights' gradients */

    /* Optional: overrules `layout`: are such operands channels-last? */
    bool (*channels_last)(const sh_compiler *compiler, const sh_node *node);

    /* Optional: changes the layout of input `input`, for example to packed weights, whose packing
     * is taken from the compiler's memory. */
    sh_status (*input_layout)(sh_compiler *compiler, const sh_node *node, uint32_t input,
                              sh_layout *layout);

    /* Optional: operands that it reads and writes sample by sample, so that it may run for some of
     * them at a time (sh_samples). Not where it sums up the gradient of a bias. */
    uint32_t by_sample;

    /* It makes output 0 row by row: a call makes the rows of call->slab. */
    bool by_row;

    /* Optional: how many samples the first run needs. */
    size_t (*least_samples)(const sh_attributes *attributes, const sh_type *in);

    /* The output is the input's bytes: no work at all. */
    bool alias;
} sh_lowering;

#define SH_OP(name, ...) extern const sh_lowering sh_lower_##name;
#include "graph/ops.def"
#undef SH_OP

/* Whether this is the first, or the last, of the runs that cover all samples. */
static inline bool sh_call_begins(const sh_call *call)
{
    return call->slab.first == 0;
}

static inline bool sh_call_ends(const sh_call *call)
{
    return call->slab.first + call->slab.count == call->slab.samples;
}

/* Emits the instructions that compute `node`. */
sh_status sh_lower_node(sh_compiler *compiler, const sh_node *node) SHOAL_CHECKED;

/* For the member channels_last: whether any input is an image in channels-last layout. */
bool sh_any_channels_last(const sh_compiler *compiler, const sh_node *node);

/* Makes a packing of `count` zeroed matrices in the compiler's memory. */
sh_status sh_packing_new(sh_packing **packing, sh_compiler *compiler, size_t count) SHOAL_CHECKED;

/* db [columns]: the sum of the rows of dy [rows, columns]. */
void sh_sum_rows(sh_variant variant, size_t rows, size_t columns, const float *dy, float *db);

#endif
