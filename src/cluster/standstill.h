/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long something that has work to do has stood still, and how long it may. It is seen through a
 * number that grows as long as it gets on. The limit follows from its own pauses, so what is slow
 * has the time that it takes: twice its longest pause, up to 8 s, or four times its second longest.
 * The longest alone may have been an accident, such as a hang that passed.
 *
 *     sh_standstill_begin(&standstill, now_ms);
 *     sh_standstill_note(&standstill, progress, works, now_ms);      // whenever it is heard
 *     if (sh_standstill_ms(&standstill, now_ms) >= sh_standstill_limit_ms(&standstill))
 *         ... it hangs ...
 *
 * Threads: caller locks. Times are of one clock that does not go back.
 */
#ifndef SHOAL_CLUSTER_STANDSTILL_H
#define SHOAL_CLUSTER_STANDSTILL_H

#include <stdbool.h>
#include <stdint.h>

#define SH_STANDSTILL_LEAST_MS 4000   /* the least limit: longer than a disk or a swap takes */
#define SH_STANDSTILL_ONCE_TIMES 2    /* the limit, in longest pauses, up to */
#define SH_STANDSTILL_ONCE_MS 8000    /* this, */
#define SH_STANDSTILL_TIMES 4         /* and in second longest ones */
#define SH_STANDSTILL_RECALL_MS 60000 /* pauses at work are remembered for this to twice this */

typedef struct sh_standstill {
    uint64_t progress, moved_ms, recall_ms;
    struct sh_standstill_pauses {
        uint64_t longest_ms, second_ms;
    } pauses[2]; /* since recall_ms, and in the time before */
    bool works;
} sh_standstill;

/* Nothing is known, and it does not work. */
void sh_standstill_begin(sh_standstill *standstill, uint64_t now_ms);

/* `progress` is any number that changes where it got on; `works`: others do not keep it from that.
 * Pauses count where it works. */
void sh_standstill_note(sh_standstill *standstill, uint64_t progress, bool works, uint64_t now_ms);

/* Since it got on, or did not work, or was last asked to begin anew; 0 while it does not work. */
uint64_t sh_standstill_ms(const sh_standstill *standstill, uint64_t now_ms);

/* Its longest pause at work in the last minute or two of work. */
uint64_t sh_standstill_longest_ms(const sh_standstill *standstill);

uint64_t sh_standstill_limit_ms(const sh_standstill *standstill);

#endif
