/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a device may be silent before it counts as lost. Devices say something every 100 ms; one
 * that is slow, or busy beyond its means, does so later. So the limit of each follows from what was
 * measured of it in the last half minute: ten times as late as it ever was, up to 4 s, or four
 * times its longest pause, up to 8 s; and more while little was measured.
 *
 *     sh_silence_begin(&silence, now_ms);
 *     sh_silence_heard(&silence, now_ms);            // each time it says something
 *     if (sh_silence_ms(&silence, now_ms) >= sh_silence_limit_ms(&silence, true))
 *         lose(device);
 *
 * Threads: caller locks. Times are of one clock that does not go back.
 */
#ifndef SHOAL_CLUSTER_SILENCE_H
#define SHOAL_CLUSTER_SILENCE_H

#include <stdbool.h>
#include <stdint.h>

#define SH_SILENCE_LEAST_MS 450    /* the limit of a device that keeps its time */
#define SH_SILENCE_ALONE_MS 2000   /* the least limit while nobody waits for it, or it is new */
#define SH_SILENCE_USUAL_MS 100    /* between two heartbeats */
#define SH_SILENCE_LATE_TIMES 10   /* what a device may be late, in times of its latest so far, */
#define SH_SILENCE_LATE_MS 4000    /* as long as the limit is not above this */
#define SH_SILENCE_TIMES 4         /* the limit, in longest pauses, */
#define SH_SILENCE_MOST_MS 8000    /* up to this */
#define SH_SILENCE_RECALL_MS 30000 /* pauses are remembered for this to twice this long */
#define SH_SILENCE_NEW_MS 5000     /* for so long a device is new */

typedef struct sh_silence {
    uint64_t begun_ms;            /* when it came */
    uint64_t heard_ms, recall_ms; /* when it was last heard; when `longest` was last moved on */
    uint64_t longest_ms[2];       /* pause since then, and in the time before */
} sh_silence;

/* The device has just come. */
void sh_silence_begin(sh_silence *silence, uint64_t now_ms);

void sh_silence_heard(sh_silence *silence, uint64_t now_ms);

/* Since it was last heard. */
uint64_t sh_silence_ms(const sh_silence *silence, uint64_t now_ms);

/* Its longest pause of the last half minute to minute. */
uint64_t sh_silence_longest_ms(const sh_silence *silence);

/* `awaited`: others cannot go on without it. One that gets ready delays nobody, and opening data
 * and making its programs keeps it busier than training will: its pauses are measured then. */
uint64_t sh_silence_limit_ms(const sh_silence *silence, bool awaited);

#endif
