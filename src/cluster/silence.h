/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long a device may be silent before it counts as lost. Devices send something every 100 ms,
 * slow ones later. So the limit of each follows from its pauses in the last half minute: ten times
 * its largest delay, up to 4 s, or four times its longest pause, up to 8 s; more while little was
 * measured.
 *
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

#define SH_SILENCE_LEAST_MS 450  /* of a device that is on time */
#define SH_SILENCE_ALONE_MS 2000 /* the least limit of a new device, or while no device waits */
#define SH_SILENCE_USUAL_MS 100
#define SH_SILENCE_LATE_TIMES 10   /* allowed delay, in multiples of its largest so far, */
#define SH_SILENCE_LATE_MS 4000    /* up to this limit */
#define SH_SILENCE_TIMES 4         /* the limit, in longest pauses, */
#define SH_SILENCE_MOST_MS 8000    /* up to this */
#define SH_SILENCE_RECALL_MS 30000 /* pauses count for one to two times this */
#define SH_SILENCE_NEW_MS 5000

typedef struct sh_silence {
    uint64_t begun_ms;
    uint64_t heard_ms, recall_ms; /* last arrival; start of `longest_ms` */
    uint64_t longest_ms[2];       /* since then, and in the period before */
} sh_silence;

void sh_silence_begin(sh_silence *silence, uint64_t now_ms);

void sh_silence_heard(sh_silence *silence, uint64_t now_ms);

uint64_t sh_silence_ms(const sh_silence *silence, uint64_t now_ms);

/* The longest pause of the last 30 to 60 seconds. */
uint64_t sh_silence_longest_ms(const sh_silence *silence);

/* `awaited`: others cannot continue without it. A preparing device is busier than it will be in
 * training, so its pauses are measured meanwhile. */
uint64_t sh_silence_limit_ms(const sh_silence *silence, bool awaited);

#endif
