/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A source that owes something and of which hardly anything comes: whether it is time to ask
 * another, and how long the source is left alone then. It is looked at once a tick of the caller's.
 *
 *     if (sh_lull_look(&lull, owes, received_bytes) >= limit)
 *         ... ask another: sh_lull_drop(&lull) ...
 *     if (sh_lull_rests(&lull))
 *         return;                              // not connected to again yet
 *
 * Threads: caller locks; a value.
 */
#ifndef SHOAL_NODE_LULL_H
#define SHOAL_NODE_LULL_H

#include <stdbool.h>
#include <stdint.h>

#define SH_LULL_CRUMB 4096 /* bytes: hardly anything */

/* Zeroed to begin with. */
typedef struct sh_lull {
    uint64_t received; /* when the count began */
    uint32_t ticks;    /* since then, while it owed something */
    uint32_t drops;    /* so far */
    uint32_t rest;     /* ticks that are left of its rest */
} sh_lull;

/* One tick: `received` are all bytes of its connection. How many in a row brought less than
 * SH_LULL_CRUMB together. */
uint32_t sh_lull_look(sh_lull *lull, bool owes, uint64_t received);

/* It was dropped for this: a rest twice as long each time begins. */
void sh_lull_drop(sh_lull *lull);

/* Its connection has ended in any way; the next one counts from 0. */
void sh_lull_end(sh_lull *lull);

/* One tick without a connection: whether it still rests. */
bool sh_lull_rests(sh_lull *lull);

#endif
