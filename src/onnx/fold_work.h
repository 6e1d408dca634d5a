/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Declarations shared by fold.c, which has the list of operators, fold_moves.c, fold_numbers.c and
 * fold_places.c.
 *
 * The caller makes sure that there is one output and that input 0 is given, except for Constant.
 *
 *     sh_status sh_fold_identity(const sh_fold_work *w)
 *     {
 *         w->out[0] = *w->in[0];
 *         return SH_OK;
 *     }
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_ONNX_FOLD_WORK_H
#define SHOAL_ONNX_FOLD_WORK_H

#include "onnx/fold.h"

typedef struct sh_fold_work {
    sh_onnx_node *node;
    const sh_onnx_constant *const *in;
    size_t in_count;
    sh_onnx_constant *out;
    size_t out_count;
    const sh_onnx *model;
    sh_onnx_store *store;
} sh_fold_work;

typedef sh_status sh_fold_function(const sh_fold_work *w);
sh_fold_function sh_fold_add;
sh_fold_function sh_fold_and;
sh_fold_function sh_fold_cast;
sh_fold_function sh_fold_concat;
sh_fold_function sh_fold_constant;
sh_fold_function sh_fold_constant_of_shape;
sh_fold_function sh_fold_cumsum;
sh_fold_function sh_fold_div;
sh_fold_function sh_fold_equal;
sh_fold_function sh_fold_expand;
sh_fold_function sh_fold_flatten;
sh_fold_function sh_fold_gather;
sh_fold_function sh_fold_gather_elements;
sh_fold_function sh_fold_greater;
sh_fold_function sh_fold_greater_or_equal;
sh_fold_function sh_fold_identity;
sh_fold_function sh_fold_less;
sh_fold_function sh_fold_less_or_equal;
sh_fold_function sh_fold_max;
sh_fold_function sh_fold_min;
sh_fold_function sh_fold_mod;
sh_fold_function sh_fold_mul;
sh_fold_function sh_fold_not;
sh_fold_function sh_fold_one;
sh_fold_function sh_fold_or;
sh_fold_function sh_fold_pad;
sh_fold_function sh_fold_pow;
sh_fold_function sh_fold_range;
sh_fold_function sh_fold_reduce;
sh_fold_function sh_fold_reshape;
sh_fold_function sh_fold_scatter_nd;
sh_fold_function sh_fold_slice;
sh_fold_function sh_fold_squeeze;
sh_fold_function sh_fold_sub;
sh_fold_function sh_fold_sum;
sh_fold_function sh_fold_tile;
sh_fold_function sh_fold_transpose;
sh_fold_function sh_fold_trilu;
sh_fold_function sh_fold_unsqueeze;
sh_fold_function sh_fold_where;
sh_fold_function sh_fold_xor;

/* Returns NULL if the input is not given. */
const sh_onnx_constant *sh_fold_input(const sh_fold_work *w, size_t index);

/* Advances to the next index tuple. Returns false after the last one. */
bool sh_fold_next_place(size_t *place, size_t rank, const size_t *dim);

/* Computes the shape that two shapes are broadcast to. */
sh_status sh_fold_broadcast(size_t *rank, size_t *dim, size_t a_rank, const size_t *a,
                            size_t b_rank, const size_t *b) SHOAL_CHECKED;

/* Computes the strides that broadcast `x` to `rank` dimensions: 0 where elements repeat. */
void sh_fold_broadcast_strides(int64_t *stride, const sh_onnx_constant *x, size_t rank);

/* `how` is "add", "mul", "max" or "min". */
sh_status sh_fold_combine(sh_onnx_cell *y, bool real, const char *how, sh_onnx_cell a,
                          sh_onnx_cell b) SHOAL_CHECKED;

#endif
