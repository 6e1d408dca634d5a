/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a value lies in memory.
 *
 *     plain           row-major without gaps
 *     channels-last   [N, C, ...] as rows of channels, [N, ..., C]: what convolutions, batch
 *                     normalisation and pooling work in
 *     packed          weights as the panels of kernel/product.h, in the order in which a kernel
 *                     multiplies them
 *
 *     const sh_layout layout = sh_layout_channels_last(type);
 *     SH_TRY(sh_compiler_input(compiler, &x, node->in[0], &layout));
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
 * One matrix of a packing: its rows are the elements (i, j, k) below count, its columns are
 * column_step apart, from element `from` of the plain value on:
 *
 *     from + i step[0] + j step[1] + k step[2] + column column_step
 *
 * Packed it begins at element `to`: panels of `width` columns, the last one with zeros at its end.
 */
typedef struct sh_matrix {
    size_t from, to;
    size_t count[3];
    ptrdiff_t step[3];
    size_t columns, column_step, width;
} sh_matrix;

typedef struct sh_packing {
    size_t floats; /* of the whole, packed */
    size_t count;
    sh_matrix *matrices; /* [count], owned as the packing is */
} sh_packing;

typedef struct sh_layout {
    bool channels_last;
    const sh_packing *packing; /* borrowed as long as the layout; NULL: not packed */
    size_t bytes;
} sh_layout;

/* Do both mean the same bytes? */
bool sh_layout_same(const sh_layout *a, const sh_layout *b);

sh_layout sh_layout_plain(const sh_type *type);

/* Plain where that means the same: no channels beside others, or nothing behind them. */
sh_layout sh_layout_channels_last(const sh_type *type);

sh_layout sh_layout_packed(const sh_packing *packing);

/* Copies a value from plain to another layout, or from channels-last to plain. */
void sh_layout_convert(const sh_kernels *kernels, const sh_type *type, const sh_layout *from,
                       const void *source, const sh_layout *to, void *target);

/* Writes the columns of one matrix, rows of `width`, back to where they come from in `plain`. */
void sh_matrix_unpack(const sh_matrix *matrix, const float *packed, float *plain);

#endif
