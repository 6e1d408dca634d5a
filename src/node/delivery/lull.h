/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detects a source that owes data and sends almost none: when to ask another source, and how long
 * to pause this one. The caller checks it once per tick.
 *
 *     if (sh_lull_look(&lull, owes, received_bytes) >= limit)
 *         ... ask another: sh_lull_drop(&lull) ...
 *     if (sh_lull_rests(&lull))
 *         return;                              // do not reconnect yet
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_NODE_LULL_H
#define SHOAL_NODE_LULL_H

#include <stdbool.h>
#include <stdint.h>

#define SH_LULL_CRUMB 4096 /* bytes: fewer count as none */

/* Initially zero. */
typedef struct sh_lull {
    uint64_t received; /* bytes when the count began */
    uint32_t ticks;    /* since then, with data owed */
    uint32_t drops;    /* total */
    uint32_t rest;     /* remaining ticks of its pause */
} sh_lull;

/* One tick; `received`: all bytes of the connection. Returns the number of consecutive ticks with
 * less than SH_LULL_CRUMB in total. */
uint32_t sh_lull_look(sh_lull *lull, bool owes, uint64_t received);

/* The source was dropped for a lull: starts a pause, twice as long each time. */
void sh_lull_drop(sh_lull *lull);

/* Its connection ended for any reason; the next one counts from 0. */
void sh_lull_end(sh_lull *lull);

/* One tick without a connection. Returns whether the pause continues. */
bool sh_lull_rests(sh_lull *lull);

#endif
