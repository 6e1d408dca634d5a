/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the body of a raw frame goes: stored, added to what is there, or the sum of it and of other
 * integers (the base), which stay as they are.
 *
 *     *sink = (sh_sink){.adds = sizeof *total,
 *                       .data = total,
 *                       .bytes = count * sizeof *total,
 *                       .base = own};                       // total[i] = own[i] + what arrives
 *
 * Integers on the wire are little-endian and are added modulo 2 to the number of their bits,
 * element by element.
 *
 * Threads: caller locks; a sink's data is written on the loop's thread, piece by piece, until the
 * frame is done. Where a channel closes in the middle of a body, a part of it has been written or
 * added already.
 */
#ifndef SHOAL_NET_SINK_H
#define SHOAL_NET_SINK_H

#include <stddef.h>
#include <stdint.h>

#include "base/fail.h"

typedef struct sh_sink {
    size_t adds; /* the body is integers of 1, 2, 4 or 8 bytes to be added; 0: it is stored */
    /* Borrowed until the frame is done or the channel closed; NULL for 0 bytes. Integers to be
     * added to are aligned, and signed or not. */
    void *data;
    size_t bytes; /* room in data: a frame may have fewer, one with more is refused */
    /* What is added to, as long and aligned as data and apart from it; NULL: data itself. Borrowed
     * as data is. What is stored has none. */
    const void *base;
} sh_sink;

/* SH_FORMAT: a body of `bytes` does not fit or is no whole number of elements. */
sh_status sh_sink_check(const sh_sink *sink, size_t bytes) SHOAL_CHECKED;

/* Adds the whole integers in `bytes` bytes at `wire` to those at `offset` bytes into the base, and
 * puts the sums at the same place of the data. The sink is one that adds. */
void sh_sink_add(const sh_sink *sink, size_t offset, const unsigned char *wire, size_t bytes);

#endif
