/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products that are summed: what dense layers, products of matrices, convolutions and their
 * gradients are made of. Each output is one chain of fused multiply-adds,
 *
 *     c[i][j] = fma(a[i][K-1], b[K-1][j], ... fma(a[i][1], b[1][j], fma(a[i][0], b[0][j], start)))
 *
 * from +0 on, or from what stands in c: a chain may be continued through memory, so how the work is
 * divided does not show. Vectors run across the columns j, never along a chain.
 *
 *     kernels->product(&(sh_matrix_product){.a = x, .a_row = K, .a_step = 1, ...});
 *
 * Threads: any; operands are borrowed for the call.
 */
#ifndef SHOAL_BACKEND_KERNEL_PRODUCT_H
#define SHOAL_BACKEND_KERNEL_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/* Columns of b that lie together in a panel. */
#define SH_PANEL ((size_t)32)

/* Where a segment of chains begins: the element of a, the row of b. */
typedef struct sh_segment {
    ptrdiff_t a;
    size_t b;
} sh_segment;

/*
 * c [lines, rows, columns] from a [lines, rows, K] and b [K, columns]. K falls into `segments` of
 * `length` each: element k of segment s of row i in line l is
 *
 *     a[starts[s].a + l * a_line + i * a_row + k * a_step] * b[starts[s].b + k]
 *
 * Distances are in elements. One of a_row and a_step is 1.
 */
typedef struct sh_matrix_product {
    const float *a;
    size_t a_line, a_row, a_step;
    const sh_segment *starts; /* [segments]; NULL where there is one, at 0 */
    size_t segments, length;
    const size_t (*ranges)[2]; /* [lines]: the segments [first, end) of each alone; NULL: all */

    const float *b;
    size_t b_row;   /* from one row to the next */
    size_t b_panel; /* from one panel of SH_PANEL columns to the next */
    bool b_padded;  /* rows may be read up to whole panels, or to 16 columns where b_row is 16 */

    float *c;
    size_t c_line, c_row;
    size_t lines, rows, columns;
    bool continues;    /* chains start from the values in c instead of +0 */
    const float *bias; /* [columns], added to the ends of chains; or NULL */
} sh_matrix_product;

/* Floats of a row of a packed panel of a matrix with `columns` columns: the value of b_row. */
static inline size_t sh_panel_width(size_t columns)
{
    return columns <= SH_PANEL / 2 ? SH_PANEL / 2 : SH_PANEL;
}

/* Floats of b [rows, columns], packed in panels. */
static inline size_t sh_panel_floats(size_t rows, size_t columns)
{
    return rows * sh_panel_width(columns) * ((columns + SH_PANEL - 1) / SH_PANEL);
}

#endif
