/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How each operator is computed: the layouts of its operands, and the function that runs.
 *
 *     static void run(const sh_call *call) { ... call->in[0] ... call->out[0] ... }
 *     const sh_lowering sh_lower_relu = {.run = run, .layout = SH_LAYOUT_OF_FIRST};
 *
 * Each operator needs a `const sh_lowering sh_lower_<name>`. docs/arithmetic.md specifies the
 * arithmetic of each.
 *
 * Threads: any; `run` allocates nothing and takes no lock.
 */
#ifndef SHOAL_BACKEND_LOWER_LOWERING_H
#define SHOAL_BACKEND_LOWER_LOWERING_H

#include "backend/compiler.h"
#include "backend/kernel/kernels.h"
#include "base/variant.h"

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
    bool channels_last; /* of input 0 */
    const sh_kernels *kernels;
    sh_slab slab; /* types of by-sample operands are for this slab */
} sh_call;

/* Bits for by-sample operands. */
#define SH_IN(i) (UINT32_C(1) << (i))
#define SH_OUT(i) (UINT32_C(1) << (SH_MAX_INPUTS + (i)))

typedef struct sh_lowering {
    /* Required, except for aliases. */
    void (*run)(const sh_call *call);

    /* Optional: bytes of scratch. */
    size_t (*scratch_bytes)(const sh_attributes *attributes, const sh_type *in, const sh_type *out);

    /* The layout of operands with three or more dimensions; others are plain. */
    enum {
        SH_LAYOUT_PLAIN,
        SH_LAYOUT_CHANNELS_LAST,
        SH_LAYOUT_OF_FIRST, /* that of input 0; for element-wise operators */
    } layout;

    bool plain_outputs; /* outputs are plain anyway: gradients of weights */

    /* Optional, overrides `layout`. */
    bool (*channels_last)(const sh_compiler *compiler, const sh_node *node);

    /* Optional: changes the layout of input `input`. Packings are in the compiler's memory. */
    sh_status (*input_layout)(sh_compiler *compiler, const sh_node *node, uint32_t input,
                              sh_layout *layout);

    /* Optional: operands that are accessed sample by sample (sh_samples). Not if it sums the
     * gradient of a bias. */
    uint32_t by_sample;

    /* Output 0 is made by row: a call makes the rows of call->slab. */
    bool by_row;

    /* Optional: the minimum of samples for the first run. */
    size_t (*least_samples)(const sh_attributes *attributes, const sh_type *in);

    /* The output is the input's bytes; nothing runs. */
    bool alias;
} sh_lowering;

#define SH_OP(name, ...) extern const sh_lowering sh_lower_##name;
#include "graph/ops.def"
#undef SH_OP

/* Whether this is the first run, or the last, of all samples. */
static inline bool sh_call_begins(const sh_call *call)
{
    return call->slab.first == 0;
}

static inline bool sh_call_ends(const sh_call *call)
{
    return call->slab.first + call->slab.count == call->slab.samples;
}

sh_status sh_lower_node(sh_compiler *compiler, const sh_node *node) SHOAL_CHECKED;

/* For `channels_last`: whether any input is a channels-last image. */
bool sh_any_channels_last(const sh_compiler *compiler, const sh_node *node);

/* The matrices are zeroed and in the compiler's memory. */
sh_status sh_packing_new(sh_packing **packing, sh_compiler *compiler, size_t count) SHOAL_CHECKED;

/* db [columns] sums the rows of dy [rows, columns]. */
void sh_sum_rows(sh_variant variant, size_t rows, size_t columns, const float *dy, float *db);

#endif
