/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the body of a raw frame goes: stored, added to what is there, or the sum of it and of other
 * integers (the base), which stay as they are.
 *
 *     *sink = (sh_sink){.mode = SH_SINK_ADD_I32,
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

typedef enum sh_sink_mode {
    SH_SINK_STORE,
    SH_SINK_ADD_I32, /* data: int32_t or uint32_t, aligned */
    SH_SINK_ADD_U64, /* data: uint64_t or int64_t, aligned */
    SH_SINK_ADD_I16, /* likewise */
    SH_SINK_ADD_I8,
} sh_sink_mode;

typedef struct sh_sink {
    sh_sink_mode mode;
    void *data;   /* borrowed until the frame is done or the channel closed; NULL for 0 bytes */
    size_t bytes; /* room in data: a frame may have fewer, one with more is refused */
    /* What is added to, as long and aligned as data and apart from it; NULL: data itself. Borrowed
     * as data is. SH_SINK_STORE has none. */
    const void *base;
} sh_sink;

/* Bytes of an element: 1, 2, 4 or 8. */
size_t sh_sink_element_bytes(const sh_sink *sink);

/* The mode that adds integers of 1, 2, 4 or 8 bytes. */
sh_sink_mode sh_sink_adding(size_t element_bytes);

/* SH_FORMAT: a body of `bytes` does not fit or is no whole number of elements. */
sh_status sh_sink_check(const sh_sink *sink, size_t bytes) SHOAL_CHECKED;

/* Adds whole elements, `bytes` of them at `wire`, to those at `offset` bytes into the base, and
 * puts the sums at the same place of the data. */
void sh_sink_add(const sh_sink *sink, size_t offset, const unsigned char *wire, size_t bytes);

#endif
