/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors whose elements are known at import. They are small and kept in memory.
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

/* Can be copied by value. */
typedef struct sh_onnx_constant {
    bool real;    /* floating-point elements; otherwise integers or truth values */
    bool derived; /* computed from the shape of a value that has a sample dimension */
    size_t rank, count;
    size_t dim[SH_ONNX_RANK_MOST];
    sh_onnx_cell *cells; /* `count` elements, row-major; borrowed from a store */
} sh_onnx_constant;

/* Owns the elements of constants. Initialise with zeros. */
typedef struct sh_onnx_store {
    sh_arena arena;
    size_t cells;
} sh_onnx_store;

void sh_onnx_store_release(sh_onnx_store *store);

/* Makes a constant with zeroed cells. SH_LIMIT if it has too many elements. */
sh_status sh_onnx_constant_new(sh_onnx_constant *constant, sh_onnx_store *store, bool real,
                               size_t rank, const size_t *dim) SHOAL_CHECKED;

sh_status sh_onnx_constant_load(sh_onnx_constant *constant, sh_onnx_store *store,
                                const sh_onnx *model,
                                const Sh__Onnx__TensorProto *message) SHOAL_CHECKED;

bool sh_onnx_is_real(sh_onnx_type type);

/* Converts to floating point or to integers. SH_INVALID if an element does not fit. */
sh_status sh_onnx_constant_cast(sh_onnx_constant *constant, sh_onnx_store *store,
                                const sh_onnx_constant *x, bool real) SHOAL_CHECKED;

/* Copies the integers of a constant of at most one dimension. SH_LIMIT if it has more than `most`,
 * SH_INVALID if it is not a list of integers. */
sh_status sh_onnx_constant_integers(size_t *count, int64_t *values, size_t most,
                                    const sh_onnx_constant *constant) SHOAL_CHECKED;

/* Reads a list of integers that newer operator sets pass as an input (NULL if not given) and older
 * ones as an attribute. `*given` is true if the node has either. */
sh_status sh_onnx_list(bool *given, size_t *count, int64_t *values, size_t most, sh_onnx_node *node,
                       const char *attribute, const sh_onnx_constant *input) SHOAL_CHECKED;

/* Checks an axis of a tensor of `rank` dimensions. Negative axes count from the end. */
sh_status sh_onnx_axis(size_t *axis, int64_t given, size_t rank) SHOAL_CHECKED;

/* What a Slice takes from one dimension: `count` elements from `first` on, `step` apart. */
typedef struct sh_onnx_range {
    size_t first, count;
    int64_t step;
} sh_onnx_range;

/* Reads the ranges of a Slice. `in` holds its inputs, NULL for those that are not given. */
sh_status sh_onnx_ranges(sh_onnx_range *ranges, sh_onnx_node *node, size_t rank, const size_t *dim,
                         const sh_onnx_constant *const *in, size_t in_count) SHOAL_CHECKED;

#endif
