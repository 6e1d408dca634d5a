/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times the parts of a step, lane by lane, and tells where each step's time went. Without a clock
 * it is off, and each call is one test.
 *
 *     const uint64_t begun = sh_stopwatch_now(&watch);
 *     read_samples(...);
 *     sh_stopwatch_add(&watch, lane, SH_SPAN_READ, begun);
 *     ...
 *     sh_stopwatch_end_step(&watch, &times);
 *
 * Threads: each lane adds to its own spans; turns, steps and the network are lane 0's.
 */
#ifndef SHOAL_TRAIN_STOPWATCH_H
#define SHOAL_TRAIN_STOPWATCH_H

#include "backend/profiler.h"
#include "base/clock.h"
#include "monitor/step_times.h"

typedef enum sh_span_kind {
    SH_SPAN_READ,     /* reading samples */
    SH_SPAN_SUM,      /* clearing the exact sum; its additions are in the programs */
    SH_SPAN_APPLY,    /* the optimiser */
    SH_SPAN_BUSY,     /* all that a lane does within a turn of the team, the others included */
    SH_SPAN_FORWARD,  /* programs until backward begins, and what they are given */
    SH_SPAN_BACKWARD, /* from there on, but for the next */
    SH_SPAN_ADD,      /* adding to the exact sum */
    SH_SPAN_PREPARE,  /* programs: what depends on the weights alone */
    SH_SPAN_COUNT,
} sh_span_kind;

typedef struct sh_lane_spans {
    uint64_t ns[SH_SPAN_COUNT];
    uint64_t count[SH_SPAN_COUNT];
} sh_lane_spans; /* whole cache lines, so lanes do not disturb each other */

/* What has been added up until some moment. */
typedef struct sh_tally {
    uint64_t ns[SH_SPAN_COUNT]; /* of all lanes */
    uint64_t turns_ns, network_ns, at_ns;
} sh_tally;

typedef struct sh_stopwatch {
    const sh_clock *clock; /* NULL: off. Borrowed */
    uint32_t lanes;
    sh_lane_spans *spans; /* by lane; owned */
    uint64_t turns_ns;    /* wall time of the team's turns */
    uint64_t network_ns;  /* the sum over devices: what lane 0 waited for it */
    uint64_t steps, steps_ns;

    sh_tally mark;     /* where the step under way began */
    bool carried;      /* it goes on from the mark that there is */
    uint64_t ended_ns; /* the step before; 0: something else came between */
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
 * A lane has run a program since `begun`; backward began at `turn`, and before that the lane had
 * added for `added` ns to the exact sum in all.
 */
void sh_stopwatch_add_run(sh_stopwatch *watch, uint32_t lane, uint64_t begun, uint64_t turn,
                          uint64_t added);
/* The last of these for the next run. */
static inline uint64_t sh_stopwatch_added(const sh_stopwatch *watch, uint32_t lane)
{
    return watch->clock == NULL ? 0 : watch->spans[lane].ns[SH_SPAN_ADD];
}

/* A step begins: its parts count from here. */
void sh_stopwatch_begin_step(sh_stopwatch *watch);

/*
 * It is applied. Sets `ends_ns`, `wall_ns` and the parts of `times`; a next step may be begun with
 * or without a call, which then takes in what comes between. What a lane has to do for all others
 * outside of turns is the optimizer's.
 */
void sh_stopwatch_end_step(sh_stopwatch *watch, sh_step_times *times);

/* A validation, a halt: the next step's wall time is from its own beginning. */
void sh_stopwatch_interrupt(sh_stopwatch *watch);

/* Adds the outside rows, and the lanes' number, steps and wall time. */
sh_status sh_stopwatch_report(const sh_stopwatch *watch, sh_profile *profile) SHOAL_CHECKED;

#endif
