/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The destination of a raw frame's body. The body is either stored, or added to integers: those in
 * the destination itself, or those of a separate, unchanged array (the base). Integers on the wire
 * are little-endian; sums wrap around.
 *
 *     *sink = (sh_sink){.adds = sizeof *total,
 *                       .data = total,
 *                       .bytes = count * sizeof *total,
 *                       .base = own};                       // total[i] = own[i] + what arrives
 *
 * Threads: caller locks. The loop's thread writes the data piece by piece until the frame is done.
 * If the channel closes in the middle of a body, a part was already stored or added.
 */
#ifndef SHOAL_NET_SINK_H
#define SHOAL_NET_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_sink {
    size_t adds; /* bytes of each integer to add: 1, 2, 4 or 8; 0: store */
    /* Borrowed until the frame is done or the channel closed. NULL for 0 bytes. Aligned to an
     * integer if `adds` is not 0. */
    void *data;
    size_t bytes; /* of data; a larger frame is refused */
    /* Has the size and alignment of data; must not overlap it. NULL: data itself. Borrowed like
     * data. */
    const void *base;
} sh_sink;

/* SH_FORMAT: `bytes` do not fit, or are not whole elements. */
sh_status sh_sink_check(const sh_sink *sink, size_t bytes) SHOAL_CHECKED;

/* Adds the integers in `bytes` bytes at `wire` to those at the byte `offset` of the base, and
 * stores the sums at the same offset of the data. `adds` is not 0; it divides `offset` and
 * `bytes`. */
void sh_sink_add(const sh_sink *sink, size_t offset, const unsigned char *wire, size_t bytes);

#endif
