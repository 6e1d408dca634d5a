/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a NumPy array file (.npy): which numbers it holds, in which shape, and where.
 *
 *     sh_npy_header header;
 *     SH_TRY(sh_fail_in(sh_npy_parse(&header, bytes, got, file_bytes), "%s", path));
 *     // header.count numbers of header.item_bytes each begin at byte header.data_at
 *
 * The format (NumPy's documentation, "numpy.lib.format"): "\x93NUMPY", a byte each of major and
 * minor version, the length of what follows (u16 in version 1, u32 in 2 and 3, little-endian), and
 * a Python dictionary as text: {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }.
 * The text is read by a parser of these three entries alone. Nothing is evaluated, and arrays of
 * Python objects are refused.
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_ARRAY_NPY_H
#define SHOAL_DATA_ARRAY_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_NPY_RANK_MOST 8        /* dimensions */
#define SH_NPY_HEADER_MOST 65536u /* bytes before the numbers */

typedef enum sh_npy_kind {
    SH_NPY_BOOL,     /* |b1: 0 or 1 */
    SH_NPY_UNSIGNED, /* |u1 <u2 <u4 */
    SH_NPY_SIGNED,   /* |i1 <i2 <i4 <i8 */
    SH_NPY_FLOAT,    /* <f4 <f8 */
} sh_npy_kind;

typedef struct sh_npy_header {
    sh_npy_kind kind;
    uint32_t item_bytes; /* 1, 2, 4 or 8 */
    uint32_t rank;
    uint64_t shape[SH_NPY_RANK_MOST];
    uint64_t count;   /* numbers: the product of the shape; their bytes fit into the file */
    uint64_t data_at; /* bytes of the header */
} sh_npy_header;

/*
 * Parses the beginning of a file of `file_bytes` bytes: bytes[0 .. count - 1] is the whole file or
 * at least SH_NPY_HEADER_MOST. Fails with SH_FORMAT, SH_VERSION, SH_CORRUPT (cut off), SH_LIMIT
 * (shapes that cannot be), SH_UNSUPPORTED (other numbers, Fortran's order); the caller adds the
 * file's name.
 */
sh_status sh_npy_parse(sh_npy_header *header, const uint8_t *bytes, size_t count,
                       uint64_t file_bytes) SHOAL_CHECKED;

/* Converts `count` numbers that follow each other. Whole numbers beyond 2^53 are rounded. */
void sh_npy_numbers(double *numbers, const sh_npy_header *header, const uint8_t *bytes,
                    size_t count);

#endif
