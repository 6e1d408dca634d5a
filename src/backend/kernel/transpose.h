/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrices turned over: what packs weights and brings images to another layout.
 *
 *     kernels->transpose(O, K, w, K, packed, SH_PANEL);
 *
 * Threads: any; operands are borrowed for the call.
 */
#ifndef SHOAL_BACKEND_KERNEL_TRANSPOSE_H
#define SHOAL_BACKEND_KERNEL_TRANSPOSE_H

#include <stddef.h>

/* to [columns, rows] = from [rows, columns]; from_row and to_row are the distances between rows, in
 * elements. The two do not overlap. */
typedef void sh_transpose(size_t rows, size_t columns, const float *from, size_t from_row,
                          float *to, size_t to_row);

#endif
