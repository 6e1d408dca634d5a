/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors of a file whose elements are known at import: small ones, in memory.
 *
 *     sh_onnx_store store = {0};
 *     sh_onnx_constant axes;
 *     SH_TRY_DONE(sh_onnx_constant_load(&axes, &store, model, graph->initializer[i]));
 *     ...
 *     sh_onnx_store_release(&store);
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_CONSTANT_H
#define SHOAL_ONNX_CONSTANT_H

#include "base/memory.h"
#include "onnx/onnx_file.h"
#include "onnx/onnx_node.h"

#define SH_ONNX_CELLS_MOST ((size_t)1 << 20) /* elements of a constant */
#define SH_ONNX_STORE_MOST ((size_t)1 << 24) /* elements of all constants of an import */

typedef union sh_onnx_cell {
    int64_t whole;
    double real;
} sh_onnx_cell;

/* A tensor whose elements are known. A value. */
typedef struct sh_onnx_constant {
    bool real;    /* numbers; otherwise integers or truth values */
    bool derived; /* made from the shape of a value that has samples */
    size_t rank, count;
    size_t dim[SH_ONNX_RANK_MOST];
    sh_onnx_cell *cells; /* `count`, row-major; borrowed from a store */
} sh_onnx_constant;

/* Where elements of constants lie. Begins as zeros. */
typedef struct sh_onnx_store {
    sh_arena arena;
    size_t cells;
} sh_onnx_store;

void sh_onnx_store_release(sh_onnx_store *store);

/* Gives the constant of this rank and these dimensions its cells, zeroed. SH_LIMIT: too many. */
sh_status sh_onnx_constant_new(sh_onnx_constant *constant, sh_onnx_store *store, bool real,
                               size_t rank, const size_t *dim) SHOAL_CHECKED;

/* The values of a tensor of the file. */
sh_status sh_onnx_constant_load(sh_onnx_constant *constant, sh_onnx_store *store,
                                const sh_onnx *model,
                                const Sh__Onnx__TensorProto *message) SHOAL_CHECKED;

/* Are elements of this type numbers, and no integers? */
bool sh_onnx_is_real(sh_onnx_type type);

/* `x` as numbers or as integers. SH_INVALID: one does not fit. */
sh_status sh_onnx_constant_cast(sh_onnx_constant *constant, sh_onnx_store *store,
                                const sh_onnx_constant *x, bool real) SHOAL_CHECKED;

/*
 * The integers of a constant of at most one dimension: how many, at most `most`. SH_INVALID for
 * anything else.
 */
sh_status sh_onnx_constant_integers(size_t *count, int64_t *values, size_t most,
                                    const sh_onnx_constant *constant) SHOAL_CHECKED;

/*
 * The integers that newer operator sets give as an input and older ones as an attribute. `input` is
 * NULL where there is none. `*given` says whether the node has either.
 */
sh_status sh_onnx_list(bool *given, size_t *count, int64_t *values, size_t most, sh_onnx_node *node,
                       const char *attribute, const sh_onnx_constant *input) SHOAL_CHECKED;

/* `axis` of a tensor of `rank` dimensions, counted from the end if negative. */
sh_status sh_onnx_axis(size_t *axis, int64_t given, size_t rank) SHOAL_CHECKED;

/* What a Slice takes of a dimension: `count` elements, beginning with `first`, `step` apart. */
typedef struct sh_onnx_range {
    size_t first, count;
    int64_t step;
} sh_onnx_range;

/* The ranges of a Slice of a tensor of `rank` dimensions; in[1] and so on: NULL where not given. */
sh_status sh_onnx_ranges(sh_onnx_range *ranges, sh_onnx_node *node, size_t rank, const size_t *dim,
                         const sh_onnx_constant *const *in, size_t in_count) SHOAL_CHECKED;

#endif
