/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Element types and shapes. Data is row-major (the last dimension is the fastest); images are
 * N, C, H, W. The empty shape is a scalar.
 *
 *     sh_shape shape = sh_shape_of(4, (size_t[]){n, channels, height, width});
 *     size_t bytes = sh_type_bytes(&(sh_type){SH_F32, shape});
 *
 * Threads: any.
 */
#ifndef SHOAL_TENSOR_SHAPE_H
#define SHOAL_TENSOR_SHAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/fail.h"

#define SH_MAX_RANK 8

/* Name, bytes per element, name in safetensors files. */
#define SH_DTYPE_MAP(X)                                                                            \
    X(F32, 4, "F32")                                                                               \
    X(I32, 4, "I32")                                                                               \
    X(U8, 1, "U8")

typedef enum sh_dtype {
#define SH_DTYPE_ENUM(name, bytes, text) SH_##name,
    SH_DTYPE_MAP(SH_DTYPE_ENUM)
#undef SH_DTYPE_ENUM
} sh_dtype;

typedef struct sh_shape {
    size_t rank;
    size_t dim[SH_MAX_RANK]; /* [0 .. rank - 1]; the rest is 0 */
} sh_shape;

typedef struct sh_type {
    sh_dtype dtype;
    sh_shape shape;
} sh_type;

size_t sh_dtype_bytes(sh_dtype dtype);
const char *sh_dtype_text(sh_dtype dtype);

/* `rank` is at most SH_MAX_RANK. */
sh_shape sh_shape_of(size_t rank, const size_t *dim);
bool sh_shape_equal(const sh_shape *a, const sh_shape *b);
bool sh_type_equal(const sh_type *a, const sh_type *b);

/*
 * Returns SH_LIMIT if the rank is above SH_MAX_RANK, a dimension is 0, or the size at 8 bytes per
 * element does not fit a size_t. Functions that get a shape from outside call this first.
 */
sh_status sh_shape_check(const sh_shape *shape) SHOAL_CHECKED;

/* The shape must have passed sh_shape_check. */
size_t sh_shape_count(const sh_shape *shape);
size_t sh_type_bytes(const sh_type *type);

#define SH_SHAPE_TEXT 192
/* Writes "8x20x24x24" ("scalar" for the empty shape) and returns `text`. */
const char *sh_shape_print(const sh_shape *shape, char text[SH_SHAPE_TEXT]);

#endif
