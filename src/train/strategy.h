/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The strategy of a job: when devices synchronise, and through whom.
 *
 *     sh_strategy strategy;
 *     SH_TRY(sh_strategy_parse(&strategy, job.strategy));   // --strategy
 *     if (strategy.row->local) ... strategy.number local steps ...
 *
 * A strategy is a row of train/strategies.def: its properties, which can be read without a trainer,
 * and the operations that a trainer calls (train/strategy_ops.h). Code outside of the trainer tests
 * a row's properties; it never compares rows.
 *
 * Threads: any; values.
 */
#ifndef SHOAL_TRAIN_STRATEGY_H
#define SHOAL_TRAIN_STRATEGY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/fail.h"

#define SH_STRATEGY_MAX_NUMBER 65535u
#define SH_STRATEGY_LIST 256

typedef struct sh_strategy_row {
    const char *name;
    const char *number; /* what its number is called, such as "K"; NULL: it has none */
    const char *course; /* two with the same course and number lead a job to the same weights */
    bool servers;       /* devices send to servers what they have computed (cluster/serving.h) */
    bool apart;         /* each batch is computed by one device, without the others */
    bool local;         /* a step falls into workers, each of which makes `number` local steps */

    /* How the user gives what MPI's collectives cannot do, and why; NULL: they can do it. */
    const char *mpi_option, *mpi_reason;

    const struct sh_strategy_ops *ops;
} sh_strategy_row;

typedef struct sh_strategy {
    const sh_strategy_row *row;
    uint32_t number; /* from 1; 0 without one */
} sh_strategy;

/* SH_NOT_FOUND or SH_INVALID (the number) names the option, what is wrong with it and what may be
 * written. */
sh_status sh_strategy_parse(sh_strategy *strategy, const char *text) SHOAL_CHECKED;

/* Whether both lead a job to the same weights, so that it may go on with either. */
bool sh_strategy_same_course(const sh_strategy *a, const sh_strategy *b);

/* All strategies as they are written, or only those with servers; commas between them, and `last`
 * before the last one. */
void sh_strategy_list(char text[SH_STRATEGY_LIST], bool servers, const char *last);

#define SH_STRATEGY(noun, help) extern const sh_strategy_row sh_strategy_##noun;
#include "train/strategies.def"
#undef SH_STRATEGY

#endif
