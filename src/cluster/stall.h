/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how long a worker has made no progress, by a number that changes with progress, and
 * limits that time. The limit follows from the worker's own pauses: twice its longest, up to 8 s,
 * or four times its second longest. The longest alone may have been an accident.
 *
 *     sh_stall_note(&stall, progress, works, now_ms);      // with each report
 *     if (sh_stall_ms(&stall, now_ms) >= sh_stall_limit_ms(&stall))
 *         ... it hangs ...
 *
 * Threads: caller locks. Times are of one monotonic clock.
 */
#ifndef SHOAL_CLUSTER_STALL_H
#define SHOAL_CLUSTER_STALL_H

#include <stdbool.h>
#include <stdint.h>

#define SH_STALL_LEAST_MS 4000   /* longer than delays of disk or swap */
#define SH_STALL_ONCE_TIMES 2    /* the limit in longest pauses, */
#define SH_STALL_ONCE_MS 8000    /* up to this, */
#define SH_STALL_TIMES 4         /* or in second longest ones */
#define SH_STALL_RECALL_MS 60000 /* pauses count for up to twice this */

typedef struct sh_stall {
    uint64_t progress, moved_ms, recall_ms;
    struct sh_stall_pauses {
        uint64_t longest_ms, second_ms;
    } pauses[2]; /* since recall_ms, and in the period before */
    bool works;
} sh_stall;

void sh_stall_begin(sh_stall *stall, uint64_t now_ms);

/* `works`: it has work and does not wait for others; only then do pauses count. */
void sh_stall_note(sh_stall *stall, uint64_t progress, bool works, uint64_t now_ms);

/* Time since it progressed, did not work, or began; 0 while it does not work. */
uint64_t sh_stall_ms(const sh_stall *stall, uint64_t now_ms);

/* The longest pause of the last one to two minutes of work. */
uint64_t sh_stall_longest_ms(const sh_stall *stall);

uint64_t sh_stall_limit_ms(const sh_stall *stall);

#endif
