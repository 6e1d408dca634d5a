/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the time of each part of a step, per lane. Without a clock the stopwatch is off.
 *
 *     const uint64_t begun = sh_stopwatch_now(&watch);
 *     read_samples(...);
 *     sh_stopwatch_add(&watch, lane, SH_SPAN_READ, begun);
 *
 * Threads: each lane adds to its own spans. Turns, steps and the network belong to lane 0.
 */
#ifndef SHOAL_TRAIN_STOPWATCH_H
#define SHOAL_TRAIN_STOPWATCH_H

#include "backend/profiler.h"
#include "base/clock.h"
#include "monitor/step_times.h"

typedef enum sh_span_kind {
    SH_SPAN_READ,     /* reading samples */
    SH_SPAN_SUM,      /* the exact sum without SH_SPAN_ADD: clearing, checks, totals of factors */
    SH_SPAN_APPLY,    /* the optimizer */
    SH_SPAN_BUSY,     /* all work of a lane in the team's turns, including the other spans */
    SH_SPAN_FORWARD,  /* programs until backward, with their inputs */
    SH_SPAN_BACKWARD, /* programs from there on, without SH_SPAN_ADD */
    SH_SPAN_ADD,      /* adding to the exact sum */
    SH_SPAN_PREPARE,  /* the part of programs that depends only on the weights */
    SH_SPAN_COUNT,
} sh_span_kind;

typedef struct sh_lane_spans {
    uint64_t ns[SH_SPAN_COUNT];
    uint64_t count[SH_SPAN_COUNT];
} sh_lane_spans; /* whole cache lines, so lanes do not disturb each other */

typedef struct sh_tally {
    uint64_t ns[SH_SPAN_COUNT]; /* of all lanes */
    uint64_t turns_ns, network_ns, at_ns;
} sh_tally;

typedef struct sh_stopwatch {
    const sh_clock *clock; /* NULL: off. Borrowed */
    uint32_t lanes;
    sh_lane_spans *spans; /* by lane; owned */
    uint64_t turns_ns;    /* wall time of the team's turns */
    uint64_t network_ns;  /* lane 0's waiting time */
    uint64_t steps, steps_ns;

    sh_tally mark;     /* the step's start */
    bool carried;      /* `mark` is set; a next begin_step keeps it */
    uint64_t ended_ns; /* end of the previous step; 0 if interrupted since */
} sh_stopwatch;

/* `clock` is borrowed until sh_stopwatch_release. */
sh_status sh_stopwatch_init(sh_stopwatch *watch, const sh_clock *clock,
                            uint32_t lanes) SHOAL_CHECKED;
void sh_stopwatch_release(sh_stopwatch *watch);

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

/* Adds the time since `begun` to this span and returns the present time. */
static inline uint64_t sh_stopwatch_lap(sh_stopwatch *watch, uint32_t lane, sh_span_kind kind,
                                        uint64_t begun)
{
    if (watch->clock == NULL)
        return 0;
    const uint64_t now = sh_clock_now_ns(watch->clock);
    watch->spans[lane].ns[kind] += now - begun;
    watch->spans[lane].count[kind]++;
    return now;
}

static inline void sh_stopwatch_add(sh_stopwatch *watch, uint32_t lane, sh_span_kind kind,
                                    uint64_t begun)
{
    (void)sh_stopwatch_lap(watch, lane, kind, begun);
}

/*
 * Adds a run of a program that started at `begun` and whose backward pass began at `turn`. `added`
 * is the value of sh_stopwatch_added before the run.
 */
void sh_stopwatch_add_run(sh_stopwatch *watch, uint32_t lane, uint64_t begun, uint64_t turn,
                          uint64_t added);
static inline uint64_t sh_stopwatch_added(const sh_stopwatch *watch, uint32_t lane)
{
    return watch->clock == NULL ? 0 : watch->spans[lane].ns[SH_SPAN_ADD];
}

/* Starts a step, unless one was started and neither ended nor interrupted. */
void sh_stopwatch_begin_step(sh_stopwatch *watch);

/*
 * Ends the step when it is applied. Sets `ends_ns`, `wall_ns` and the parts of `times`. Time
 * outside of turns and of the network counts as the optimizer's. Call sh_stopwatch_begin_step
 * before the next step; the time until then is that step's part `between`.
 */
void sh_stopwatch_end_step(sh_stopwatch *watch, sh_step_times *times);

/* Cancels the current step, for a validation or a failure. The next step has no part `between`. */
void sh_stopwatch_interrupt(sh_stopwatch *watch);

/* Adds the rows that are not instructions of programs, and sets lanes, steps and wall time. */
sh_status sh_stopwatch_report(const sh_stopwatch *watch, sh_profile *profile) SHOAL_CHECKED;

#endif
