/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects a source that owes data and sends almost none: when to ask another source, and how long
 * to pause this one. The caller checks it once per tick.
 *
 *     if (sh_slow_source_look(&slow, owes, received_bytes) >= limit)
 *         ... ask another: sh_slow_source_drop(&slow) ...
 *     if (sh_slow_source_is_paused(&slow))
 *         return;                              // do not reconnect yet
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_NODE_SLOW_SOURCE_H
#define SHOAL_NODE_SLOW_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#define SH_SLOW_SOURCE_CRUMB 4096 /* fewer bytes count as none */

/* Initially zero. */
typedef struct sh_slow_source {
    uint64_t received; /* bytes when the count began */
    uint32_t ticks;    /* since then, with data owed */
    uint32_t drops;
    uint32_t rest; /* remaining ticks of the pause */
} sh_slow_source;

/* One tick; `received`: all bytes of the connection. Returns the number of consecutive ticks with
 * less than SH_SLOW_SOURCE_CRUMB in total. */
uint32_t sh_slow_source_look(sh_slow_source *slow, bool owes, uint64_t received);

/* After a lull: starts a pause, twice as long each time. */
void sh_slow_source_drop(sh_slow_source *slow);

/* Its connection ended; the next one counts from 0. */
void sh_slow_source_end(sh_slow_source *slow);

/* One tick without a connection. Returns whether the pause continues. */
bool sh_slow_source_is_paused(sh_slow_source *slow);

#endif
