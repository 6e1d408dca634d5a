/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The header of a NumPy array file (.npy): type, shape and offset of its numbers.
 *
 * Format (NumPy documentation, "numpy.lib.format"): "\x93NUMPY"; one byte each for the major and
 * minor version; the dictionary's length (u16 in version 1, u32 in 2 and 3, little-endian); then a
 * Python dictionary as text: {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 784), }. The
 * parser knows only these three entries. It evaluates nothing and rejects arrays of objects.
 *
 *     sh_npy_header header;
 *     SH_TRY(sh_fail_in(sh_npy_parse(&header, bytes, got, file_bytes), "%s", path));
 *     // header.count numbers of header.item_bytes each begin at byte header.data_at
 *
 * Threads: any.
 */
#ifndef SHOAL_DATA_ARRAY_NPY_H
#define SHOAL_DATA_ARRAY_NPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_NPY_RANK_MOST 8        /* most dimensions */
#define SH_NPY_HEADER_MOST 65536u /* most bytes before the numbers */

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
    uint64_t count;   /* product of the shape; count * item_bytes + data_at is the file's size */
    uint64_t data_at; /* offset of the numbers */
} sh_npy_header;

/*
 * Parses the beginning of a file of `file_bytes` bytes. bytes[0 .. count - 1] must hold the whole
 * file or at least SH_NPY_HEADER_MOST bytes. Fails with SH_FORMAT, SH_VERSION, SH_CORRUPT (cut off
 * or too long), SH_LIMIT (shape or header too large), SH_UNSUPPORTED (other types, Fortran order).
 * The caller adds the file's name to the message.
 */
sh_status sh_npy_parse(sh_npy_header *header, const uint8_t *bytes, size_t count,
                       uint64_t file_bytes) SHOAL_CHECKED;

/* Converts `count` consecutive numbers. Whole numbers beyond 2^53 are rounded. */
void sh_npy_numbers(double *numbers, const sh_npy_header *header, const uint8_t *bytes,
                    size_t count);

#endif
