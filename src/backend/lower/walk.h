/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over two operands row by row. Strides are in elements, by dimension.
 *
 *     sh_walk walk = sh_walk_over(shape, channels_last, to_stride, from_stride);
 *     do
 *         copy(walk.length, to + walk.offset[0], walk.step[0], from + walk.offset[1], ...);
 *     while (sh_walk_next(&walk));
 *
 * Threads: any.
 */
#ifndef SHOAL_BACKEND_LOWER_WALK_H
#define SHOAL_BACKEND_LOWER_WALK_H

#include "tensor/shape.h"

typedef struct sh_walk {
    size_t length;    /* elements of a row */
    size_t step[2];   /* from one element to the next, by operand */
    size_t offset[2]; /* of the row, by operand */
    size_t rank;      /* number of dimensions without the row's, outermost first */
    size_t dim[SH_MAX_RANK], stride[2][SH_MAX_RANK], at[SH_MAX_RANK];
} sh_walk;

/* A shape as [outer, K, inner] around one of its dimensions. */
typedef struct sh_sides {
    size_t outer, K, inner;
} sh_sides;
sh_sides sh_around(size_t axis, const sh_shape *shape);

void sh_strides(size_t stride[SH_MAX_RANK], const sh_shape *shape, bool channels_last);

/* By dimension of `whole`, which ends with those of `shape`; 0 for size 1 or missing. */
void sh_strides_repeated(size_t stride[SH_MAX_RANK], const sh_shape *shape, bool channels_last,
                         const sh_shape *whole);

/*
 * Covers all elements of `shape` in memory order (channels_last: with more than two dimensions).
 * Rows are as long as the strides of both operands allow.
 */
sh_walk sh_walk_over(const sh_shape *shape, bool channels_last, const size_t *a, const size_t *b);

/* Returns false after the last row. */
bool sh_walk_next(sh_walk *walk);

#endif
