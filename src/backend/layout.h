/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layout of a value in memory.
 *
 *     plain           row-major without gaps
 *     channels-last   [N, C, ...] as [N, ..., C]; for convolutions, batch normalisation, pooling
 *     packed          weights in the panels of kernel/product.h
 *
 * Threads: any; descriptions are constant.
 */
#ifndef SHOAL_BACKEND_LAYOUT_H
#define SHOAL_BACKEND_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "backend/kernel/kernels.h"
#include "tensor/shape.h"

/*
 * One matrix of a packing. A row has an index (i, j, k) below count; the element of row (i, j, k)
 * and column `column` is this element of the plain value:
 *
 *     from + i step[0] + j step[1] + k step[2] + column column_step
 *
 * The packed matrix begins at element `to`, as panels of `width` columns. Zeros fill the last
 * panel.
 */
typedef struct sh_matrix {
    size_t from, to;
    size_t count[3];
    ptrdiff_t step[3];
    size_t columns, column_step, width;
} sh_matrix;

typedef struct sh_packing {
    size_t floats; /* of all packed matrices */
    size_t count;
    sh_matrix *matrices; /* [count], same lifetime as the packing */
} sh_packing;

typedef struct sh_layout {
    bool channels_last;
    const sh_packing *packing; /* borrowed; must outlive the layout; NULL: not packed */
    size_t bytes;
} sh_layout;

bool sh_layout_same(const sh_layout *a, const sh_layout *b);

sh_layout sh_layout_plain(const sh_type *type);

/* Returns plain if both are the same. */
sh_layout sh_layout_channels_last(const sh_type *type);

sh_layout sh_layout_packed(const sh_packing *packing);

/* One of the layouts is plain, and a packed one is only a target. `source` and `target` must not
 * overlap. */
void sh_layout_convert(const sh_kernels *kernels, const sh_type *type, const sh_layout *from,
                       const void *source, const sh_layout *to, void *target);

/* Copies a packed matrix, which begins at `packed`, back to its elements of `plain`. */
void sh_matrix_unpack(const sh_matrix *matrix, const float *packed, float *plain);

#endif
