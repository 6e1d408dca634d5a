/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strategy of a job: when devices synchronise, and through whom.
 *
 *     sh_strategy strategy;
 *     SH_TRY(sh_strategy_parse(&strategy, job.strategy));   // --strategy
 *     if (strategy.kind == SH_STRATEGY_LOCAL) ... strategy.bound local steps ...
 *
 *     sync            every step: gradients are added up around a ring
 *     ps-sync         every step: each part of them is added up by the server of that part
 *     ps-async        servers take updates as they come
 *     ps-bounded:K    likewise, but no device is more than K updates ahead of another
 *     local:H         every H steps, which each worker makes by itself
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_STRATEGY_H
#define SHOAL_TRAIN_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_STRATEGY_MAX_BOUND 65535u /* K and H */

typedef enum sh_strategy_kind {
    SH_STRATEGY_SYNC,
    SH_STRATEGY_PS_SYNC,
    SH_STRATEGY_PS_ASYNC,
    SH_STRATEGY_PS_BOUNDED,
    SH_STRATEGY_LOCAL,
} sh_strategy_kind;

typedef struct sh_strategy {
    sh_strategy_kind kind;
    uint32_t bound; /* K of ps-bounded, H of local, from 1; 0 for the others */
} sh_strategy;

/* SH_NOT_FOUND or SH_INVALID (the number) names the option, what is wrong with it and what may be
 * written. */
sh_status sh_strategy_parse(sh_strategy *strategy, const char *text) SHOAL_CHECKED;

/* Whether devices train apart in laps (train/updates.h): ps-async, or ps-bounded with its bound. */
bool sh_strategy_laps(const sh_strategy *strategy);

/* Whether both lead a job to the same weights, so that it may go on with either. */
bool sh_strategy_same_course(const sh_strategy *a, const sh_strategy *b);

#endif
