/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposes matrices, to pack weights and to change the layout of images.
 *
 *     kernels->transpose(O, K, w, K, packed, SH_PANEL);
 *
 * Threads: any; operands are borrowed for the call.
 */
#ifndef SHOAL_BACKEND_KERNEL_TRANSPOSE_H
#define SHOAL_BACKEND_KERNEL_TRANSPOSE_H

#include <stddef.h>

/* to [columns, rows] = from [rows, columns]. from_row and to_row are distances between rows, in
 * elements. No overlap. */
typedef void sh_transpose(size_t rows, size_t columns, const float *from, size_t from_row,
                          float *to, size_t to_row);

#endif
