/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums of products: the core of dense layers, matrix products, convolutions and their gradients.
 * Each output is a chain of fused multiply-adds,
 *
 *     c[i][j] = fma(a[i][K-1], b[K-1][j], ... fma(a[i][1], b[1][j], fma(a[i][0], b[0][j], start)))
 *
 * which starts from +0 or from the value in c. A chain can continue through memory, so the division
 * of the work does not change the bits. Vectors run across the columns j, never along a chain.
 *
 *     kernels->product(&(sh_matrix_product){.a = x, .a_row = K, .a_step = 1, ...});
 *
 * Threads: any; operands are borrowed for the call.
 */
#ifndef SHOAL_BACKEND_KERNEL_PRODUCT_H
#define SHOAL_BACKEND_KERNEL_PRODUCT_H

#include <stdbool.h>
#include <stddef.h>

/* Columns of b in a panel. */
#define SH_PANEL ((size_t)32)

/* The start of a segment: its element of a, its row of b. */
typedef struct sh_segment {
    ptrdiff_t a;
    size_t b;
} sh_segment;

/*
 * c [lines, rows, columns] from a [lines, rows, K] and b [K, columns]. K has `segments` of `length`
 * each. Element k of segment s of row i in line l is
 *
 *     a[starts[s].a + l * a_line + i * a_row + k * a_step] * b[starts[s].b + k]
 *
 * Distances are in elements. One of a_row and a_step is 1.
 */
typedef struct sh_matrix_product {
    const float *a;
    size_t a_line, a_row, a_step;
    const sh_segment *starts; /* [segments]; NULL: one, at 0 */
    size_t segments, length;
    const size_t (*ranges)[2]; /* [lines]: segments [first, end); NULL: all */

    const float *b;
    size_t b_row;   /* distance of rows */
    size_t b_panel; /* distance of panels of SH_PANEL columns */
    bool b_padded;  /* whole panels may be read, or 16 columns if b_row is 16 */

    float *c;
    size_t c_line, c_row;
    size_t lines, rows, columns;
    bool continues;    /* from c instead of +0 */
    const float *bias; /* [columns], added at the end; or NULL */
} sh_matrix_product;

/* Floats of a row in a packed panel: its b_row. */
static inline size_t sh_panel_width(size_t columns)
{
    return columns <= SH_PANEL / 2 ? SH_PANEL / 2 : SH_PANEL;
}

/* Floats of packed b [rows, columns]. */
static inline size_t sh_panel_floats(size_t rows, size_t columns)
{
    return rows * sh_panel_width(columns) * ((columns + SH_PANEL - 1) / SH_PANEL);
}

#endif
