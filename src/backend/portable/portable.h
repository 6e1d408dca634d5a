/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The portable backend: every operator in plain C and CBLAS, on every architecture. It is the
 * oracle that the other backends are tested against.
 *
 * An operator's kernel is a `const sh_portable_def sh_portable_<name>`; the operator list makes a
 * forgotten one a link error.
 */
#ifndef SHOAL_BACKEND_PORTABLE_PORTABLE_H
#define SHOAL_BACKEND_PORTABLE_PORTABLE_H

#include "backend/backend.h"
#include "base/variant.h"

extern const sh_backend sh_portable_backend;

/* One execution of one node: its settings, types and operands. */
typedef struct sh_portable_call {
    sh_op op;
    const sh_attributes *attributes;
    const sh_type *in_type;
    const sh_type *out_type;
    uint32_t in_count, out_count;
    void *const *in;
    void *const *out;
    void *scratch;
    size_t elements; /* of kernels for any layout: how many to work on, gaps included */
} sh_portable_call;

typedef struct sh_portable_def {
    /* Required, but for aliases. */
    void (*run)(const sh_portable_call *call);

    /* Optional: bytes of scratch for this call, which has no operands yet. */
    size_t (*scratch_bytes)(const sh_portable_call *call);

    /*
     * Works element by element, so it runs in whatever layout its first input has and gives that.
     * Only for operators that make zeros of zeros: layouts may have gaps, which must stay zero.
     */
    bool any_layout;

    /* The same for operators that make something else of zeros: in layouts without gaps. */
    bool any_full_layout;

    /* The output is the input's bytes: no work at all. */
    bool alias;
} sh_portable_def;

#define SH_OP(name, inputs, outputs, summary) extern const sh_portable_def sh_portable_##name;
#include "graph/ops.def"
#undef SH_OP

#endif
