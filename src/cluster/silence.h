/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a device may be silent before it counts as lost. Devices send something every 100 ms; a
 * slow or overloaded one does so later. So the limit of each device follows from its pauses in the
 * last half minute: ten times its largest delay, up to 4 s, or four times its longest pause, up to
 * 8 s; more while little was measured.
 *
 *     sh_silence_begin(&silence, now_ms);
 *     sh_silence_heard(&silence, now_ms);            // each time anything arrives
 *     if (sh_silence_ms(&silence, now_ms) >= sh_silence_limit_ms(&silence, true))
 *         lose(device);
 *
 * Threads: caller locks. Times are of one monotonic clock.
 */
#ifndef SHOAL_CLUSTER_SILENCE_H
#define SHOAL_CLUSTER_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

#define SH_SILENCE_LEAST_MS 450    /* the limit of a device that is on time */
#define SH_SILENCE_ALONE_MS 2000   /* the least limit while no device waits for it, or it is new */
#define SH_SILENCE_USUAL_MS 100    /* between two heartbeats */
#define SH_SILENCE_LATE_TIMES 10   /* allowed delay, in multiples of its largest so far, */
#define SH_SILENCE_LATE_MS 4000    /* as long as the limit is at most this */
#define SH_SILENCE_TIMES 4         /* the limit, in longest pauses, */
#define SH_SILENCE_MOST_MS 8000    /* up to this */
#define SH_SILENCE_RECALL_MS 30000 /* pauses are remembered for one to two times this */
#define SH_SILENCE_NEW_MS 5000     /* how long a device is new */

typedef struct sh_silence {
    uint64_t begun_ms;            /* when it joined */
    uint64_t heard_ms, recall_ms; /* last arrival; last update of `longest` */
    uint64_t longest_ms[2];       /* longest pause since then, and in the period before */
} sh_silence;

/* The device joined. */
void sh_silence_begin(sh_silence *silence, uint64_t now_ms);

void sh_silence_heard(sh_silence *silence, uint64_t now_ms);

/* Time since it was last heard. */
uint64_t sh_silence_ms(const sh_silence *silence, uint64_t now_ms);

/* Its longest pause of the last 30 to 60 seconds. */
uint64_t sh_silence_longest_ms(const sh_silence *silence);

/* `awaited`: others cannot continue without it. A device that prepares delays no other, and opening
 * data and compiling keep it busier than training will, so its pauses are measured meanwhile. */
uint64_t sh_silence_limit_ms(const sh_silence *silence, bool awaited);

#endif
