/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times the parts of a step that are not programs, lane by lane. Without a clock it is off, and
 * each call is one test.
 *
 *     const uint64_t begun = sh_stopwatch_now(&watch);
 *     read_samples(...);
 *     sh_stopwatch_add(&watch, lane, SH_SPAN_READ, begun);
 *
 * Threads: each lane adds to its own spans; turns, steps and the network are lane 0's.
 */
#ifndef SHOAL_TRAIN_STOPWATCH_H
#define SHOAL_TRAIN_STOPWATCH_H

#include "backend/profiler.h"
#include "base/clock.h"

typedef enum sh_span_kind {
    SH_SPAN_READ,  /* reading samples */
    SH_SPAN_SUM,   /* clearing the exact sum; its additions are in the programs */
    SH_SPAN_APPLY, /* the optimiser */
    SH_SPAN_BUSY,  /* all that a lane does within a turn of the team, the above included */
    SH_SPAN_COUNT,
} sh_span_kind;

typedef struct sh_lane_spans {
    uint64_t ns[SH_SPAN_COUNT];
    uint64_t count[SH_SPAN_COUNT];
} sh_lane_spans; /* as large as a cache line, so lanes do not disturb each other */

typedef struct sh_stopwatch {
    const sh_clock *clock; /* NULL: off. Borrowed */
    uint32_t lanes;
    sh_lane_spans *spans; /* by lane; owned */
    uint64_t turns_ns;    /* wall time of the team's turns */
    uint64_t network_ns;  /* the sum over devices: what lane 0 waited for it */
    uint64_t steps, steps_ns;
} sh_stopwatch;

/* `clock` NULL makes one that is off. */
sh_status sh_stopwatch_init(sh_stopwatch *watch, const sh_clock *clock,
                            uint32_t lanes) SHOAL_CHECKED;
void sh_stopwatch_release(sh_stopwatch *watch);

/* Everything back to zero. */
void sh_stopwatch_clear(sh_stopwatch *watch);

static inline uint64_t sh_stopwatch_now(const sh_stopwatch *watch)
{
    return watch->clock == NULL ? 0 : sh_clock_now_ns(watch->clock);
}

/* Adds the time since `begun` to one of the sums above. */
static inline void sh_stopwatch_since(const sh_stopwatch *watch, uint64_t *sum, uint64_t begun)
{
    if (watch->clock != NULL)
        *sum += sh_clock_now_ns(watch->clock) - begun;
}

static inline void sh_stopwatch_add(sh_stopwatch *watch, uint32_t lane, sh_span_kind kind,
                                    uint64_t begun)
{
    if (watch->clock == NULL)
        return;
    watch->spans[lane].ns[kind] += sh_clock_now_ns(watch->clock) - begun;
    watch->spans[lane].count[kind]++;
}

/* Adds the outside rows, and the lanes' number, steps and wall time. */
sh_status sh_stopwatch_report(const sh_stopwatch *watch, sh_profile *profile) SHOAL_CHECKED;

#endif
