/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether a device that was asked to stop hangs: it is *overdue* if it makes no progress
 * for much longer than ever before. A slow device makes progress.
 *
 * The process or the machine may be stopped, and the observer with it, so an interval between two
 * looks counts as at most `look_ns`.
 *
 *     sh_overdue overdue = {.limits = sh_overdue_limits, .look_ns = 1000000000};
 *     ... every half second ...
 *     if (sh_overdue_look(&overdue, now_ns, (sh_liveness){SH_OCCUPATION_STEPS, progress}, asked))
 *         ... save what is possible, and end ...
 *
 * Threads: caller locks.
 */
#ifndef SHOAL_NODE_JOB_OVERDUE_H
#define SHOAL_NODE_JOB_OVERDUE_H

#include <stdbool.h>
#include <stdint.h>

/* The activity of the step's thread. */
typedef enum sh_occupation {
    SH_OCCUPATION_START, /* opens data, compiles, connects; may be interrupted without loss */
    SH_OCCUPATION_STEPS,
    SH_OCCUPATION_WAIT, /* for other devices */
    SH_OCCUPATION_FILES,
    SH_OCCUPATION_KINDS
} sh_occupation;

/* The step's thread is alive if one of these changes. */
typedef struct sh_liveness {
    sh_occupation occupation;
    uint64_t progress;
} sh_liveness;

typedef struct sh_overdue_limit {
    uint32_t least_ms;
    uint32_t factor;  /* of the longest pause in this occupation so far */
    uint32_t most_ms; /* 0: unlimited */
    bool at_once;     /* counts from the request, regardless of progress */
} sh_overdue_limit;

/* The usual limits, by occupation. */
extern const sh_overdue_limit sh_overdue_limits[SH_OCCUPATION_KINDS];

/* Initially zero, except the first two members. */
typedef struct sh_overdue {
    const sh_overdue_limit *limits; /* by occupation; borrowed */
    uint64_t look_ns;

    bool begun, asked;
    sh_liveness seen;
    uint64_t looked_ns;
    uint64_t still_ns;                        /* since the last change */
    uint64_t asked_ns;                        /* since the request */
    uint64_t longest_ns[SH_OCCUPATION_KINDS]; /* of pauses that ended */
} sh_overdue;

/* `now_ns` never decreases; `asked`: a stop was requested. True: overdue. */
bool sh_overdue_look(sh_overdue *overdue, uint64_t now_ns, sh_liveness liveness, bool asked);

uint64_t sh_overdue_limit_ns(const sh_overdue *overdue, sh_occupation occupation);

#endif
