/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The destination of a raw frame's body. The body is either stored, or added to integers: those in
 * the destination itself, or those of a separate, unchanged array (the base).
 *
 *     *sink = (sh_sink){.adds = sizeof *total,
 *                       .data = total,
 *                       .bytes = count * sizeof *total,
 *                       .base = own};                       // total[i] = own[i] + what arrives
 *
 * Integers on the wire are little-endian. They are added element by element and wrap around.
 *
 * Threads: caller locks. The loop's thread writes the data piece by piece until the frame is done.
 * If the channel closes in the middle of a body, a part of it was already stored or added.
 */
#ifndef SHOAL_NET_SINK_H
#define SHOAL_NET_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_sink {
    size_t adds; /* bytes of each integer to add: 1, 2, 4 or 8; 0: the body is stored */
    /* The destination, borrowed until the frame is done or the channel closed. NULL for 0 bytes.
     * If `adds` is not 0, aligned to an integer; the integers may be signed or unsigned. */
    void *data;
    size_t bytes; /* room in data; a larger frame is refused, a smaller one is accepted */
    /* The integers to add to, with the size and alignment of data and not overlapping it. NULL:
     * data itself. Borrowed like data. Unused if `adds` is 0. */
    const void *base;
} sh_sink;

/* SH_FORMAT: a body of `bytes` does not fit, or is not a whole number of elements. */
sh_status sh_sink_check(const sh_sink *sink, size_t bytes) SHOAL_CHECKED;

/* Adds the integers in the `bytes` bytes at `wire` to those at the byte `offset` of the base, and
 * stores the sums at the same offset of the data. `adds` is not 0, and `offset` and `bytes` are
 * multiples of it. */
void sh_sink_add(const sh_sink *sink, size_t offset, const unsigned char *wire, size_t bytes);

#endif
